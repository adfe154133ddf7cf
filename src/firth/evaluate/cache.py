"""A cache of what is slow to compute, keyed by what decides it and never by a name.

An entry is one file: a checksum of its key and its bytes, then the bytes. A torn or altered entry,
or one that stands under another's key, fails the checksum and counts as absent.
"""

import hashlib
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from firth.run.errors import InputError
from firth.run.progress import note

T = TypeVar("T")
_ARRAY = b"\x93NUMPY"
_ODD = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What reading an entry that is whole, but not what it should be, may raise."""


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

    @classmethod
    def open(cls, cache: "Cache | str | Path | None") -> "Cache":
        """A cache as it is, or one in a folder."""
        return cache if isinstance(cache, Cache) else cls(cache)

    @property
    def keeps(self) -> bool:
        """Whether anything is kept at all."""
        return self._folder is not None

    def recall(
        self, kind: str, key: str, make: Callable[[], T],
        plain: Callable[[T], Any], restore: Callable[[Any], T],
    ) -> T:  # fmt: skip
        """What `make()` gives: read where it is there, else made, and kept as `plain` of it.

        `plain` gives an array or plain types; an entry that `restore` cannot make a value of is
        named and made again.
        """
        known = self.value(kind, key)
        if known is not None:
            try:
                return restore(known)
            except _ODD:
                self._damaged(kind, key)
        made = make()
        self.keep(kind, key, plain(made))
        return made

    def value(self, kind: str, key: str) -> Any:
        """An array, or a value of plain types; None where there is no entry."""
        if self._folder is None:
            return None
        try:
            content = (self._folder / kind / key).read_bytes()
        except OSError:
            return None
        checksum, _, payload = content.partition(b"\n")
        try:
            if checksum == _checksum(kind, key, payload):
                if payload.startswith(_ARRAY):
                    return np.load(io.BytesIO(payload), allow_pickle=False)
                return json.loads(payload)
        except (*_ODD, EOFError, OSError):
            pass
        self._damaged(kind, key)
        return None

    def keep(self, kind: str, key: str, value: object) -> None:
        """Keep an array, or a value of plain types."""
        if self._folder is None:
            return
        if isinstance(value, np.ndarray):
            buffer = io.BytesIO()
            np.save(buffer, np.ascontiguousarray(value), allow_pickle=False)
            payload = buffer.getvalue()
        else:
            payload = json.dumps(value, ensure_ascii=True, allow_nan=False).encode()
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

    def _damaged(self, kind: str, key: str) -> None:
        assert self._folder is not None
        note(f"{self._folder / kind / key}: a damaged cache entry; computed again")


def _checksum(kind: str, key: str, payload: bytes) -> bytes:
    digest = hashlib.blake2b(f"{kind}/{key}\n".encode(), digest_size=20)
    digest.update(payload)
    return digest.hexdigest().encode()
