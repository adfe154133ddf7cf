"""Inputs that lie in a store: listed as a folder's are, and fetched into the cache.

Readers seek in files, read what is broken twice and map Parquet into memory, and what a stage is
made of is known by its bytes. So a file is fetched once, whole, and is a file like any other then;
as long as the store tells of the same version, it is not fetched again.
"""

import glob
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath

from firth.corpus.formats import format_of, matches
from firth.run.errors import InputError
from firth.run.files import cache_folder, fingerprint_value
from firth.run.stage import MANIFEST
from firth.run.store import Object, Store, Transfer

INPUTS = "inputs"
"""Folder in the cache."""
MANIFEST_BYTES = 1 << 24
"""A longer manifest is not firth's."""


@dataclass(frozen=True)
class Stored:
    """A file in a store.

    Attributes:
        store: Which, from where the user named it.
        name: Below that; "" for a file that was named itself.
        object: What the store tells of it.
    """

    store: Store
    name: str
    object: Object

    @property
    def address(self) -> str:
        """Of the file."""
        return f"{self.store.address}/{self.name}" if self.name else self.store.address

    @property
    def called(self) -> str:
        """Its path from what the user named, that included, as files here are called."""
        return "/".join((PurePosixPath(self.store.address).name, *self.parts))

    @property
    def parts(self) -> tuple[str, ...]:
        """Of its name."""
        return PurePosixPath(self.name).parts

    @property
    def path(self) -> Path:
        """Where it is kept here; another version is another file."""
        version = [self.address, self.object.size, self.object.version]
        return cache_folder() / INPUTS / fingerprint_value(version) / Path(self.address).name


@dataclass(frozen=True)
class Found:
    """What stands behind an address.

    Attributes:
        files: Those that are to be read, in the order of their names.
        is_pattern: Whether the address has one (`*`, `?`, `[`).
        others: How many files are not.
        own: Folders that firth wrote, which are passed over, called as documents are.
    """

    files: list[Stored]
    is_pattern: bool = False
    others: int = 0
    own: tuple[str, ...] = ()


def find_stored(given: str) -> Found:
    """The files of an address, or below it, as in a folder: hidden ones are left out, those of
    other endings, and what firth wrote.

    Raises:
        InputError: There is no such store, or it cannot be reached.
    """
    whole = Store(given)
    if (single := whole.object()) is not None:
        return Found([Stored(whole, "", single)])
    parts = given.rstrip("/").split("/")
    fixed = next((n for n, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    if fixed < 3:
        raise InputError(f"{given}: expected the name of a bucket, without *, ? or [")
    store, pattern = Store("/".join(parts[:fixed])), parts[fixed:]
    there = [Stored(store, name, found) for name, found in store.objects().items()]
    there = [one for one in there if not any(part.startswith(".") for part in one.parts)]
    own = _own(there)
    wanted = [
        one
        for one in sorted(there, key=lambda one: one.parts)
        if (matches(one.parts, pattern) if pattern else format_of(PurePosixPath(one.name)))
        and not _below(one.parts, own)
    ]
    called = [Stored(store, "/".join(folder), Object(0, "")).called for folder in own]
    return Found(wanted, bool(pattern), len(there) - len(wanted), tuple(called))


def _own(files: Sequence[Stored]) -> list[tuple[str, ...]]:
    """The outermost folders with a manifest of firth's."""
    found: list[tuple[str, ...]] = []
    for one in sorted(files, key=lambda one: len(one.parts)):
        *folder, last = one.parts
        if last != MANIFEST or not folder or _below(one.parts, found):
            continue
        small = one.object.size <= MANIFEST_BYTES
        if small and is_manifest(one.store.read(one.name) or b""):
            found.append(tuple(folder))
    return found


def _below(parts: tuple[str, ...], folders: Sequence[tuple[str, ...]]) -> bool:
    return any(parts[: len(folder)] == folder for folder in folders)


def is_manifest(content: bytes) -> bool:
    """Whether these are the bytes of a manifest of firth's."""
    try:
        written = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(written, dict) and {"stage", "request", "outputs"} <= set(written)


def fetch_stored(files: Sequence[Stored]) -> None:
    """Bring here what is not here yet.

    Raises:
        InputError: A store cannot be reached, or a file is gone or has changed since it was listed.
    """
    for store, group in groupby(files, key=lambda one: one.store):
        missing = [
            Transfer(one.name, one.path, one.object.size)
            for one in group
            if not one.object.version or not one.path.is_file()
        ]
        if missing:
            store.fetch(missing, "Fetching inputs (bytes)")
