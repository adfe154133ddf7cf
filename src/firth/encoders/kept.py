"""Vectors that are kept by key in a database, so that no text is encoded twice."""

import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from threading import Lock

import numpy as np

from firth.run.errors import InputError
from firth.text.types import Singles

_BYTES, _PAGE, _PATIENCE = 256 << 20, 4_096, 120.0
"""Bytes of a temporary database, at most; bytes of its pages; seconds to wait for a lock."""
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"
_READ = "SELECT vector FROM vectors WHERE key = ?"
_WRITE = "INSERT OR REPLACE INTO vectors VALUES (?, ?)"


def key_of(encoder: str, text: str) -> bytes:
    """Return the key of a text and an encoder."""
    return blake2b(f"{encoder}\0{text}".encode("utf-8", "surrogatepass"), digest_size=20).digest()


class KeptVectors:
    """Vectors by key. A database with a path outlives the process.

    Without a path it is a temporary file, which nobody else can open and which ends with the
    process. It begins again where it is full.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._lock, self._is_temporary = Lock(), path is None
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            name = "" if path is None else path
            self._store = sqlite3.connect(name, timeout=_PATIENCE, check_same_thread=False)
            self._store.execute(f"PRAGMA page_size = {_PAGE}")
            self._store.execute(f"PRAGMA journal_mode = {'MEMORY' if path is None else 'WAL'}")
            self._store.execute("PRAGMA synchronous = NORMAL")
            if path is None:
                self._store.execute(f"PRAGMA max_page_count = {_BYTES // _PAGE}")
            with self._store:
                self._store.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"{path or 'a temporary file'}: no vectors can be kept here ({error}). Remove the "
                "file, or name another folder: FIRTH_CACHE"
            ) from error

    def read(self, keys: Mapping[str, bytes]) -> dict[str, Singles]:
        """Return the vectors that are kept, by text."""
        with self._lock:
            rows = {
                text: self._store.execute(_READ, [key]).fetchone() for text, key in keys.items()
            }
        return {text: np.frombuffer(row[0], np.float32) for text, row in rows.items() if row}

    def write(self, vectors: Mapping[bytes, Singles]) -> None:
        """Keep vectors; those of a path are not lost by a kill once this returns."""
        rows = [(key, vector.astype(np.float32).tobytes()) for key, vector in vectors.items()]
        with self._lock:
            try:
                with self._store:
                    self._store.executemany(_WRITE, rows)
            except sqlite3.OperationalError:
                if not self._is_temporary:
                    raise
                with suppress(sqlite3.Error), self._store:  # It is full, or so is the disk.
                    self._store.execute("DELETE FROM vectors")
