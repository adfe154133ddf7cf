"""From what the user names (files, folders, globs, `hub:NAME`) to the list of sources to read."""

import glob
import importlib.util
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

from firth.run.errors import InputError, MissingExtraError
from firth.run.files import fingerprint_file

HUB = "hub:"


class Format(StrEnum):
    """How documents stand in a file."""

    TEXT = "txt"
    JSON_LINES = "jsonl"
    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    HUB = "hub"


class Compression(StrEnum):
    """How a file is packed."""

    NONE = ""
    GZIP = ".gz"
    ZSTD = ".zst"


_ENDINGS = {
    ".txt": Format.TEXT,
    ".jsonl": Format.JSON_LINES,
    ".ndjson": Format.JSON_LINES,
    ".json-lines": Format.JSON_LINES,
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".parquet": Format.PARQUET,
}
KNOWN = ".txt .jsonl .ndjson .json-lines .csv .tsv (each also .gz .zst) .parquet"


@dataclass(frozen=True)
class Source:
    """One file, or one data set of the hub.

    Attributes:
        name: What the source is called in document names, manifests and messages: the path from
            the folder the user named, that folder included; for a single file its own name. It
            does not depend on where the corpus lies. Sources whose names would be equal are told
            apart by as many enclosing folders as that needs.
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


def resolve_inputs(inputs: Sequence[str | Path]) -> list[Source]:
    """The sources behind `inputs`, in their order; folders sorted, a file named twice kept once.

    Args:
        inputs: Files, folders (walked recursively; hidden files and files of other endings are
            left out), globs (`**` allowed) or `hub:NAME`.

    Raises:
        InputError: With every input that is absent, empty, unreadable or of an unknown ending.
        MissingExtraError: If the hub is named and `datasets` is not installed.
    """
    problems: list[str] = []
    found: dict[str, tuple[PurePosixPath, Source]] = {}
    if not inputs:
        problems.append("none given")
    for given in map(str, inputs):
        if given.startswith(HUB):
            name = given.removeprefix(HUB)
            if importlib.util.find_spec("datasets") is None:
                raise MissingExtraError(given, "hub")
            if not name:
                problems.append(f"{given!r}: expected hub:NAME, hub:NAME:CONFIG:SPLIT")
            found[given] = (PurePosixPath(given), Source(given, name, Format.HUB))
            continue
        for path, root in _expand(given, problems):
            kind = _format(path)
            if kind is None:
                problems.append(f"{path}: unknown ending; known are {KNOWN}")
            elif not os.access(path, os.R_OK):
                problems.append(f"{path}: no permission to read it")
            else:
                absolute = Path(os.path.abspath(path))
                name = absolute.relative_to(Path(os.path.abspath(root)).parent).as_posix()
                source = Source(name, str(path), *kind)
                found.setdefault(str(path.resolve()), (PurePosixPath(absolute.as_posix()), source))
    if problems:
        listed = "".join(f"\n  - {problem}" for problem in problems)
        raise InputError(f"inputs that cannot be read:{listed}")
    return _told_apart(list(found.values()))


def _expand(given: str, problems: list[str]) -> list[tuple[Path, Path]]:
    """(file, root its name starts at) behind one input."""
    given = os.path.expanduser(given)
    path = Path(given)
    if path.is_dir():
        return _walk(path, problems)
    if path.exists():
        return [(path, path)]
    if not glob.has_magic(given):
        problems.append(f"{given}: no such file or folder")
        return []
    matches = sorted(glob.glob(given, recursive=True))
    files = [Path(match) for match in matches if os.path.isfile(match)]
    if not files:
        problems.append(f"{given}: matches no file")
    fixed = list(Path(given).parts)
    while any(glob.has_magic(part) for part in fixed):
        fixed.pop()
    root = Path(*fixed)
    return [(file, root) for file in files]


def _walk(folder: Path, problems: list[str]) -> list[tuple[Path, Path]]:
    files = []
    for where, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        files += [Path(where, name) for name in names if not name.startswith(".")]
    known = sorted((file for file in files if _format(file)), key=lambda file: file.parts)
    if not known:
        other = f" ({len(files)} of other endings)" if files else ""
        problems.append(f"{folder}: no file with a known ending in it{other}; known are {KNOWN}")
    return [(file, folder) for file in known]


def _format(path: Path) -> tuple[Format, Compression] | None:
    ending = path.suffix.lower()
    if ending in (Compression.GZIP, Compression.ZSTD):
        inner = _ENDINGS.get(path.with_suffix("").suffix.lower())
        if inner is None or inner is Format.PARQUET:
            return None
        return inner, Compression(ending)
    plain = _ENDINGS.get(ending)
    return (plain, Compression.NONE) if plain else None


def _told_apart(found: list[tuple[PurePosixPath, Source]]) -> list[Source]:
    names = [source.name for _, source in found]
    while len(set(names)) < len(names):
        uses = Counter(names)
        for index, (path, _) in enumerate(found):
            if uses[names[index]] > 1:
                depth = len(PurePosixPath(names[index]).parts) + 1
                names[index] = "/".join(path.parts[-depth:])
    return [
        Source(name, source.path, source.format, source.compression)
        for name, (_, source) in zip(names, found, strict=True)
    ]
