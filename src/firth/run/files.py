"""Files: claimed before work, written beside, synced and renamed; known again by content."""

import errno
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from firth.run.errors import InputError

_BLOCK = 1 << 20
_CACHE = "FIRTH_CACHE"
"""Environment variable that names the folder of the cache."""


def cache_folder() -> Path:
    """Where the platform keeps caches: `$FIRTH_CACHE` if set, else the user's own folder."""
    if named := os.environ.get(_CACHE):
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "firth"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "firth" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "firth"


def claim_file(path: Path, force: bool = False) -> None:
    """Find out before any work starts whether the file `path` may and can be written at its end.

    Args:
        path: Named by a user.
        force: Whether a file that is there may be replaced.

    Raises:
        InputError: `path` is a folder, or is there already and not to be replaced, or cannot be
            written. Missing folders above it are no hindrance: they are made when it is written.
    """
    if path.is_dir():
        raise InputError(f"{path}: a folder; expected the name of a file")
    if path.exists() or path.is_symlink():
        if not path.is_file():
            raise InputError(f"{path}: no ordinary file, so that it cannot be replaced")
        if not force:
            raise InputError(f"{path}: there already. Name another file, or replace it: --force")
    check_writable(path.parent)


def check_writable(folder: Path) -> None:
    """Raise `InputError` unless files can be made in a folder, or in what of its path is there."""
    there = folder
    while not os.path.lexists(there) and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise InputError(f"{there}: a file; expected a folder. Name another place")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: cannot be written: no permission to change {there}")


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; sync it and rename it onto `path` on success.

    Missing folders above `path` are made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        sync(partial)
        os.replace(partial, path)
        sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def reserve(path: Path) -> None:
    """Have the disk set aside all bytes of a file, where the system can do that.

    Of one that is written through a memory map, a full disk is an error here; later it would be the
    end of the process (SIGBUS).
    """
    if sys.platform != "linux":
        return
    with path.open("r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


def is_inside(name: str) -> bool:
    """Whether a path leads to something below the folder it starts from; "/" parts its parts."""
    path = PurePosixPath(name)
    plain = path.as_posix() == name and "\\" not in name and "\0" not in name
    return plain and bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def write_text(path: Path, text: str) -> None:
    """Write `text` atomically as UTF-8."""
    with write_atomically(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: Path, value: object) -> None:
    """Write `value` atomically as UTF-8 JSON; equal values give equal bytes."""
    with write_atomically(path) as partial, partial.open("w", encoding="utf-8") as file:
        # Piece by piece: its text may be as large as what is written.
        json.dump(value, file, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
        file.write("\n")


def read_json(path: Path) -> Any:
    """Read a JSON file; raise `InputError` naming the file and line where it is broken."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", "?")
        raise InputError(f"{path}, line {line}: not valid JSON ({error})") from error


def fingerprint_file(path: Path) -> str:
    """BLAKE2b-160 of a file's bytes, hexadecimal."""
    digest = hashlib.blake2b(digest_size=20)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def fingerprint_bytes(content: bytes) -> str:
    """BLAKE2b-160 of bytes, hexadecimal."""
    return hashlib.blake2b(content, digest_size=20).hexdigest()


def fingerprint_value(value: object) -> str:
    """BLAKE2b-160 of a value's canonical JSON, hexadecimal."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return fingerprint_bytes(text.encode("utf-8", "surrogatepass"))


def sync(path: Path) -> None:
    """Have the system write a file or a folder's entries to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
