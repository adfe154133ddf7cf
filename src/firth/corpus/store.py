"""The store of a run: documents and their sentences in one SQLite database, `RUN/corpus.db`.

A call that adds, replaces or removes documents first stages what is new, in transactions of some
megabytes. Readers do not see staged documents. One transaction at the end puts them in place of
what they replace. So a call that is killed anywhere leaves the old content or the new content, and
the same call continues from what is staged.

A document has a key. Its content never changes under that key, and a key is never used again:
a document that is replaced gets another key. Documents are in the order of their keys. Of those
whose texts have one form, the first is read, and the others are *copies* of it.

Each row of each table ends with its seal, a digest of its other values. So a changed bit is found
by whoever reads the row, and by `damage`, which reads all rows.
"""

import hashlib
import json
import re
import shlex
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.document import Document, Problem, Reason
from firth.run.console import plural
from firth.run.errors import DamagedError, FirthError, InputError, MissingStageError
from firth.text.words import checked_text

FILE = "corpus.db"
VERSION = 4
"""Version of the schema."""
_APPLICATION = 0x66727468
"""It marks a database as firth's."""
_MAGIC = b"SQLite format 3\0"
_ANY_BYTES = "surrogateescape"
"""What is read of a text with a changed bit, which may be no UTF-8."""
_PATIENCE = 60.0
"""Seconds to wait for another process that writes or reads."""
_COLUMNS = (
    "key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT, date TEXT, source TEXT, "
    "line INTEGER, fields TEXT, digest BLOB, form BLOB, part INTEGER, added INTEGER, "
    "sentences INTEGER, words INTEGER, counts BLOB, paragraphs BLOB, sketch BLOB, seal BLOB"
)
_SEALED = ", ".join(column.split()[0] for column in _COLUMNS.split(", ")[:-1])
"""The columns of a document that its seal covers."""
_PROBLEM = "staged INTEGER, source TEXT, line INTEGER, reason TEXT, detail TEXT, seal BLOB"
_SMALL = ("meta", "removed", "problems")
"""Tables without documents."""
_SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT, seal BLOB) WITHOUT ROWID;
CREATE TABLE documents ({_COLUMNS});
CREATE INDEX document_forms ON documents (form);
CREATE TABLE incoming ({_COLUMNS});
CREATE INDEX incoming_forms ON incoming (form);
CREATE TABLE texts (key INTEGER PRIMARY KEY, text TEXT, seal BLOB);
CREATE TABLE removed (id TEXT PRIMARY KEY, seal BLOB) WITHOUT ROWID;
CREATE TABLE problems ({_PROBLEM});
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {VERSION};
"""
WHOLE = "SELECT d.*, t.* FROM {} d LEFT JOIN texts t ON t.key = d.key"
"""Rows of a table of documents, each followed by the row of its text."""
COPIED = "SELECT form, min(key) AS first FROM documents GROUP BY form HAVING count(*) > 1"
"""The documents of which there are copies: a query."""
_ID, _DIGEST, _FORM = map(_SEALED.split(", ").index, ("id", "digest", "form"))
_LONG = 200
"""Characters of a text that is long."""
HEADING, PAGE = np.uint32(1 << 31), np.uint32(1 << 30)
"""Bits in the end of a paragraph: of a heading, and of a page of a PDF."""
_LISTED = 1_000
"""Problems of one reason that a call lists; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What is stored of a document, apart from its key.

    Attributes:
        digest: Digest of everything that was read, and of how it is split.
        form: Digest of the text's normal form: documents with equal ones are copies.
        text: The sentences, joined by line feeds.
        counts: Words of each sentence, as little-endian uint16.
        paragraphs: End of each paragraph in sentences, as little-endian uint32, with the bit
            `HEADING` or `PAGE`. Each page of a PDF is a paragraph, though it may be empty.
        sketch: Sketch of the words (`firth.corpus.siblings`).
    """

    document: Document
    digest: bytes
    form: bytes
    text: str
    counts: bytes
    paragraphs: bytes
    sentences: int
    words: int
    sketch: bytes


class StoreError(FirthError):
    """The database cannot be used now: the disk is full, or another process keeps it busy."""


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Raise errors of the database as errors of firth."""
    try:
        yield
    except (sqlite3.DatabaseError, sqlite3.Warning) as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if isinstance(error, sqlite3.OperationalError) and code != sqlite3.SQLITE_ERROR:
            raise StoreError(
                f"{path}: {error}. Is the disk full, or the database used by another process?"
            ) from error
        raise damaged_store(path, str(error)) from error


def damaged_store(path: Path, what: str) -> DamagedError:
    """Return the error that a store as a whole is damaged."""
    again = f"firth build DOCUMENTS --run {shlex.quote(str(path.parent))}"
    return DamagedError(
        f"{path}: damaged: {what}. Put a copy of the file in its place, or remove it and build "
        f"again: {again}"
    )


def damaged_document(path: Path, id: object) -> DamagedError:
    """Return the error that a document is not as it was written."""
    again = f"firth build --run {shlex.quote(str(path.parent))}"
    return DamagedError(
        f"{path}: damaged: document {id!r} is not as it was written. Read it again: {again}; or, "
        "where it was added, firth add FILE"
    )


def seal(*values: object) -> bytes:
    """Return the digest of values of a row, and of their types."""
    texts = [value for value in values if isinstance(value, str) and len(value) > _LONG]
    # Long texts follow the others, because it would take several times as long to quote them.
    quoted = [len(v) if isinstance(v, str) and len(v) > _LONG else v for v in values]
    digest = hashlib.blake2b(ascii(quoted).encode(), digest_size=16)
    for text in texts:
        digest.update(text.encode("utf-8", _ANY_BYTES))
    return digest.digest()


def is_sealed(row: Sequence[object]) -> bool:
    """Return whether a row is as it was written."""
    return seal(*row[:-1]) == row[-1]


def is_whole(row: Sequence[object]) -> bool:
    """Return whether a document and its text, a row of `WHOLE`, are as they were written."""
    return is_sealed(row[:-3]) and is_sealed(row[-3:])


def missing_corpus(run: Path) -> MissingStageError:
    """Return the error that a run has no corpus, or one that was never finished."""
    command = f"firth build DOCUMENTS --run {shlex.quote(str(run))}"
    return MissingStageError(str(run), "corpus", command)


def connect(path: Path, writes: bool = False) -> sqlite3.Connection:
    """Open a store, which is made where it is to be written; a killed transaction is undone."""
    if not writes and not path.is_file():
        raise missing_corpus(path.parent)
    if path.is_symlink():
        raise InputError(f"{path}: a link that firth did not make. Name another folder: --run")
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
        # SQLite would overwrite a short file. One of zeros is left where power was lost.
        if start.strip(b"\0") not in (b"", _MAGIC.strip(b"\0")):
            raise InputError(f"{path}: no database of firth. Name another folder: --run")
    with translated_errors(path):
        try:
            return _connected(path, writes)
        except UnicodeDecodeError:  # The message of the database quotes changed bytes.
            raise sqlite3.DatabaseError("its tables cannot be read") from None


def _connected(path: Path, writes: bool) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={'rwc' if writes else 'rw'}"
    database = sqlite3.connect(
        uri, _PATIENCE, uri=True, isolation_level=None, check_same_thread=False
    )
    database.text_factory = lambda raw: raw.decode("utf-8", _ANY_BYTES)
    database.create_function("seal", -1, seal, deterministic=True)
    # The journal of a transaction is deleted when it is durable, the folder's entry included.
    for setting in ("journal_mode = DELETE", "synchronous = EXTRA", "secure_delete = ON"):
        database.execute(f"PRAGMA {setting}")
    database.execute("PRAGMA cache_size = -64000")
    if not database.execute("SELECT 1 FROM sqlite_master").fetchone():
        if not writes:  # The process that made it was killed.
            raise missing_corpus(path.parent)
        database.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT")
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise InputError(f"{path}: firth did not write it. Name another folder: --run")
    if version != VERSION:
        raise InputError(
            f"{path}: has version {version}, and this firth reads {VERSION}. Install the firth "
            "that wrote it, or build in another folder: --run"
        )
    if _tables(database) != _tables_of_version():
        raise sqlite3.DatabaseError("its tables are not those that firth made")
    if not writes:
        database.execute("PRAGMA query_only = ON")
    return database


def _tables(database: sqlite3.Connection) -> list[tuple[str, str]]:
    query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
    return database.execute(query).fetchall()


@cache
def _tables_of_version() -> list[tuple[str, str]]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(_SCHEMA)
        return _tables(database)


class Store:
    """A store that is written by one process, which holds the lock of the run.

    The database is made where it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.database = path, connect(path, writes=True)
        with translated_errors(path):
            if changed := list(_changed_rows(self.database, _SMALL)):
                raise damaged_store(path, "; ".join(changed))
            self._first = int(self.meta("next_key", 1))
            self._next = self._value("SELECT max(key) FROM incoming WHERE key >= ?", self._first)
        self._next = self._first if self._next is None else self._next + 1

    def __enter__(self) -> "Store":
        self._errors = translated_errors(self.path)
        self._errors.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        with suppress(sqlite3.Error):
            self.database.close()
        self._errors.__exit__(*error)

    def _value(self, query: str, *values: object) -> Any:
        row = self.database.execute(query, values).fetchone()
        return None if row is None else row[0]

    def meta(self, name: str, default: Any = None) -> Any:
        """Return a value of the table of properties."""
        stored = self._value("SELECT value FROM meta WHERE name = ?", name)
        return default if stored is None else json.loads(stored)

    def set_meta(self, **values: object) -> None:
        """Set values of the table of properties."""
        rows = [(name, json.dumps(value, sort_keys=True)) for name, value in values.items()]
        sealed = [(*row, seal(*row)) for row in rows]
        self.database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", sealed)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what the block does, or nothing of it."""
        with translated_errors(self.path):
            self.database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.database.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self.database.execute("ROLLBACK")
                raise

    # --- Staging ---

    def discard(self) -> None:
        """Forget what a call staged that was not finished."""
        self.database.execute("DELETE FROM texts WHERE key >= ?", (self._first,))
        self.database.execute("DELETE FROM incoming")
        self.database.execute("DELETE FROM problems WHERE staged = 1")
        self.database.execute("DELETE FROM meta WHERE name = 'call'")
        self._next = self._first

    def stored_digests(self, id: str) -> tuple[bytes, bytes]:
        """Return digest and form of the document with an id that readers see.

        Both are empty without one, and where it is not as it was written.
        """
        query = f"{WHOLE.format('documents')} WHERE d.id = ?"
        row = self.database.execute(query, (id,)).fetchone()
        return (row[_DIGEST], row[_FORM]) if row and is_whole(row) else (b"", b"")

    @property
    def is_damaged(self) -> bool:
        """Whether a document that readers see is not as it was written."""
        return next(_changed_documents(self.database, "documents"), None) is not None

    def staged_form(self, id: str) -> bytes | None:
        """Return the form of the staged document with an id; None where there is none."""
        form: bytes | None = self._value("SELECT form FROM incoming WHERE id = ?", id)
        return form

    def is_removed(self, id: str) -> bool:
        """Return whether a user removed the document with an id."""
        return self._value("SELECT 1 FROM removed WHERE id = ?", id) is not None

    def stage(self, stored: Stored, part: int, added: bool) -> None:
        """Stage a document that is new, or replaces the one with its id."""
        document = stored.document
        row = (
            self._next, document.id, document.title, document.date, document.source, document.line,
            json.dumps(document.fields, ensure_ascii=False, sort_keys=True), stored.digest,
            stored.form, part, int(added), stored.sentences, stored.words, stored.counts,
            stored.paragraphs, stored.sketch,
        )  # fmt: skip
        text = (self._next, stored.text)
        for table, values in (("incoming", row), ("texts", text)):
            marks = ",".join("?" * (len(values) + 1))
            self.database.execute(f"INSERT INTO {table} VALUES ({marks})", (*values, seal(*values)))
        self._next += 1

    def stage_again(self, document: Document, added: bool) -> None:
        """Stage a document that has not changed, under its old key; its place may be another."""
        self.database.execute(
            "INSERT INTO incoming SELECT key, id, title, date, ?, ?, fields, digest, form, part, "
            "?, sentences, words, counts, paragraphs, sketch, NULL FROM documents WHERE id = ?",
            (document.source, document.line, int(added), document.id),
        )
        self._seal_staged(document.id)

    def _seal_staged(self, id: str) -> None:
        self.database.execute(f"UPDATE incoming SET seal = seal({_SEALED}) WHERE id = ?", (id,))

    def stage_problem(self, problem: Problem, count: int) -> None:
        """Stage a problem, the `count`th of its reason."""
        if count <= _LISTED:
            row = (1, problem.source, problem.line, problem.reason.value, problem.detail)
            self.database.execute(
                "INSERT INTO problems VALUES (?, ?, ?, ?, ?, ?)", (*row, seal(*row))
            )

    def set_part(self, id: str, part: int) -> None:
        """Put a staged document into another part."""
        self.database.execute("UPDATE incoming SET part = ? WHERE id = ?", (part, id))
        self._seal_staged(id)

    def staged_part(self, id: str) -> int:
        """Return the part of a staged document."""
        return int(self._value("SELECT part FROM incoming WHERE id = ?", id))

    def count_staged(self) -> tuple[int, int]:
        """Return the numbers of held-out documents, and of all, that will be there; no copies."""
        query = f"SELECT total(part), count(first) FROM ({_firsts('part', complete=True)})"
        row = self.database.execute(query).fetchone()
        return int(row[0]), row[1]

    def sketches(self, *, complete: bool) -> list[tuple[bytes, str, int]]:
        """Return sketch, id and part of the documents that will be there, by key; no copies."""
        keys = {key for _, key in self.database.execute(_firsts("id", complete=complete))}
        rows = self.database.execute(
            f"{_remaining('sketch, id, part', complete=complete)} ORDER BY key"
        )
        return [row[:3] for row in rows if row[3] in keys]

    def firsts(self) -> set[str]:
        """Return the ids of the documents that will be there with `complete`; no copies."""
        return {id for id, _ in self.database.execute(_firsts("id", complete=True))}

    def is_field_staged(self, name: str) -> bool:
        """Return whether a staged document has a value of a field."""
        query = "SELECT 1 FROM incoming, json_each(fields) f WHERE f.key = ? LIMIT 1"
        return self._value(query, name) is not None

    @property
    def has_staged(self) -> bool:
        """Whether a document is staged."""
        return self._value("SELECT 1 FROM incoming LIMIT 1") is not None

    def staged(self, *, new: bool) -> list[str]:
        """Return the ids of the staged documents that are new, or of all."""
        first = self._first if new else 0
        query = "SELECT id FROM incoming WHERE key >= ? ORDER BY key"
        return [id for (id,) in self.database.execute(query, (first,)).fetchall()]

    # --- Putting in place ---

    def finish(self, *, complete: bool) -> dict[str, int]:
        """Put what is staged in place, inside a transaction.

        With `complete`, it is all that the inputs hold: their other documents are removed. Return
        how many documents are added, replaced and removed.
        """
        run = self.database.execute
        run("CREATE TEMP TABLE IF NOT EXISTS gone (key INTEGER PRIMARY KEY)")
        run("DELETE FROM gone")
        run(
            "INSERT INTO gone SELECT d.key FROM documents d JOIN incoming i ON i.id = d.id "
            "WHERE i.key != d.key"
        )
        if complete:
            run(
                "INSERT OR IGNORE INTO gone SELECT key FROM documents "
                "WHERE added = 0 AND key NOT IN (SELECT key FROM incoming)"
            )
        elif self._value("SELECT 1 FROM documents WHERE added = 0 AND key IN gone") is not None:
            run("DELETE FROM meta WHERE name = 'request'")  # The next build reads its inputs again.
        new = self._value("SELECT count(*) FROM incoming WHERE key >= ?", self._first)
        replaced = self._value(
            "SELECT count(*) FROM incoming i JOIN documents d ON d.id = i.id WHERE i.key != d.key"
        )
        removed = self._value("SELECT count(*) FROM gone") - replaced
        run("DELETE FROM removed WHERE id IN (SELECT id FROM incoming)")
        run("DELETE FROM texts WHERE key IN (SELECT key FROM gone)")
        run("DELETE FROM documents WHERE key IN (SELECT key FROM gone)")
        run(
            "DELETE FROM incoming WHERE EXISTS (SELECT 1 FROM documents d WHERE d.key = "
            "incoming.key AND (d.source, d.line, d.added, d.part) = "
            "(incoming.source, incoming.line, incoming.added, incoming.part))"
        )
        run("INSERT OR REPLACE INTO documents SELECT * FROM incoming")
        run("DELETE FROM incoming")
        # A copy is in the part of the first one, whose place it takes when that is removed.
        moved = run(
            f"SELECT o.part, d.key FROM ({COPIED}) f JOIN documents d ON d.form = f.form "
            "JOIN documents o ON o.key = f.first WHERE d.part != o.part"
        ).fetchall()
        for part, key in moved:
            run("UPDATE documents SET part = ? WHERE key = ?", (part, key))
            run(f"UPDATE documents SET seal = seal({_SEALED}) WHERE key = ?", (key,))
        run("DELETE FROM meta WHERE name = 'call'")
        self.set_meta(next_key=self._next)
        self._first = self._next
        return {"added": new - replaced, "replaced": replaced, "removed": removed}

    def show_problems(self, *, complete: bool) -> None:
        """Put the staged problems in place, of the others too with `complete`."""
        if complete:
            self.database.execute("DELETE FROM problems WHERE staged = 0")
        columns = "0, source, line, reason, detail"
        self.database.execute(
            f"UPDATE problems SET staged = 0, seal = seal({columns}) WHERE staged != 0"
        )

    def remove(self, ids: Sequence[str]) -> int:
        """Remove documents by id, inside a transaction; return their number."""
        run = self.database.execute
        unknown, count = [], 0
        for id in dict.fromkeys(ids):
            key = self._value("SELECT key FROM documents WHERE id = ?", id)
            if key is not None:
                run("DELETE FROM texts WHERE key = ?", (key,))
                run("DELETE FROM documents WHERE key = ?", (key,))
                run("INSERT OR IGNORE INTO removed VALUES (?, ?)", (id, seal(id)))
                count += 1
            elif self._value("SELECT 1 FROM removed WHERE id = ?", id) is None:
                unknown.append(id)
        if unknown:
            more = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
            raise InputError(
                f"no document has the id {', '.join(map(repr, unknown[:3]))}{more}; nothing was "
                "removed"
            )
        return count

    def totals(self) -> tuple[int, int, int, int, int]:
        """Return the numbers of documents and copies; and of the others, those held out, their
        sentences and words."""
        columns = "count(*), total(part), total(sentences), total(words)"
        first = "key IN (SELECT min(key) FROM documents GROUP BY form)"
        row = self.database.execute(f"SELECT {columns} FROM documents WHERE {first}").fetchone()
        count = int(self._value("SELECT count(*) FROM documents"))
        return count, count - int(row[0]), int(row[1]), int(row[2]), int(row[3])

    def problems(self, staged: bool = False) -> list[Problem]:
        """Return the problems that are listed, in order: those in place, or those staged."""
        query = "SELECT source, line, reason, detail FROM problems WHERE staged = ? ORDER BY rowid"
        return [
            Problem(source, line, Reason(reason), detail)
            for source, line, reason, detail in self.database.execute(query, (staged,)).fetchall()
        ]


def _firsts(columns: str, *, complete: bool) -> str:
    """Return a query of the documents that a call will leave, without copies: columns and key."""
    return (
        f"SELECT {columns}, min(key) AS first FROM ({_remaining(columns, complete=complete)}) "
        "GROUP BY form"
    )


def _remaining(columns: str, *, complete: bool) -> str:
    """Return a query of the documents that a call will leave: columns, key and form."""
    condition = "added = 1 AND" if complete else ""
    return (
        f"SELECT {columns}, key, form FROM incoming UNION ALL SELECT {columns}, key, form "
        f"FROM documents WHERE {condition} id NOT IN (SELECT id FROM incoming)"
    )


def fields_of(text: str) -> dict[str, tuple[str, ...]]:
    """Return the fields in a row of `documents`."""
    return {name: tuple(values) for name, values in json.loads(text).items()}


def damage(path: Path) -> list[str]:
    """Read all of a store and return a line for each problem."""
    try:
        with translated_errors(path), closing(connect(path)) as database:
            checked = database.execute("PRAGMA integrity_check").fetchall()
            lines = [line for (line,) in checked if line != "ok"]
            return lines or list(_changed(database))
    except FirthError as error:
        return [str(error)]


def _changed(database: sqlite3.Connection) -> Iterator[str]:
    """Yield what is not as it was written: documents, and rows of the other tables."""
    yield from _changed_rows(database, _SMALL)
    for table in ("documents", "incoming"):
        yield from _changed_documents(database, table)
    keys = "SELECT key FROM documents UNION SELECT key FROM incoming"
    query = f"SELECT count(*) FROM texts WHERE key NOT IN ({keys})"
    if count := database.execute(query).fetchone()[0]:
        yield f"{plural(count, 'text')} without a document"


def _changed_documents(database: sqlite3.Connection, table: str) -> Iterator[str]:
    for row in database.execute(WHOLE.format(table)):
        if not is_whole(row):
            yield f"document {row[_ID]!r} is not as it was written"


def _changed_rows(database: sqlite3.Connection, tables: Sequence[str]) -> Iterator[str]:
    for table in tables:
        for row in database.execute(f"SELECT * FROM {table}"):
            if not is_sealed(row):
                yield f"a row of the table {table} is not as it was written"


# --- Filters -----------------------------------------------------------------------------------

_VALUE = (
    r"""(?:(?<!')'(?>(?:[^']|'')*)'|(?<!")"(?>(?:[^"]|"")*)"|(?<![^\s()'"<>=!,])[^\s()'"<>=!,]++)"""
)
_FILTER = re.compile(
    rf"(?P<name>{_VALUE})\s*(?:(?P<op><=|>=|!=|<>|==|=|<|>|[Ll][Ii][Kk][Ee]\b)\s*(?P<value>{_VALUE})"
    rf"|[Ii][Nn]\s*\((?P<list>\s*{_VALUE}(?>(?:\s*,\s*{_VALUE})*))\s*\))"
)
"""A comparison of a field with a value, or with a list of them."""
_JOINING = re.compile(r"[\s()]+|\b(?i:and|or|not)\b")
_OPERATORS = {"==": "=", "!=": "=", "<>": "=", "like": "GLOB"}
_COLUMN_NAMES = ("id", "title", "date", "source")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d(T[\d:.]+)?)?)?")
_IS_NUMBER = "json_valid(v.value) AND json_type(v.value) IN ('integer', 'real')"


def parse_filter(text: str, fields: Sequence[str]) -> tuple[str, list[object]]:
    """Translate a filter of documents to a condition of SQL and its values.

    Args:
        text: Comparisons `FIELD OP VALUE` with =, !=, <, <=, >, >= or like (`*` and `?` match any
            characters), or `FIELD in (VALUE, ...)`, joined by and, or, not and parentheses. Values
            with blanks are quoted. A date is compared as far as the value says: `date <= 2020`
            takes in all of 2020. Numbers without quotes are compared as numbers. A comparison with
            a field of several values holds where it holds for one of them.
        kept: Names of the fields that are kept, apart from id, title, date and source.
    """
    values: list[object] = []
    checked_text(text, "filter")
    if rest := _JOINING.sub(" ", _FILTER.sub(" ", text)).strip():
        raise _invalid(text, f"cannot be read at {rest[:20]!r}")

    def condition(match: re.Match[str]) -> str:
        name, op = _unquoted(match["name"]), (match["op"] or "=").lower()
        if name not in (*_COLUMN_NAMES, *fields):
            names = ", ".join((*_COLUMN_NAMES, *fields))
            raise InputError(
                f"filter {text!r}: the field {name!r} is not kept. Kept are {names}; others are "
                "kept by corpus.fields"
            )
        either = []
        for value in re.findall(_VALUE, match["value"] or match["list"]):
            clause, inner = _comparison(text, name, _OPERATORS.get(op, op), value)
            either.append(clause)
            values.extend(inner)
        return f"({'NOT' if op in ('!=', '<>') else ''} ({' OR '.join(either)}))"

    sql = _FILTER.sub(condition, text)
    try:  # The grammar of and, or, not and parentheses is that of SQL.
        columns = ", ".join(f"'' AS {name}" for name in (*_COLUMN_NAMES, "fields"))
        with closing(sqlite3.connect(":memory:")) as database:
            database.execute(f"EXPLAIN SELECT 1 FROM (SELECT {columns}) WHERE {sql}", values)
    except sqlite3.Error:
        raise _invalid(text, "and, or, not and parentheses do not fit together") from None
    return sql, values


def _unquoted(text: str) -> str:
    quote = text[0]
    return text[1:-1].replace(2 * quote, quote) if quote in "'\"" else text


def _comparison(text: str, name: str, op: str, written: str) -> tuple[str, list[object]]:
    """Return the condition that a field has to a value."""
    value = _unquoted(written)
    is_bare = value == written
    if op == "GLOB":
        value = value.replace("[", "[[]")
    elif name == "date":
        if not _DATE.fullmatch(value):
            raise _invalid(text, f"{value!r} is no date such as 2020, 2020-05 or 2020-05-01")
        return f"(date != '' AND substr(date, 1, ?) {op} ?)", [len(value), value]
    if name in _COLUMN_NAMES:
        return f"({name} {op} ?)", [value]
    source = "FROM json_each(fields) f, json_each(f.value) v WHERE f.key = ?"
    if op == "GLOB" or not (is_bare and _NUMBER.fullmatch(value)):
        return f"EXISTS (SELECT 1 {source} AND v.value {op} ?)", [name, value]
    either = f"CASE WHEN {_IS_NUMBER} THEN CAST(v.value AS REAL) {op} ? ELSE v.value {op} ? END"
    return f"EXISTS (SELECT 1 {source} AND {either})", [name, float(value), value]


def _invalid(text: str, what: str) -> InputError:
    return InputError(
        f"filter {text!r}: {what}; expected such as: date >= 2020 and section = 'news'"
    )
