"""From what the user names to the list of sources to read.

Files, folders, globs; the same in a store (`s3://bucket/texts`); data sets of a hub (`hub:NAME`).
"""

import contextlib
import glob
import os
import stat
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath

from firth.corpus.formats import KNOWN, Compression, Format, format_of, matches, readable
from firth.corpus.stored import MANIFEST_BYTES, Stored, fetch_stored, find_stored, is_manifest
from firth.run.errors import InputError
from firth.run.files import fingerprint_file
from firth.run.stage import MANIFEST
from firth.run.store import is_address

HUB = "hub:"


class Reason(StrEnum):
    """Why a record, the rest of a file, or a file or folder as a whole is skipped."""

    BROKEN_JSON = "broken JSON"
    NOT_AN_OBJECT = "not a JSON object"
    MISSING_FIELD = "missing field"
    NOT_TEXT = "field is not text"
    INVALID_UTF8 = "invalid UTF-8"
    NUL = "NUL character"
    TOO_LONG = "too long"
    EMPTY = "empty text"
    BROKEN_ROW = "broken row"
    TRUNCATED = "truncated file"
    CORRUPT = "corrupt file"
    COSTLY = "costs too much to read"
    NOT_A_FILE = "not a regular file"
    UNREADABLE = "unreadable folder"
    OWN_OUTPUT = "written by firth"
    READ_ALREADY = "read already"
    BAD_DATE = "not a date of ISO 8601"
    """Only the date is lost."""


HARMLESS = frozenset({Reason.OWN_OUTPUT, Reason.READ_ALREADY})
"""What is skipped for these is said, but is no loss: it is neither counted nor an error."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What cannot be used.

    Attributes:
        source: Name of the file or folder.
        line: Line (or row) the record starts on, counted from 1; 0 for a file or folder as a whole.
        reason: What is wrong, for counting.
        detail: The same for a reader, with what was found.
    """

    source: str
    line: int
    reason: Reason
    detail: str

    def __str__(self) -> str:
        """Where and what, in one line."""
        place = f", line {self.line}" if self.line else ""
        return f"{self.source}{place}: {self.reason} ({self.detail})"


@dataclass(frozen=True)
class Source:
    r"""One file, or one data set of the hub.

    Attributes:
        name: What the source is called in document names, manifests and messages: the path from
            the folder the user named, that folder included; for a single file its own name. It
            does not depend on where the corpus lies. Sources whose names would be equal are told
            apart by as many enclosing folders as that needs. Bytes that are not UTF-8 stand as
            `\xff`.
        path: Where it lies; for the hub, the name after `hub:`.
        format: How documents stand in it.
        compression: How it is packed.
    """

    name: str
    path: str
    format: Format
    compression: Compression = Compression.NONE

    @property
    def size(self) -> int:
        """Bytes on disk; 0 for the hub."""
        return 0 if self.format is Format.HUB else os.path.getsize(self.path)

    def fingerprint(self) -> str:
        """Of the file's bytes; of the data set's revision for the hub."""
        if self.format is Format.HUB:
            from firth.corpus.hub import fingerprint_hub

            return fingerprint_hub(self.path)
        return fingerprint_file(Path(self.path))


def resolve_inputs(inputs: Sequence[str | Path], run: str | Path | None = None) -> list[Source]:
    """The sources of `find_inputs`; what lies in the folder `run` itself is refused.

    Raises:
        InputError: As there; or an input is the run that is to be built from it, or lies inside.
        MissingExtraError: As there.
    """
    if run is not None:
        own = Path(os.path.realpath(run))
        for given in map(str, inputs):
            path = Path(os.path.realpath(os.path.expanduser(given)))
            elsewhere = given.startswith(HUB) or is_address(given)
            if not elsewhere and path.is_relative_to(own):
                raise InputError(
                    f"{given}: lies inside the run {run}, whose folders firth writes and replaces; "
                    "expected documents outside of it. Name another folder with --run"
                )
    return find_inputs(inputs, run)[0]


def find_inputs(
    inputs: Sequence[str | Path], run: str | Path | None = None
) -> tuple[list[Source], list[Problem]]:
    """The sources behind `inputs`, in their order; folders sorted, a file named twice kept once.

    Args:
        inputs: Files, folders, globs (`**` allowed), each also in a store (`s3://bucket/texts`), or
            `hub:NAME`. Folders are walked recursively, links included, each folder once; hidden
            files and files of other endings are left out. What lies in a store is fetched.
        run: The run that is built from them: where it lies inside an input it is passed over.

    Returns:
        The sources; and what was met below the inputs and is not read: folders that cannot be
        listed, files that are not regular ones (a FIFO would never end), links that lead nowhere or
        to a folder that is read anyway, and folders that firth wrote.

    Raises:
        InputError: With every input that is absent, empty, unreadable or of an unknown ending; or a
            store cannot be reached, or a file in it changed before it was fetched.
        MissingExtraError: One is HTML or PDF, or in a store, and what reads it is not installed.
    """
    problems: list[str] = []
    walk = _Walk(run)
    found: dict[str, tuple[PurePosixPath, Source]] = {}
    stored: list[Stored] = []
    if not inputs:
        problems.append("none given")
    for given in map(str, inputs):
        if given.startswith(HUB):
            name = given.removeprefix(HUB)
            if not name:
                problems.append(f"{given!r}: expected hub:NAME, hub:NAME:CONFIG:SPLIT")
            found[given] = (PurePosixPath(given), Source(given, name, Format.HUB))
            continue
        if is_address(given):
            for one in _expand_stored(given, walk, problems):
                if kind := readable(PurePosixPath(one.address), one.address, problems):
                    source = Source(one.called, str(one.path), *kind)
                    absolute = PurePosixPath("/", one.address.replace("://", "/"))
                    found.setdefault(one.address, (absolute, source))
                    stored.append(one)
            continue
        for path, root in _expand(given, walk, problems):
            kind = readable(path, str(path), problems)
            if kind is not None and not os.access(path, os.R_OK):
                problems.append(f"{path}: no permission to read it")
            elif kind is not None:
                absolute = PurePosixPath(_utf8(os.path.abspath(path)))
                source = Source(_name(path, root), str(path), *kind)
                found.setdefault(os.path.realpath(path), (absolute, source))
    if problems:
        listed = "".join(f"\n  - {problem}" for problem in problems)
        raise InputError(f"inputs that cannot be read:{listed}")
    fetch_stored(stored)
    return _told_apart(list(found.values())), walk.left_out


def _expand_stored(given: str, walk: "_Walk", problems: list[str]) -> list[Stored]:
    """The files behind an address."""
    found = find_stored(given)
    walk.left_out += [
        Problem(folder, 0, Reason.OWN_OUTPUT, "a run, or a stage of one") for folder in found.own
    ]
    if not found.files and found.is_pattern:
        problems.append(f"{given}: matches none of {found.others:,} files")
    elif not found.files and not found.others:
        problems.append(f"{given}: no such file or folder")
    elif not found.files:
        problems.append(
            f"{given}: no file with a known ending there ({found.others:,} of other endings); "
            f"known are {KNOWN}"
        )
    return found.files


def _expand(given: str, walk: "_Walk", problems: list[str]) -> list[tuple[Path, Path]]:
    """(file, root its name starts at) behind one input."""
    path = Path(os.path.expanduser(given))
    if path.is_dir():
        before = len(walk.left_out)
        files, other = walk.files(path)
        if not files:
            why = [f"{other} of other endings"] if other else []
            why += [f"{left.source}: {left.reason}" for left in walk.left_out[before:]]
            seen = f" ({'; '.join(why)})" if why else ""
            problems.append(f"{path}: no file with a known ending in it{seen}; known are {KNOWN}")
        return [(file, path) for file in files]
    if path.is_file():
        return [(path, path)]
    if os.path.lexists(path):
        problems.append(f"{path}: {_kind(path)}; expected a file or folder")
    elif not glob.has_magic(given):
        problems.append(f"{given}: no such file or folder")
    else:
        fixed = next(n for n, part in enumerate(path.parts) if glob.has_magic(part))
        root = Path(*path.parts[:fixed])
        files, _ = walk.files(root, path.parts[fixed:])
        if not files:
            problems.append(f"{given}: matches no file")
        return [(file, root) for file in files]
    return []


class _Walk:
    """Files below folders, and what stands there and is not read."""

    def __init__(self, run: str | Path | None) -> None:
        self._run = None if run is None else os.path.realpath(run)
        self.left_out: list[Problem] = []

    def files(self, root: Path, pattern: Sequence[str] = ()) -> tuple[list[Path], int]:
        """Files below a folder, sorted; and the number of others.

        Links to folders come last, so that a file is called by its own path where it has one.

        Args:
            root: The folder.
            pattern: Wanted are the files whose path from there matches these parts, `**` standing
                for any number of folders; by default all files of known endings.
        """
        wanted: list[Path] = []
        other, seen, ahead = 0, {os.path.realpath(root)}, deque([root])

        def unreadable(error: OSError) -> None:
            self._leave_out(error.filename, root, Reason.UNREADABLE, str(error.strerror))

        def enters(folder: Path) -> bool:
            if pattern and not matches(folder.relative_to(root).parts, pattern, partly=True):
                return False
            real = os.path.realpath(folder)
            if real in seen:
                detail = f"a link to {_utf8(real)}"
                self._leave_out(folder, root, Reason.READ_ALREADY, detail)
                return False
            seen.add(real)
            return not self._own(folder, root)

        while ahead:
            for where, inner, names in os.walk(ahead.popleft(), onerror=unreadable):
                visible = [Path(where, name) for name in sorted(inner) if not name.startswith(".")]
                ahead += [path for path in visible if path.is_symlink()]
                inner[:] = [p.name for p in visible if not p.is_symlink() and enters(p)]
                for path in (Path(where, name) for name in names if not name.startswith(".")):
                    if pattern:
                        unwanted = not matches(path.relative_to(root).parts, pattern)
                    else:  # a link that leads nowhere may have been a folder of any name
                        unwanted = not format_of(path) and os.path.exists(path)
                    if unwanted:
                        other += 1
                    elif os.path.isfile(path):
                        wanted.append(path)
                    else:
                        self._leave_out(path, root, Reason.NOT_A_FILE, _kind(path))
            while ahead and not enters(ahead[0]):
                ahead.popleft()
        return sorted(wanted, key=lambda file: file.parts), other

    def _leave_out(self, path: str | Path, root: Path, reason: Reason, detail: str) -> None:
        self.left_out.append(Problem(_name(path, root), 0, reason, detail))

    def _own(self, folder: Path, root: Path) -> bool:
        """Whether the folder is the run, or has a manifest of firth's."""
        own = os.path.realpath(folder) == self._run
        if not own:
            with contextlib.suppress(OSError), (folder / MANIFEST).open("rb") as file:
                own = is_manifest(file.read(MANIFEST_BYTES))
        if own:
            self._leave_out(folder, root, Reason.OWN_OUTPUT, "a run, or a stage of one")
        return own


def _kind(path: Path) -> str:
    try:
        kind = stat.filemode(path.stat().st_mode)[0]
    except OSError as error:
        return f"it leads nowhere: {error.strerror}"
    return {"p": "a FIFO", "s": "a socket"}.get(kind, "a device")


def _utf8(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _name(path: str | Path, root: Path) -> str:
    start = Path(os.path.abspath(root)).parent
    return _utf8(Path(os.path.abspath(path)).relative_to(start).as_posix())


def _told_apart(found: list[tuple[PurePosixPath, Source]]) -> list[Source]:
    paths: dict[PurePosixPath, None] = {}
    names = [source.name for _, source in found]
    for index, (path, _) in enumerate(found):
        if path in paths:  # "\xff" in the one is a byte, in the other four characters
            path, names[index] = PurePosixPath(f"{path} ({index})"), f"{names[index]} ({index})"
        paths[path] = None
    while repeated := {name for name, count in Counter(names).items() if count > 1}:
        for index, path in enumerate(paths):
            if names[index] in repeated:
                depth = len(PurePosixPath(names[index]).parts) + 1
                names[index] = "/".join(path.parts[-depth:])
    return [replace(source, name=name) for name, (_, source) in zip(names, found, strict=True)]
