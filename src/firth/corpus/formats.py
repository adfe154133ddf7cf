"""Which files are read, and how documents stand in them: told by their names."""

import fnmatch
from collections.abc import Sequence
from enum import StrEnum
from importlib.util import find_spec
from pathlib import PurePath

from firth.run.errors import MissingExtraError


class Format(StrEnum):
    """How documents stand in a file."""

    TEXT = "txt"
    MARKDOWN = "md"
    HTML = "html"
    PDF = "pdf"
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
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".pdf": Format.PDF,
    ".jsonl": Format.JSON_LINES,
    ".ndjson": Format.JSON_LINES,
    ".json-lines": Format.JSON_LINES,
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".parquet": Format.PARQUET,
}
KNOWN = (
    ".txt .md .markdown .html .htm .jsonl .ndjson .json-lines .csv .tsv (each also .gz .zst) "
    ".parquet .pdf"
)
_EXTRA = "documents"
_LIBRARIES = {Format.HTML: "selectolax", Format.PDF: "pypdfium2"}
"""What reads them, of the extra."""


def format_of(path: PurePath) -> tuple[Format, Compression] | None:
    """How documents or rows stand in a file, by its ending; None where that is not known."""
    ending = path.suffix.lower()
    if ending in (Compression.GZIP, Compression.ZSTD):
        inner = _ENDINGS.get(path.with_suffix("").suffix.lower())
        if inner is None or inner in (Format.PARQUET, Format.PDF):
            return None
        return inner, Compression(ending)
    plain = _ENDINGS.get(ending)
    return (plain, Compression.NONE) if plain else None


def readable(path: PurePath, named: str, problems: list[str]) -> tuple[Format, Compression] | None:
    """As `format_of`; what cannot be read is added to the problems.

    Raises:
        MissingExtraError: What reads it is not installed.
    """
    kind = format_of(path)
    if kind is None:
        problems.append(f"{named}: unknown ending; known are {KNOWN}")
        return None
    library = _LIBRARIES.get(kind[0])
    if library is not None and find_spec(library) is None:
        raise MissingExtraError(named, _EXTRA)
    return kind


def matches(parts: Sequence[str], pattern: Sequence[str], partly: bool = False) -> bool:
    """Whether the parts of a path match a pattern; or with `partly`, could be the start of one."""
    if not pattern or (partly and not parts):
        return not parts
    if pattern[0] == "**":
        below = bool(parts) and matches(parts[1:], pattern, partly)
        return below or matches(parts, pattern[1:], partly)
    matched = bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0])
    return matched and matches(parts[1:], pattern[1:], partly)
