"""Rows of CSV and TSV files: read with all their problems at once, written atomically."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from firth.run.errors import InputError
from firth.run.files import write_atomically

_SHOWN = 20


@dataclass
class Problems:
    """What is wrong with one file, collected to be raised together.

    Attributes:
        path: Of the file.
        found: `line 3: …`, in the order of the file.
    """

    path: Path
    found: list[str] = field(default_factory=list)

    def add(self, line: int, problem: str) -> None:
        """Note a problem of a line (counted from 1, the header included)."""
        self.found.append(f"line {line}: {problem}")

    def check(self, remedy: str = "") -> None:
        """Raise `InputError` with the problems found so far, the first 20 spelt out; else nothing.

        Args:
            remedy: What to do about them, added as a last line.
        """
        if not self.found:
            return
        count = f"{len(self.found):,} problem{'s' if len(self.found) > 1 else ''}"
        lines = [f"  - {problem}" for problem in self.found[:_SHOWN]]
        if len(self.found) > _SHOWN:
            lines.append(f"  - and {len(self.found) - _SHOWN:,} more")
        if remedy:
            lines.append(remedy)
        raise InputError("\n".join([f"{self.path}: {count}:", *lines]))


@dataclass(frozen=True)
class Rows:
    """A file with a header.

    Attributes:
        header: Names of the columns, as printed.
        rows: Line (from 1; of a quoted cell with line feeds the last one), and the cells.
        problems: Where later checks of the same file put what they find.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    problems: Problems

    def records(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Line and cells by name of column."""
        for line, cells in self.rows:
            yield line, dict(zip(self.header, cells, strict=True))


def read_rows(path: Path, needed: Sequence[str] = ()) -> Rows:
    """Read a file with a header: `.tsv` split on tabs only, without quoting; else CSV.

    A byte order mark, CRLF line ends and blank lines are accepted.

    Raises:
        InputError: The file cannot be read or is not UTF-8, has no header, lacks a column, or has
            lines with too many or too few cells (all of them named).
    """
    text = _text(path)
    problems = Problems(path)
    lines = _tabbed(text) if path.suffix == ".tsv" else _quoted(path, text)
    kept = [(number, cells) for number, cells in lines if any(cells)]
    if not kept:
        raise InputError(f"{path}: empty; expected a header{_list(needed)}")
    (first, header), rows = kept[0], kept[1:]
    if missing := [name for name in needed if name not in header]:
        problems.add(
            first,
            f"no column {', '.join(missing)}. Got: {', '.join(header)}. Expected a header"
            f"{_list(needed)}",
        )
    if len(set(header)) < len(header):
        problems.add(first, f"a column occurs twice in the header: {', '.join(header)}")
    problems.check()
    for number, cells in rows:
        if len(cells) != len(header):
            problems.add(number, f"{len(cells)} cells; the header has {len(header)}")
    problems.check()
    return Rows(header, tuple(rows), problems)


def read_lines(path: Path) -> list[tuple[int, str]]:
    """The lines of a text file that are not blank, with their numbers from 1.

    Raises:
        InputError: The file cannot be read or is not UTF-8.
    """
    lines = (line.removesuffix("\r") for line in _text(path).split("\n"))
    return [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file atomically; the same rows give the same bytes.

    Raises:
        InputError: The file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
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


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: not UTF-8 (byte {error.start} of the file). Save it as UTF-8"
        ) from error


def _tabbed(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        yield number, tuple(line.removesuffix("\r").split("\t"))


def _quoted(path: Path, text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    # Ends of lines stay as they are, so that a quoted cell may hold them.
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            yield reader.line_num, tuple(cells)
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: not CSV ({error})") from error


def _list(needed: Sequence[str]) -> str:
    return f" with {', '.join(needed)}" if needed else ""
