"""A cache of what is slow to compute, keyed by what decides it and never by a name.

An entry is one file: a checksum of its key and its bytes, then the bytes. A torn or altered entry,
or one that stands under another's key, fails the checksum and counts as absent.
"""

import hashlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.run.errors import InputError
from firth.run.progress import note

VARIABLE = "FIRTH_CACHE"
"""Environment variable that names the folder of the cache."""


def default_folder() -> Path:
    """Where the platform keeps caches: `$FIRTH_CACHE` if set, else the user's own folder."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "firth"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "firth" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "firth"


class Cache:
    """Entries by kind and key; a key is a fingerprint of everything that decides the entry.

    Args:
        folder: Where entries are kept, made when the first one is written; None keeps nothing.

    Raises:
        InputError: `folder` is a file.

    Example:
        >>> Cache(None).value("figures", "a key") is None
        True
    """

    def __init__(self, folder: str | Path | None) -> None:
        self._folder = Path(folder) if folder is not None else None
        if self._folder is not None and self._folder.exists() and not self._folder.is_dir():
            raise InputError(f"{self._folder}: a file; expected the folder of the cache")

    @property
    def keeps(self) -> bool:
        """Whether anything is kept at all."""
        return self._folder is not None

    def value(self, kind: str, key: str) -> Any:
        """A value of plain types; None where there is no entry."""
        found = self._read(kind, key)
        return None if found is None else json.loads(found)

    def keep_value(self, kind: str, key: str, value: object) -> None:
        """Keep a value of plain types."""
        text = json.dumps(value, ensure_ascii=True, allow_nan=False)
        self._write(kind, key, text.encode())

    def floats(self, kind: str, key: str) -> npt.NDArray[np.float64] | None:
        """An array; None where there is no entry."""
        found = self._read(kind, key)
        if found is None:
            return None
        array: npt.NDArray[np.float64] = np.load(io.BytesIO(found), allow_pickle=False)
        return array

    def keep_floats(self, kind: str, key: str, array: npt.NDArray[np.float64]) -> None:
        """Keep an array."""
        buffer = io.BytesIO()
        np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
        self._write(kind, key, buffer.getvalue())

    def _read(self, kind: str, key: str) -> bytes | None:
        if self._folder is None:
            return None
        path = self._folder / kind / key
        try:
            content = path.read_bytes()
        except OSError:
            return None
        checksum, _, payload = content.partition(b"\n")
        if checksum != _checksum(kind, key, payload):
            note(f"{path}: a damaged cache entry; computed again")
            return None
        return payload

    def _write(self, kind: str, key: str, payload: bytes) -> None:
        if self._folder is None:
            return
        path = self._folder / kind / key
        partial = path.with_name(f".{key}.{os.getpid()}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Not synced: an entry torn by a power cut fails its checksum and is made again.
            partial.write_bytes(_checksum(kind, key, payload) + b"\n" + payload)
            os.replace(partial, path)
        except OSError as error:
            note(f"{self._folder}: nothing can be cached ({error.strerror})")
            self._folder = None


def _checksum(kind: str, key: str, payload: bytes) -> bytes:
    digest = hashlib.blake2b(f"{kind}/{key}\n".encode(), digest_size=20)
    digest.update(payload)
    return digest.hexdigest().encode()
