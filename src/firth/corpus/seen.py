"""Which documents have been seen, in a file, so that memory does not grow with the corpus."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from firth.corpus.records import Record
from firth.lexical.words import normal_form

DIGEST_BYTES = 16
NAMED = ("id", "source", "line")
"""What tells a reader which document is meant."""
Row = tuple[bytes, str, str, int]
"""Of a document 128 bits of its text's normal form, id, source and line."""


def row_of(record: Record) -> Row:
    """What is remembered of a document; texts of the same words in order have the same digest."""
    form = normal_form(record.text).encode()
    digest = hashlib.blake2b(form, digest_size=DIGEST_BYTES).digest()
    return digest, record.id, record.source, record.line


def dropped_line(record: Record, kept: Mapping[str, Any]) -> str:
    """A line of `duplicates.jsonl`: a document, and the one whose words it repeats."""
    where = {"id": record.id, "source": record.source, "line": record.line}
    where |= {"date": record.date} if record.date else {}
    return json.dumps({**where, "kept": {name: kept[name] for name in NAMED}}) + "\n"


class SeenTexts:
    """Texts that have been seen, and whose they were.

    Args:
        path: Database file, made anew. It is scratch: nothing is synced.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("PRAGMA cache_size = -16000")
        columns = "hash BLOB PRIMARY KEY, id TEXT, source TEXT, line INTEGER"
        self._database.execute(f"CREATE TABLE seen ({columns}) WITHOUT ROWID")
        self._database.execute("BEGIN")

    def add(self, row: Row) -> dict[str, Any] | None:
        """Remember a text; if one of the same normal form was there, its id, source and line."""
        if self._database.execute("INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)", row).rowcount:
            return None
        return self.of_text(row[0])

    def load(self, rows: Iterable[Row]) -> None:
        """Remember documents of different texts; `named` is quick from then on."""
        self._database.executemany("INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)", rows)
        self._database.execute("CREATE INDEX IF NOT EXISTS names ON seen (id)")

    def of_text(self, digest: bytes) -> dict[str, Any] | None:
        """Id, source and line of the document with a text of this digest."""
        return next(iter(self._asked("hash", digest)), None)

    def named(self, name: str) -> list[dict[str, Any]]:
        """Id, source and line of the documents of a name."""
        return self._asked("id", name)

    def _asked(self, column: str, value: object) -> list[dict[str, Any]]:
        asked = f"SELECT id, source, line FROM seen WHERE {column} = ?"
        found = self._database.execute(asked, (value,)).fetchall()
        return [dict(zip(NAMED, row, strict=True)) for row in found]

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()
