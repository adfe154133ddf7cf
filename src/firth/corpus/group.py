"""Records that belong together as one document: a thread, a question and its answers."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path

from firth.corpus.inputs import Problem, Reason, Source
from firth.corpus.lines import Advance
from firth.corpus.read import read_source
from firth.corpus.records import Item, Record
from firth.corpus.settings import CorpusConfig
from firth.run.errors import InputError

_UNDATED = "~"
"""Sorts behind all dates."""


def read_grouped(
    sources: Sequence[Source], config: CorpusConfig, advance: Advance, path: Path
) -> Iterator[tuple[Source, Iterator[Item]]]:
    """Each source and its documents, where records of one value of `group_by` are one.

    All sources are read first, into a database file, so that memory holds one document at a time.
    A document stands where the first of its records was read, in whatever source the others are.
    Its records follow each other by date, those without one last, and else as they were read; each
    begins a paragraph. It is called as the first of them, has the first title there is, and all
    values of the fields that are kept. One
    that would be longer than `max_record_bytes` ends before, and another begins. Records without
    the field stay documents of their own.

    Args:
        sources: What to read.
        config: Names of the fields, `group_by` among them, and the longest document.
        advance: Told how many bytes on disk have been read.
        path: The database, made anew. It is scratch: nothing is synced.

    Raises:
        InputError: No record has the field.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for setting in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -16000"):
            database.execute(f"PRAGMA {setting}")
        database.execute("CREATE TABLE groups (name BLOB PRIMARY KEY, first INTEGER) WITHOUT ROWID")
        database.execute("CREATE TABLE items (first INTEGER, date TEXT, read INTEGER, item TEXT)")
        database.execute("BEGIN")
        starts, read = [0], 0
        for source in sources:
            for item in read_source(source, config, advance):
                _store(database, item, read)
                read += 1
            starts.append(read)
        records = database.execute("SELECT 1 FROM items WHERE date != '' LIMIT 1").fetchone()
        if records and not database.execute("SELECT 1 FROM groups LIMIT 1").fetchone():
            raise InputError(
                f"corpus.group_by: no record has the field {config.group_by!r}, or all values of "
                "it are empty; expected the name of a field that related records have in common"
            )
        database.execute("CREATE INDEX place ON items (first, date, read)")
        for source, start, end in zip(sources, starts, starts[1:], strict=False):
            yield source, _documents(database, start, end, config.max_record_bytes)


def _store(database: sqlite3.Connection, item: Item, read: int) -> None:
    first, date = read, ""
    if isinstance(item, Record):
        date = item.date or _UNDATED
        if item.group:
            name = hashlib.blake2b(item.group.encode(), digest_size=16).digest()
            database.execute("INSERT OR IGNORE INTO groups VALUES (?, ?)", (name, read))
            found = database.execute("SELECT first FROM groups WHERE name = ?", (name,))
            (first,) = found.fetchone()
    row = (first, date, read, json.dumps(asdict(item)))
    database.execute("INSERT INTO items VALUES (?, ?, ?, ?)", row)


def _documents(
    database: sqlite3.Connection, start: int, end: int, max_bytes: int
) -> Iterator[Item]:
    rows = database.execute(
        "SELECT first, item FROM items WHERE first >= ? AND first < ? ORDER BY first, date, read",
        (start, end),
    )
    for _, members in groupby(rows, key=itemgetter(0)):
        held: list[Record] = []
        size = 0
        for _, stored in members:
            item = _restored(stored)
            if isinstance(item, Problem):
                yield item
                continue
            added = len(item.text.encode()) + 2
            if held and size + added > max_bytes:
                yield _joined(held)
                held, size = [], 0
            held.append(item)
            size += added
        if held:
            yield _joined(held)


def _restored(stored: str) -> Item:
    fields = json.loads(stored)
    if "reason" in fields:
        return _problem(fields)
    flaw = fields.pop("flaw")
    fields["fields"] = tuple(map(tuple, fields["fields"]))
    return Record(**fields, flaw=_problem(flaw) if flaw else None)


def _problem(fields: dict[str, str]) -> Problem:
    return Problem(**{**fields, "reason": Reason(fields["reason"])})  # type: ignore[arg-type]


def _joined(records: Sequence[Record]) -> Record:
    if len(records) == 1:
        return records[0]
    values = zip(*(record.fields for record in records), strict=True)
    return replace(
        records[0],
        fields=tuple(tuple(dict.fromkeys(chain.from_iterable(each))) for each in values),
        title=next((record.title for record in records if record.title), ""),
        text="\n\n".join(record.text for record in records),
        date=next((record.date for record in records if record.date), ""),
        flaw=next((record.flaw for record in records if record.flaw), None),
    )
