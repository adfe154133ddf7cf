"""Rows of CSV and TSV files: read with their lines, problems named at once, written atomically."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import zstandard

from firth.run.errors import InputError
from firth.run.files import write_atomically

_SHOWN = 20

Cells = tuple[int, list[str]]
"""Line (from 1; of a quoted cell with line feeds the last one), and the cells."""


@dataclass
class Problems:
    """What is wrong with one file, collected to be raised together."""

    path: Path
    found: list[str] = field(default_factory=list)
    _ids: dict[str, int] = field(default_factory=dict)

    def add(self, line: int, problem: str) -> None:
        """Note a problem of a line (counted from 1, the header included)."""
        self.found.append(f"line {line}: {problem}")

    def once(self, what: str, line: int, name: str) -> str:
        """The id `name`; note that it is empty, or stands in an earlier line too."""
        if not name:
            self.add(line, f"the id of the {what} is empty")
        elif (first := self._ids.setdefault(name, line)) != line:
            self.add(line, f"{what} {name!r} again; it stands in line {first}")
        return name

    def check(self) -> None:
        """Raise `InputError` with the problems found so far, the first 20 spelt out."""
        if self.found:
            more = len(self.found) - _SHOWN
            lines = [f"  - {problem}" for problem in self.found[:_SHOWN]]
            lines += [f"  - and {more:,} more"] if more > 0 else []
            count = f"{len(self.found):,} problem{'s' if len(self.found) > 1 else ''}"
            raise InputError("\n".join([f"{self.path}: {count}:", *lines]))


@dataclass(frozen=True)
class Rows:
    """A file with a header: names of the columns, rows, and where later checks note problems."""

    header: list[str]
    rows: list[Cells]
    problems: Problems

    def records(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Line and cells by name of column."""
        for line, cells in self.rows:
            yield line, dict(zip(self.header, cells, strict=True))


def read_rows(path: Path, needed: Sequence[str] = (), *, tabs: bool | None = None) -> Rows:
    """Read a file with a header: `tabs` are all that separates, without quoting; or CSV. None goes
    by the ending: `.tsv` has tabs.

    A byte order mark, CRLF line ends and blank lines are accepted.

    Raises:
        InputError: The file cannot be read or is not UTF-8, has no header, lacks a column, or has
            lines with too many or too few cells (all of them named).
    """
    tabs = path.suffix == ".tsv" if tabs is None else tabs
    kept = [row for row in read_cells(path, tabs=tabs) if any(row[1])]
    expected = f" with {', '.join(needed)}" if needed else ""
    if not kept:
        raise InputError(f"{path}: empty; expected a header{expected}")
    problems, (first, header), rows = Problems(path), kept[0], kept[1:]
    if missing := ", ".join(name for name in needed if name not in header):
        got = f"no column {missing}. Got: {listed(header)}"
        problems.add(first, f"{got}. Expected a header{expected}")
    if len(set(header)) < len(header):
        problems.add(first, f"a column occurs twice in the header: {listed(header)}")
    problems.check()
    for number, cells in rows:
        if len(cells) != len(header):
            problems.add(number, f"{len(cells)} cells; the header has {len(header)}")
    problems.check()
    return Rows(header, rows, problems)


def read_cells(path: Path, *, tabs: bool, strict: bool = True) -> Iterator[Cells]:
    """The rows of a UTF-8 file, blank lines too: split on tabs without quoting (only a line feed or
    CRLF ends a row), or CSV (`strict`: text after a closing quotation mark is an error).

    Raises:
        InputError: The file cannot be read, is not UTF-8, or is not CSV.
    """
    text = read_text(path)
    if tabs:
        for number, line in enumerate(text.split("\n"), start=1):
            yield number, line.removesuffix("\r").split("\t")
    else:
        # Ends of lines stay as they are, so that a quoted cell may hold them.
        yield from comma_separated(path, io.StringIO(text, newline=""), strict=strict)


def comma_separated(path: Path, lines: Iterable[str], *, strict: bool = True) -> Iterator[Cells]:
    """The rows of CSV lines; raise `InputError` with the line where they are no CSV."""
    reader = csv.reader(lines, strict=strict)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: not CSV ({error})") from error


def read_text(path: Path) -> str:
    """A UTF-8 file (`.gz` and `.zst` are unpacked), its byte order mark dropped; raise `InputError`
    where that cannot be done."""
    if path.exists() and not path.is_file():  # a pipe would be waited for, a device never ends
        raise InputError(f"{path}: cannot be read (not a file)")
    try:
        return _unpacked(path).decode("utf-8-sig")
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise InputError(f"{path}: cannot be unpacked ({error})") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: not UTF-8 (byte {error.start} of the file). Save it as UTF-8"
        ) from error


def _unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".zst":
        with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as stream:
            return bytes(stream.read())
    return data


def listed(names: Sequence[str]) -> str:
    """Names for a message, however many and long a broken header makes them."""
    few = [name if len(name) <= 60 else f"{name[:60]}…" for name in names[:_SHOWN]]
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(few) + more


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file atomically, equal rows as equal bytes; raise `InputError` if that fails."""
    try:
        with (
            write_atomically(path) as partial,
            partial.open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.writer(_LineFeeds(file), lineterminator="\r\n")
            writer.writerow(header)
            writer.writerows(rows)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error


class _LineFeeds:
    """Ends rows with a line feed. The csv module quotes a carriage return in a cell only if its own
    rows end with one.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, row: str) -> None:
        self._file.write(row.removesuffix("\r\n") + "\n")
