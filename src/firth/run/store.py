"""Stores: whatever fsspec opens by an address (`s3://bucket/run`), or a folder.

Few verbs, none of which renames or appends: list, read, fetch, put, create, remove. In object
stores a put is seen whole or not at all. Credentials, endpoints and retries are the affair of the
library that opens a store; what it says when it fails becomes one message.
"""

import errno
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from urllib.parse import urlsplit

from firth.run.errors import FirthError, InputError, MissingExtraError
from firth.run.files import sync, write_atomically
from firth.run.progress import bar

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://")
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
_PAGES = frozenset({"http", "https"})
_VERSIONS = (
    "ETag", "etag", "md5Hash", "blob_id", "generation", "LastModified", "last_modified", "updated",
    "mtime", "created",
)  # fmt: skip
"""How libraries call what tells one content of a file from the next; the first one counts."""
_FILES_AT_ONCE = 64
_BYTES_AT_ONCE = 256 << 20
_DISK = (errno.ENOSPC, errno.EDQUOT)


def is_address(text: str) -> bool:
    """Whether a text names something in a store, as `s3://bucket/texts`, and no file here."""
    return _ADDRESS.match(text) is not None


@dataclass(frozen=True)
class Object:
    """A file in a store.

    Attributes:
        size: Its bytes.
        version: What the store tells its contents apart by (an etag, else a time); "" if nothing.
    """

    size: int
    version: str


@dataclass(frozen=True)
class Transfer:
    """A file here and in a store.

    Attributes:
        name: In the store, below its address; "" for what stands at the address itself.
        path: Here.
        size: Its bytes.
    """

    name: str
    path: Path
    size: int


class Store:
    """What lies below an address.

    Args:
        address: As `s3://bucket/run`; or a folder, such as one that several machines share.

    Raises:
        InputError: It is no address of a store.
        MissingExtraError: What opens it is not installed.

    Every method raises `InputError` where the store cannot be reached, or refuses.
    """

    def __init__(self, address: str | Path) -> None:
        given = str(address)
        self._is_local = _scheme(given) == "file"
        self._files, self._root = _opened(given)
        self.address = self._root if self._is_local else given.rstrip("/")

    def objects(self, below: str = "") -> dict[str, Object]:
        """Name below the address → object, of every file whose name begins with the folder `below`;
        none where nothing is."""
        with self._reaching():
            self._files.invalidate_cache()
            try:
                found = self._files.find(f"{self._root}/{below}".rstrip("/"), detail=True)
            except FileNotFoundError:
                return {}
        start = len(self._root) + 1
        return {
            path[start:]: _described(info)
            for path, info in found.items()
            if info.get("type") == "file" and not path.endswith("/") and path[start:]
        }

    def object(self) -> Object | None:
        """What stands at the address itself; None for a folder, or nothing."""
        with self._reaching():
            self._files.invalidate_cache()
            try:
                info = self._files.info(self._root)
            except FileNotFoundError:
                return None
        return _described(info) if info["type"] == "file" else None

    def read(self, name: str) -> bytes | None:
        """The bytes of an object; None where it is not."""
        with self._reaching():
            try:
                content: bytes = self._files.cat_file(self._path(name))
            except FileNotFoundError:
                return None
        return content

    def fetch(self, transfers: Sequence[Transfer], title: str) -> None:
        """Bring objects here, several at a time; each file is whole as soon as it is there.

        Raises:
            InputError: One is gone, or has another size than was told.
        """
        with bar(title, sum(each.size for each in transfers)) as shown:
            for batch in _batches(transfers):
                with ExitStack() as stack:
                    partial = [stack.enter_context(write_atomically(each.path)) for each in batch]
                    names = [self._path(each.name) for each in batch]
                    with self._reaching():
                        self._files.get(names, [*map(str, partial)])
                    for each, path in zip(batch, partial, strict=True):
                        if (size := path.stat().st_size) != each.size:
                            raise InputError(
                                f"{self._told(each.name)}: {size:,} bytes, not {each.size:,}: "
                                "changed, or cut off, since it was put or listed. Start the "
                                "command again"
                            )
                shown.advance(sum(each.size for each in batch))

    def put(self, transfers: Sequence[Transfer], title: str) -> None:
        """Put files into the store, several at a time, over what has their names there."""
        with bar(title, sum(each.size for each in transfers)) as shown:
            for batch in _batches(transfers):
                with self._reaching():
                    here = [str(each.path) for each in batch]
                    self._files.put(here, [self._path(each.name) for each in batch])
                shown.advance(sum(each.size for each in batch))

    def create(self, name: str, content: bytes) -> bool:
        """Put an object where none is; whether it stands there now as given.

        Of several that try at once one wins (a conditional put). Where a store puts
        unconditionally, the last one wins; the object is read again, so that whoever came
        before is told if it was overwritten by then.
        """
        try:
            with self._reaching():
                if self._is_local:
                    _link(content, Path(self._path(name)))
                else:
                    self._files.pipe_file(self._path(name), content, mode="create")
        except InputError:
            # Refused because it is there; or put, and the answer was lost on its way.
            found = self.read(name)
            if found is None:
                raise
            return found == content
        return self.read(name) == content

    def remove(self, names: Sequence[str]) -> None:
        """Remove objects, whose names have no `*`, `?` or `[`."""
        if names:
            with self._reaching():
                self._files.rm([self._path(name) for name in names])

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _told(self, name: str) -> str:
        return f"{self.address}/{name}" if name else self.address

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except FirthError:
            raise
        except FileNotFoundError as error:
            raise InputError(
                f"{self.address}: {_first_line(error)}: not there (any more). Look at the address; "
                "if it is right, start the command again"
            ) from error
        except PermissionError as error:
            raise InputError(
                f"{self.address}: no access ({_first_line(error)}). Expected credentials where "
                "its library looks for them: docs/stores.md"
            ) from error
        except Exception as error:  # whatever a library raises, the user must hear it
            if isinstance(error, OSError) and error.errno in _DISK:
                raise  # of the disk here
            raise InputError(
                f"{self.address}: cannot be reached, or refuses ({type(error).__name__}: "
                f"{_first_line(error)}). Where credentials and endpoint come from: docs/stores.md. "
                "What was done is kept; the same command goes on"
            ) from error


def _scheme(address: str) -> str:
    """`file` for a folder."""
    return address.partition("://")[0] if is_address(address) else "file"


def _opened(address: str) -> tuple[Any, str]:
    """A filesystem and the path in it."""
    from fsspec.core import url_to_fs
    from fsspec.implementations.local import LocalFileSystem

    scheme = _scheme(address)
    if scheme == "file":
        folder = os.path.expanduser(address.removeprefix("file://"))
        return LocalFileSystem(auto_mkdir=True), os.path.abspath(folder)
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise InputError(f"{address}: no address ({error})") from None
    if parts.password is not None:  # not repeated: it would stand in a log, and in config.yaml
        raise InputError(
            f"{scheme}://…@{parts.hostname}: an address with a password. Expected credentials "
            "where its library looks for them: docs/stores.md"
        )
    if scheme in _PAGES or "::" in address or not parts.netloc:
        raise InputError(
            f"{address}: no store; expected an address as s3://bucket/folder or gs://bucket/folder"
        )
    try:
        files, root = url_to_fs(address)
    except ImportError as error:
        if extra := _EXTRAS.get(scheme):
            raise MissingExtraError(address, extra) from error
        raise InputError(f"{address}: what opens it is not installed: {error}") from error
    except ValueError as error:
        raise InputError(f"{address}: cannot be opened ({_first_line(error)})") from error
    return files, root.rstrip("/")


def _described(info: Mapping[str, Any]) -> Object:
    version = next((str(info[name]) for name in _VERSIONS if info.get(name)), "")
    return Object(int(info.get("size") or 0), version)


def _batches(transfers: Sequence[Transfer]) -> Iterator[list[Transfer]]:
    batch: list[Transfer] = []
    for each in transfers:
        size = sum(one.size for one in batch) + each.size
        if batch and (len(batch) == _FILES_AT_ONCE or size > _BYTES_AT_ONCE):
            yield batch
            batch = []
        batch.append(each)
    if batch:
        yield batch


def _link(content: bytes, path: Path) -> None:
    """Write a file where none is, at once: a folder of a machine has what object stores have."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=".partial") as partial:
        partial.write(content)
        partial.flush()
        os.fchmod(partial.fileno(), 0o644)  # other machines read it
        os.fsync(partial.fileno())
        os.link(partial.name, path)
    sync(path.parent)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
