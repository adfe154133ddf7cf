"""Which documents have been seen: hashes on disk, so that memory does not grow with the corpus."""

import hashlib
import sqlite3
from pathlib import Path

from firth.lexical.words import normal_form


class SeenTexts:
    """A set of texts that only remembers, in a file, 128 bits of the normal form of each.

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
        self._database.execute("CREATE TABLE seen (hash BLOB PRIMARY KEY) WITHOUT ROWID")
        self._database.execute("BEGIN")

    def add(self, text: str) -> bool:
        """Remember `text`; True if it, or one of the same normal form, was there already."""
        digest = hashlib.blake2b(normal_form(text).encode(), digest_size=16).digest()
        done = self._database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (digest,))
        return done.rowcount == 0

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()
