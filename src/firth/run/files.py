"""Files: checked before the work, written in a private folder, synced, renamed into place.

A write that is stopped leaves a hidden folder `.firth-XXXXXXXXXXXXXXXX`. The next write into the
same folder removes it. Nobody can guess its name or plant a link in it, and a long file name does
not make it too long.
"""

import errno
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from firth.run.errors import DamagedError, InputError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_PRIVATE = re.compile(r"\.firth-[0-9a-f]{16}")
_LOCK = "lock"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""Windows has no such flag."""
_LONGEST_SUFFIX = 16
_NUMBERS = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I64": "<i8"}
"""Kinds of numbers in safetensors files that are mapped."""
_FULL = "No space left on device", "disk is full", "quota exceeded", " requested and "
DISK_ERRORS = {**dict.fromkeys(_FULL, errno.ENOSPC), "Input/output error": errno.EIO}
"""What libraries say of errors of the disk, without their number; *requested and* is NumPy's."""


# --- Writing -----------------------------------------------------------------------------------


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """Yield the path of a partial file; on success sync it and rename it onto `path`.

    Folders above `path` are made. The file gets the permissions that the umask leaves, also where
    a library writes private files. An error of the system without a name gets that of the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with named_errors(path), private_folder(path.parent) as (folder, mode):
        suffix = path.suffix if len(path.suffix) < _LONGEST_SUFFIX else ""
        partial = folder / f"partial{suffix}"
        yield partial
        partial.chmod(mode)
        sync(partial)
        os.replace(partial, path)
        sync(path.parent)


@contextmanager
def private_folder(parent: Path) -> Iterator[tuple[Path, int]]:
    """Yield a new folder that only this user can enter, and the permissions of an ordinary file.

    The folder is removed at the end. A file in it is locked while this process lives, so that a
    later call recognizes and removes the folders of processes that were killed.
    """
    remove_leftovers(parent)
    while True:
        folder = parent / f".firth-{os.urandom(8).hex()}"
        folder.mkdir(mode=0o700)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK
            descriptor = os.open(folder / _LOCK, flags, 0o666)
        except FileNotFoundError:  # Another process took the empty folder for a leftover.
            continue
        try:
            lock(descriptor, wait=True)
            if (folder / _LOCK).exists():
                yield folder, os.fstat(descriptor).st_mode & 0o777
                return
        finally:
            _remove_private(folder)
            os.close(descriptor)


def lock(descriptor: int, *, wait: bool = False) -> None:
    """Lock an open file as long as this process has it open.

    Raises:
        OSError: Another one has it locked, and this one does not `wait`.
    """
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def remove_leftovers(parent: Path) -> None:
    """Remove the private folders that killed processes of this user left in `parent`."""
    with os.scandir(parent) as entries:
        names = [
            entry.name
            for entry in entries
            if _PRIVATE.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
        ]
    for name in names:
        folder = parent / name
        try:
            descriptor = os.open(folder / _LOCK, os.O_RDWR | _NO_LINK)
        except OSError:
            with suppress(OSError):  # It is empty, or belongs to another user.
                folder.rmdir()
            continue
        try:
            lock(descriptor)
            _remove_private(folder)
        except OSError:  # The process that made it lives.
            continue
        finally:
            os.close(descriptor)


def _remove_private(folder: Path) -> None:
    """Remove a private folder, the lock last: while it is there, the folder can be recognized."""
    with suppress(OSError):
        remove_tree(folder, last=_LOCK)


def remove_tree(folder: Path, last: str) -> None:
    """Remove a folder; the file `last` in it goes after all others."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != last:
            path.unlink()
    (folder / last).unlink(missing_ok=True)
    folder.rmdir()


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Name `path` in an error of the system that names no file, as that of a full disk."""
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            if error.filename is None:
                error.filename = os.fspath(path)
        elif codes := [code for sign, code in DISK_ERRORS.items() if sign in str(error)]:
            raise OSError(codes[0], os.strerror(codes[0]), os.fspath(path)) from error
        raise


def write_text(path: Path, text: str) -> None:
    """Write `text` atomically as UTF-8."""
    with write_atomically(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: Path, value: object) -> None:
    """Write `value` atomically as UTF-8 JSON; equal values give equal bytes."""
    with write_atomically(path) as partial, partial.open("w", encoding="utf-8") as file:
        # Piece by piece: the text may be as large as the value.
        json.dump(value, file, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
        file.write("\n")


def require_ordinary(path: Path) -> None:
    """Raise `InputError` for a FIFO, socket or device: reading one may never end."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{path}: a FIFO, socket or device; expected a file")


def read_json(path: Path) -> Any:
    """Read a JSON file; raise `InputError` naming the file and line where it is broken."""
    require_ordinary(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (ValueError, RecursionError) as error:
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{path}{line}: not valid JSON ({error})") from error


def sync(path: Path) -> None:
    """Make the system write a file, or the entries of a folder, to the disk."""
    if sys.platform == "win32" and path.is_dir():
        return  # Windows opens no folders, and writes their entries itself.
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with named_errors(path):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- Arrays ------------------------------------------------------------------------------------


def write_arrays(
    path: Path, arrays: "Mapping[str, Array]", metadata: Mapping[str, str] | None = None
) -> None:
    """Write arrays atomically as a safetensors file; equal arrays and metadata give equal bytes.

    The library orders metadata at random, so they are one item at most.
    """
    import numpy as np
    from safetensors.numpy import save_file

    assert len(metadata or {}) < 2
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    with write_atomically(path) as partial:
        save_file(contiguous, partial, dict(metadata) if metadata else None)


def read_arrays(path: Path) -> "tuple[dict[str, Array], dict[str, str]]":
    """Read all arrays of a safetensors file, and its metadata."""
    from safetensors import safe_open

    with _whole_safetensors(path), safe_open(path, framework="np") as stored:
        arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        return arrays, dict(stored.metadata() or {})


def map_arrays(path: Path) -> "dict[str, Array]":
    """Open all arrays of a safetensors file; memory holds the parts that are looked at.

    The file begins with eight bytes: the size of the header, which says where the arrays lie.

    Raises:
        InputError: A number is of a kind that NumPy does not have, such as BF16.
    """
    import numpy as np
    from safetensors import safe_open

    with _whole_safetensors(path), safe_open(path, framework="np"), path.open("rb") as file:
        first = 8 + int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(first - 8))
    header.pop("__metadata__", None)
    arrays: dict[str, Array] = {}
    for name, tensor in header.items():
        if tensor["dtype"] not in _NUMBERS:
            raise InputError(f"{path}: has {tensor['dtype']}; expected {', '.join(_NUMBERS)}")
        dtype, shape = _NUMBERS[tensor["dtype"]], tuple(tensor["shape"])
        if 0 in shape:  # Nothing cannot be mapped.
            arrays[name] = np.zeros(shape, dtype)
        else:  # A plain view, as of `open_mapped`.
            place = first + tensor["data_offsets"][0]
            arrays[name] = np.asarray(np.memmap(path, dtype, "r", place, shape))
    return arrays


@contextmanager
def _whole_safetensors(path: Path) -> Iterator[None]:
    """Say which file is missing, or no whole safetensors file."""
    from safetensors import SafetensorError

    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (SafetensorError, OSError) as error:
        raise DamagedError(f"{path}: no whole safetensors file ({error})") from error


def create_mapped(path: Path, dtype: "npt.DTypeLike", shape: tuple[int, ...]) -> "Array":
    """Create a .npy file that is filled through a memory map, and return the map.

    The disk sets all bytes aside first. Without that, a full disk would end the process (SIGBUS).
    """
    import numpy as np

    if 0 in shape:  # An empty file cannot be mapped.
        np.save(path, np.zeros(shape, dtype))
        return np.zeros(shape, dtype)
    array = np.lib.format.open_memmap(path, "w+", dtype, shape)
    if sys.platform == "linux":
        with path.open("r+b") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    raise
    return array


def open_mapped(path: Path) -> "Array":
    """Open a .npy file for reading; memory holds the parts that are looked at."""
    import numpy as np

    try:
        # A plain view: each slice of a `memmap` would be another `memmap`.
        return np.asarray(np.lib.format.open_memmap(path, mode="r"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (ValueError, OSError, EOFError) as error:
        raise DamagedError(f"{path}: no whole .npy file ({error})") from error


# --- Fingerprints ------------------------------------------------------------------------------


def stamp_of(path: Path) -> tuple[int, int, int, int]:
    """Return what tells a file from one that takes its place; zeros where there is none."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return 0, 0, 0, 0
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def fingerprint_file(path: Path) -> str:
    """Return the BLAKE2b-160 of a file's bytes, hexadecimal."""
    require_ordinary(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=20)).hexdigest()


def fingerprint_once(path: Path) -> str:
    """Return `fingerprint_file(path)`; a file that stays is read once in a process."""
    return _fingerprint_of(path, stamp_of(path))


@lru_cache(maxsize=1_024)
def _fingerprint_of(path: Path, _: tuple[int, ...]) -> str:
    return fingerprint_file(path)


def fingerprint_value(value: object) -> str:
    """Return the BLAKE2b-160 of a value's canonical JSON, hexadecimal."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


# --- Paths -------------------------------------------------------------------------------------


def is_inside(name: str) -> bool:
    """Return whether a relative path with "/" leads to something below its folder."""
    path = PurePosixPath(name)
    plain = path.as_posix() == name and "\\" not in name and "\0" not in name
    return plain and bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def cache_folder() -> Path:
    """Return the folder of downloads: `$FIRTH_CACHE`, else `firth` among the user's caches."""
    if named := os.environ.get("FIRTH_CACHE"):
        return Path(named)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "firth"
    except RuntimeError:
        raise InputError(
            "the user has no home folder. Name one for downloads: FIRTH_CACHE"
        ) from None
