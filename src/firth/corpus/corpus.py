"""The read view of a run's documents: sentences, numbered from 0 in document order."""

import hashlib
import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from firth.corpus.document import Document
from firth.corpus.store import (
    COPIED,
    FILE,
    HEADING,
    PAGE,
    connect,
    damage,
    damaged_document,
    damaged_store,
    fields_of,
    is_sealed,
    missing_corpus,
    parse_filter,
    translated_errors,
)
from firth.run.errors import ChangedError
from firth.run.files import stamp_of
from firth.run.run import Run
from firth.run.stage import note_opened
from firth.text.types import Ints, ranges, starts
from firth.text.words import UNKNOWN

Part = Literal["learn", "held-out", "all"]
BATCH = 8_192
"""Sentences of a batch."""
_DOCUMENTS, _SENTENCES = 256, 1 << 15
"""Documents whose texts are fetched at once, and their sentences, but for the last document."""
_COPIES = (
    f"SELECT d.key, f.first FROM ({COPIED}) f JOIN documents d ON d.form = f.form "
    "WHERE d.key != f.first ORDER BY d.key"
)
_CONDITIONS = {"learn": "part = 0", "held-out": "part = 1", "all": "1"}


class Corpus:
    """Documents of a run in the order of their keys, as they were when the corpus was opened.

    Of documents with the same words the first has a number, and the others are its copies.
    Memory holds a few bytes for each sentence; texts are fetched by document. Threads may share a
    corpus. Use `Corpus.open`.

    Attributes:
        part: Which documents: those that models learn from, the held-out ones, or all.
        keys: int64, (n_documents,), ascending: key of each document. Under a key, content never
            changes.
        document_bounds: int64, (n_documents+1,): document d is sentences[bounds[d]:bounds[d+1]].
        copies: int64, (n, 2): key of each document that has the text of another, and the number of
            that one. Copies have no number and no sentences of their own.
    """

    def __init__(self, path: Path, part: Part) -> None:
        self.path, self.part = path, part
        self._store = path / FILE
        self._lock = RLock()
        self._file = stamp_of(self._store)[:2]
        self._database = connect(self._store)
        self._last: tuple[int, list[str]] = (-1, [])
        again = f"firth build DOCUMENTS --run {shlex.quote(str(path))}"
        note_opened(self._store, lambda: damage(self._store), again)
        query = f"SELECT key, sentences FROM documents WHERE {_CONDITIONS[part]} ORDER BY key"
        with self._transaction():
            self._version = self._read_version()
            self._commits = self._read_commits()
            if self._version[0] is None:
                raise missing_corpus(path)
            table = np.fromiter(self._database.execute(query), np.dtype((np.int64, 2)))
            copies: Ints = np.fromiter(self._database.execute(_COPIES), np.dtype((np.int64, 2)))
        self._extent = len(table), int(table[:, 0].max(initial=0))
        table = table[~np.isin(table[:, 0], copies[:, 0])]
        self.keys: Ints = np.ascontiguousarray(table[:, 0])
        copies = copies[np.isin(copies[:, 1], self.keys)]
        numbers = np.searchsorted(self.keys, copies[:, 1])
        self.copies: Ints = np.stack([copies[:, 0], numbers], axis=1)
        self.document_bounds: Ints = np.concatenate(([0], np.cumsum(table[:, 1])))

    @classmethod
    def open(cls, run: "str | Path | Run", part: Part = "learn") -> "Corpus":
        """Open the corpus of a run."""
        return cls(Run.open(run).path, part)

    def __len__(self) -> int:
        """Return the number of sentences."""
        return int(self.document_bounds[-1])

    @cached_property
    def language(self) -> str:
        """ISO 639 code of the language in which the texts were read; `und` where it is unknown.

        Several are joined by `+`, the most frequent first.
        """
        return str(self._meta("language", UNKNOWN))

    @property
    def n_documents(self) -> int:
        """Number of documents, without copies."""
        return len(self.keys)

    @property
    def owners(self) -> Ints:
        """The number of each document, and then that of the text of each copy."""
        return np.append(np.arange(self.n_documents), self.copies[:, 1])

    def is_current(self) -> bool:
        """Return whether the store has the documents that it had when the corpus was opened."""
        if stamp_of(self._store)[:2] != self._file:
            return False
        if (commits := self._read_commits()) != self._commits:
            if self._read_version() != self._version:
                return False
            self._commits = commits  # What was written is not to be seen yet.
        return True

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Read one state of the store inside the block; its writers wait."""
        with self._lock, translated_errors(self._store):
            self._database.execute("BEGIN")
            try:
                yield
            finally:
                self._database.execute("COMMIT")

    def _read_version(self) -> tuple[Any, ...]:
        """Return what names the documents: new ones raise the next key, else their number falls."""
        key, fields = (
            f"(SELECT value FROM meta WHERE name = '{name}')" for name in ("next_key", "fields")
        )
        return tuple(self._ask(f"SELECT {key}, {fields}, count(*) FROM documents")[0])

    def _read_commits(self) -> int:
        """Return a number that changes with every transaction of another connection."""
        return int(self._ask("PRAGMA data_version")[0][0])

    def _ask(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        with self._lock, translated_errors(self._store):
            return self._database.execute(query, values).fetchall()

    def _column(self, column: str, of_copies: bool = False) -> Iterator[Any]:
        """Yield a column of the documents in order; documents that came later are ignored."""
        query = f"SELECT key, {column} FROM documents WHERE key BETWEEN ? AND ?"
        all_keys = self.copies[:, 0] if of_copies else self.keys
        for first in range(0, len(all_keys), BATCH):
            keys = all_keys[first : first + BATCH].tolist()
            rows = dict(self._ask(query, (keys[0], keys[-1])))
            if not rows.keys() >= set(keys):
                raise self._changed()
            yield from map(rows.__getitem__, keys)

    def _changed(self) -> ChangedError:
        return ChangedError(
            f"{self._store}: documents were replaced or removed since they were opened. Try again"
        )

    # --- Sentences ---

    def text(self, i: int) -> str:
        """Return sentence `i`; raise `IndexError` if there is none."""
        return self.texts([i])[0]

    def texts(self, indices: npt.ArrayLike) -> list[str]:
        """Return sentences in the order of `indices`; raise `IndexError` if one does not exist."""
        positions = np.asarray(indices, np.int64).ravel()
        if len(positions) and (positions.min() < 0 or positions.max() >= len(self)):
            range_asked = f"{positions.min()} to {positions.max()}"
            raise IndexError(f"got sentences {range_asked}, expected 0 to {len(self) - 1}")
        documents = self.document_of(positions)
        inner = positions - self.document_bounds[documents]
        gathered = [""] * len(positions)
        order = np.argsort(documents, kind="stable")
        borders = np.flatnonzero(np.diff(documents[order], prepend=-1, append=-2))
        chosen = documents[order[borders[:-1]]]
        for place, sentences in enumerate(self._sentences(chosen)):
            for at in order[borders[place] : borders[place + 1]].tolist():
                gathered[at] = sentences[inner[at]]
        return gathered

    def _sentences(self, documents: Ints) -> Iterator[list[str]]:
        """Yield the sentences of documents, which are ascending; the last one is remembered."""
        if len(documents) == 1 and self._last[0] == documents[0]:
            yield self._last[1]
            return
        before = starts(np.diff(self.document_bounds)[documents])
        group = before // _SENTENCES + np.arange(len(documents)) // _DOCUMENTS
        for part in np.split(documents, np.flatnonzero(np.diff(group)) + 1):
            marks = ",".join("?" * len(part))
            query = f"SELECT key, text, seal FROM texts WHERE key IN ({marks})"
            rows = {row[0]: row for row in self._ask(query, self.keys[part].tolist())}
            sizes = np.diff(self.document_bounds)[part].tolist()
            keys = self.keys[part].tolist()
            for document, key, size in zip(part.tolist(), keys, sizes, strict=True):
                if key not in rows:
                    raise self._changed()
                row = rows.pop(key)
                sentences = str(row[1]).split("\n")
                if not is_sealed(row) or len(sentences) != size:
                    raise damaged_document(self._store, self._id(key))
                self._last = (document, sentences)
                yield sentences

    def _id(self, key: int) -> object:
        """Return the id of a document as it is; None where it was removed meanwhile."""
        rows = self._ask("SELECT id FROM documents WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def batches(self) -> Iterator[list[str]]:
        """Yield all sentences in order, 8,192 at a time."""
        for first in range(0, len(self), BATCH):
            yield self.texts(np.arange(first, min(first + BATCH, len(self))))

    def document_of(self, sentences: npt.ArrayLike) -> Ints:
        """Return the document of each sentence, in the same shape."""
        return np.searchsorted(self.document_bounds, np.asarray(sentences), side="right") - 1

    def sentences_of(self, documents: Ints) -> Ints:
        """Return the sentences of some documents, document after document."""
        firsts = self.document_bounds[documents]
        return ranges(firsts, self.document_bounds[documents + 1] - firsts)

    def paragraph_of(self, sentences: npt.ArrayLike) -> Ints:
        """Return the paragraph of each sentence, in the same shape."""
        return np.searchsorted(self.paragraph_bounds, np.asarray(sentences), side="right") - 1

    @cached_property
    def word_counts(self) -> npt.NDArray[np.int32]:
        """Words of each sentence, int32, (n_sentences,)."""
        counts = np.empty(len(self), np.int32)
        for start, blob in zip(self.document_bounds.tolist(), self._column("counts"), strict=False):
            counts[start : start + len(blob) // 2] = np.frombuffer(blob, "<u2")
        return counts

    @cached_property
    def paragraph_bounds(self) -> Ints:
        """int64, (n_paragraphs+1,): paragraph p is sentences[bounds[p]:bounds[p+1]].

        A page of a PDF without a word is an empty paragraph.
        """
        blobs = list(self._column("paragraphs"))
        ends = (np.frombuffer(b"".join(blobs), "<u4") & ~(HEADING | PAGE)).astype(np.int64)
        counts = np.array([len(blob) // 4 for blob in blobs], np.int64)
        return np.concatenate(([0], ends + np.repeat(self.document_bounds[:-1], counts)))

    def page(self, sentence: int) -> int:
        """Return the page of a sentence in its PDF, from 1; 0 where its document is none."""
        key = int(self.keys[self.document_of(sentence)])
        rows = self._ask("SELECT paragraphs FROM documents WHERE key = ?", (key,))
        if not rows:
            raise self._changed()
        ends = np.frombuffer(rows[0][0], "<u4")
        if not len(ends) or not ends[0] & PAGE:
            return 0
        place = sentence - int(self.document_bounds[self.document_of(sentence)])
        return int(np.searchsorted(ends & ~PAGE, place, side="right")) + 1

    @cached_property
    def headings(self) -> npt.NDArray[np.bool_]:
        """Whether each sentence is a heading of a document that has other sentences."""
        ends = np.frombuffer(b"".join(self._column("paragraphs")), "<u4")
        of_sentences = np.repeat(ends >= HEADING, np.diff(self.paragraph_bounds))
        if not of_sentences.any():
            return of_sentences
        owners = self.document_of(np.arange(len(self)))
        counts = np.bincount(owners[~of_sentences], minlength=self.n_documents)
        return of_sentences & (counts > 0)[owners]

    def usual_sentences(self) -> Ints:
        """Return the sentences of `corpus.min_words` to `corpus.max_words` words, ascending.

        All sentences are usual where fewer than two have so many words.
        """
        low, high = self._limits
        usual = np.flatnonzero((self.word_counts >= low) & (self.word_counts <= high))
        return usual if len(usual) > 1 else np.arange(len(self))

    @cached_property
    def _limits(self) -> tuple[int, int]:
        """Fewest and most words of a sentence that models learn from, as the corpus was built."""
        low, high = self._meta("limits", [0, 0])
        return int(low), int(high)

    def _meta(self, name: str, default: Any) -> Any:
        rows = self._ask("SELECT * FROM meta WHERE name = ?", (name,))
        if not all(map(is_sealed, rows)):
            raise damaged_store(self._store, "its properties are not as they were written")
        return json.loads(rows[0][1]) if rows else default

    # --- Documents ---

    def document_ids(self) -> list[str]:
        """Return the ids of all documents."""
        return list(self._column("id"))

    def document_titles(self) -> list[str]:
        """Return the titles of all documents; "" where there is none."""
        return list(self._column("title"))

    def sketches(self) -> list[bytes]:
        """Return the sketch of the words of each document (`firth.corpus.siblings`)."""
        return [*self._column("sketch")]

    def document_dates(self) -> list[str]:
        """Return the dates of all documents (ISO 8601); "" where there is none."""
        return list(self._column("date"))

    def number_of(self, id: str) -> int | None:
        """Return the number of the document with an id, or of that with its text, or None."""
        keys = [key for (key,) in self._ask("SELECT key FROM documents WHERE id = ?", (id,))]
        for d in self._numbers(keys).tolist():
            return int(d)
        if not self.is_current():
            raise self._changed()
        return None

    def document(self, d: int) -> Document:
        """Return what is known of document `d`; its text is left empty.

        After all documents come their copies.
        """
        if not 0 <= d < len(self.owners):
            raise IndexError(f"got document {d}, expected 0 to {self.n_documents - 1}")
        key = self.keys[d] if d < self.n_documents else self.copies[d - self.n_documents, 0]
        return self._rows_of("key = ?", [int(key)], {int(key)})[0]

    def documents_with_text(self, d: int, where: str | None = None) -> list[Document]:
        """Return document `d` and its copies, by key; of these, those that fulfil a filter."""
        condition, values = ("1", []) if where is None else parse_filter(where, self.fields)
        condition = f"form = (SELECT form FROM documents WHERE key = ?) AND ({condition})"
        keys = [int(self.keys[d]), *self.copies[self.copies[:, 1] == d, 0].tolist()]
        return self._rows_of(f"{condition} ORDER BY key", [keys[0], *values], {*keys})

    def _rows_of(self, condition: str, values: Sequence[object], keys: set[int]) -> list[Document]:
        """Return what is known of those documents of `keys` that fulfil a condition: at least one.

        What came since the corpus was opened is ignored.
        """
        rows = self._ask(f"SELECT * FROM documents WHERE {condition}", values)
        if not (rows := [row for row in rows if row[0] in keys]):
            raise self._changed()
        documents = []
        for row in rows:
            if not is_sealed(row):
                raise damaged_document(self._store, self._id(row[0]))
            _, id, title, date, source, line, fields = row[:7]
            documents.append(
                Document(
                    id=id,
                    text="",
                    title=title,
                    date=date,
                    fields=fields_of(fields),
                    source=source,
                    line=line,
                )
            )
        return documents

    def source_numbers(self) -> npt.NDArray[np.int32]:
        """Return the number of each document's file, in the order of the files' names."""
        return np.unique(list(self._column("source")), return_inverse=True)[1].astype(np.int32)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that are kept of documents."""
        return tuple(self._meta("fields", []))

    def documents_where(self, condition: str) -> Ints:
        """Return the documents that fulfil a filter, or a copy of which does, ascending.

        See `store.parse_filter`.
        """
        sql, values = parse_filter(condition, self.fields)
        keys = [key for (key,) in self._ask(f"SELECT key FROM documents WHERE {sql}", values)]
        if not self.is_current() and len(self.keys):
            query = f"SELECT count(*) FROM documents WHERE {_CONDITIONS[self.part]} AND key <= ?"
            if self._ask(query, (self._extent[1],))[0][0] < self._extent[0]:
                raise self._changed()  # What is gone may have fulfilled the filter.
        return self._numbers(keys)

    def _numbers(self, keys: npt.ArrayLike) -> Ints:
        """Return the documents that have the texts of keys, ascending."""
        distinct = np.asarray(keys, np.int64).ravel()
        copied = self.copies[np.isin(self.copies[:, 0], distinct), 1]
        return np.union1d(np.flatnonzero(np.isin(self.keys, distinct)), copied)

    @cached_property
    def digest(self) -> str:
        """Fingerprint of the documents and their order, and of which sentences are usual.

        Models do not see copies, and the index of all documents has their titles.
        """
        fingerprint = hashlib.blake2b(
            repr((self.part, self._limits, self.language)).encode(), digest_size=20
        )
        for digest, source in zip(self._column("digest"), self._column("source"), strict=True):
            fingerprint.update(digest + source.encode("utf-8", "surrogateescape") + b"\0")
        for digest in self._column("digest", of_copies=True) if self.part == "all" else ():
            fingerprint.update(digest)
        return fingerprint.hexdigest()
