"""Files of lines and of rows, packed or not: one reader for documents, pairs and labels.

A broken line or row costs no other one, but for a quote that is not closed. No line is held beyond
a bound, and what a small file may unpack to has a bound.
"""

import bz2
import csv
import gzip
import json
import lzma
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path, PurePath
from typing import Any

from firth.corpus.document import Problem, Reason
from firth.run.console import plural
from firth.run.errors import InputError, first_line
from firth.run.files import require_ordinary

Advance = Callable[[int], None]
"""It is called with the number of bytes of the file that were read since the last call."""
Select = Callable[[Sequence[str]], Collection[str]]
"""It gets the columns of a table and returns those that are read, or raises `BrokenError`."""
Row = tuple[int, Mapping[str, Any] | Problem]
"""A record, or what is wrong with it; and its first line, or its number, from 1."""

FORMATS = {
    ".txt": "text", ".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html",
    ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json-lines": "jsonl", ".csv": "csv",
    ".tsv": "tsv", ".parquet": "parquet", ".pdf": "pdf",
}  # fmt: skip
PACKINGS = (".gz", ".bz2", ".xz", ".zst")
ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
"""Module that reads .zst."""
_NEVER_PACKED = ("pdf", "parquet")
TABLES = ("json", "jsonl", "csv", "tsv", "parquet")
"""Formats whose rows are records."""
READERS = "firth.readers"
"""Entry-point group: an extension → a function from a path to records."""
_BLOCK = 1 << 16
LARGEST_JSON = 1 << 29
"""Bytes of a .json file, which is held in memory."""
_LONGEST_ROW = 32 << 20
_PARQUET_BYTES = 1 << 28
"""Bytes that the rows decoded at once may take for each column."""
_MOST_UNPACKED, _TIMES = 1 << 26, 1_000
"""Bytes that a packed file may unpack to, and how many more for each byte of the file."""
_SHOWN = 20
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True)
class Source:
    """A file, with its format (as `jsonl`) and the extension of its compression.

    Ids, manifests and messages have its name: its path from the folder that the user named, that
    folder included. It does not depend on where the folder lies.
    """

    name: str
    path: str
    format: str
    packing: str = ""

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return os.path.getsize(self.path)

    @property
    def most_unpacked(self) -> int:
        """Bytes that the file may unpack to."""
        return _MOST_UNPACKED + _TIMES * self.size


class BrokenError(Exception):
    """A stream or a row is broken; the arguments are reason and detail."""


def format_of(path: PurePath) -> tuple[str, str] | None:
    """Return format and compression of a file by its extensions; None where they are unknown."""
    packing = path.suffix.lower()
    if packing not in PACKINGS:
        plain = FORMATS.get(packing)
        if plain is None and packing.removeprefix(".") in added_readers():
            plain = packing.removeprefix(".")
        return (plain, "") if plain else None
    inner = FORMATS.get(path.with_suffix("").suffix.lower())
    return None if inner is None or inner in _NEVER_PACKED else (inner, packing)


@cache
def added_readers() -> Mapping[str, EntryPoint]:
    """Return extension without its dot → entry point of a reader that another package brings.

    It is a function from a path to records, which are mappings with a field `text`, as in a file of
    JSON lines. Formats that firth reads itself stay its own.
    """
    points = {p.name.lower().removeprefix("."): p for p in entry_points(group=READERS)}
    return {name: point for name, point in points.items() if f".{name}" not in FORMATS}


def known_extensions() -> str:
    """Return the extensions that firth and other packages read, as a message names them."""
    packed = f"(but for Parquet and PDF, each also {' '.join(PACKINGS)})"
    return " ".join([*FORMATS, packed, *(f".{name}" for name in sorted(added_readers()))])


# --- Lines -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, counted from 1, without its end.

    Its flaw is None; or TOO_LONG, without content; or TRUNCATED, CORRUPT or COSTLY for the last
    line, whose content is what came before the break.
    """

    number: int
    content: bytes
    flaw: Reason | None = None
    detail: str = ""


def read_lines(source: Source, max_bytes: int, advance: Advance) -> Iterator[Line]:
    """Yield the lines of a file, unpacked; at most `max_bytes` and one block are held.

    A byte order mark is dropped, and a carriage return before a line feed.
    """
    if source.format == "json":
        max_bytes = LARGEST_JSON
    for line in _split(_blocks(source, advance), max_bytes):
        if line.number == 1 and line.content.startswith(b"\xef\xbb\xbf"):
            line = replace(line, content=line.content[3:])
        yield line


def _split(blocks: Iterator[bytes], max_bytes: int) -> Iterator[Line]:
    number, size = 1, 0
    pieces: list[bytes] = []

    def line(last: bytes) -> Line:
        if size > max_bytes:
            detail = f"over {max_bytes:,} bytes (corpus.max_record_bytes)"
            return Line(number, b"", Reason.TOO_LONG, detail)
        return Line(number, (b"".join(pieces) + last).removesuffix(b"\r"))

    try:
        for block in blocks:
            *ended, rest = block.split(b"\n")
            for piece in ended:
                size += len(piece)
                yield line(piece)
                number, size = number + 1, 0
                pieces.clear()
            size += len(rest)
            if size > max_bytes:
                pieces.clear()
            else:
                pieces.append(rest)
    except BrokenError as broken:
        yield Line(number, b"".join(pieces), *broken.args)
    else:
        if size:
            yield line(b"")


_OPENERS: dict[str, Any] = {
    ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open,
    ".zst": lambda file: import_module(ZSTD).open(file),
}  # fmt: skip


def _blocks(source: Source, advance: Advance) -> Iterator[bytes]:
    """Yield unpacked blocks; raise `BrokenError` after all that could be unpacked."""
    used, room = 0, source.most_unpacked
    with open(source.path, "rb") as file:
        stream: Any = _OPENERS[source.packing](file) if source.packing else file
        blocks = iter(lambda: stream.read1(_BLOCK), b"")
        while True:
            try:
                block = next(blocks, None)
            except EOFError:
                detail = "the file ends in the middle of packed data"
                raise BrokenError(Reason.TRUNCATED, detail) from None
            except Exception as error:  # noqa: BLE001 - Each library has its own errors.
                detail = f"cannot be unpacked further ({error})"
                raise BrokenError(Reason.CORRUPT, detail) from None
            if block is None:
                return
            room -= len(block)
            if source.packing and room < 0:
                raise BrokenError(Reason.COSTLY, f"unpacks to over {source.most_unpacked:,} bytes")
            yield block
            advance(file.tell() - used)
            used = file.tell()


# --- Rows --------------------------------------------------------------------------------------


def read_rows(source: Source, limit: int, advance: Advance, select: Select) -> Iterator[Row]:
    """Yield the records of a file in one of the formats `TABLES`, or of a reader that was added.

    Rows of JSON are objects: lines, the items of an array, those of the only array of objects in
    an object, or the object. The first row of a .csv (RFC 4180) or .tsv (no quoting) names the
    columns. A row with another number of cells is broken; one of empty cells is none.

    Args:
        source: The file.
        limit: Bytes of the longest line or row.
        advance: Called as the file is read.
        select: Called with the columns of a .csv, .tsv or Parquet file.
    """
    if source.format in added_readers():
        yield from _added(source)
        advance(source.size)
    elif source.format == "parquet":
        yield from _parquet(source, select)
        advance(source.size)
    else:
        lines = read_lines(source, limit, advance)
        if source.format == "jsonl":
            yield from _json_lines(source.name, lines)
        elif source.format == "json":
            yield from _json(source.name, lines)
        else:
            yield from _cells(source, lines, limit, select)


def _added(source: Source) -> Iterator[Row]:
    """Yield the records of a reader of another package; an error of it ends the file alone."""
    number = 0
    try:
        reader = added_readers()[source.format].load()
        for number, record in enumerate(reader(Path(source.path)), start=1):
            yield number, _object(record, source.name, number)
    except Exception as error:  # noqa: BLE001
        detail = f"the reader of .{source.format} failed: {first_line(error)}"
        yield number + 1, Problem(source.name, number + 1, Reason.CORRUPT, detail)


def _object(value: Any, source: str, line: int) -> Mapping[str, Any] | Problem:
    if isinstance(value, Mapping | Problem):
        return value
    detail = f"got {type(value).__name__}, expected an object of named values"
    return Problem(source, line, Reason.NOT_AN_OBJECT, detail)


def _json_lines(source: str, lines: Iterator[Line]) -> Iterator[Row]:
    """Yield one record for each line; a line of white space is none."""
    for line in lines:
        if line.content.strip():
            value = _object(_parsed(line.content, source, line.number), source, line.number)
            # With a flaw, only a record that was whole just before the break is used.
            if line.flaw is None or isinstance(value, Mapping):
                yield line.number, value
        if line.flaw is not None:
            yield line.number, Problem(source, line.number, line.flaw, line.detail)


def _json(source: str, lines: Iterator[Line]) -> Iterator[Row]:
    content, problem = content_of(source, lines, LARGEST_JSON, "use JSON lines, .jsonl")
    value = problem or _parsed(content, source, 0)
    if isinstance(value, dict):
        arrays = [v for v in value.values() if isinstance(v, list) and v and isinstance(v[0], dict)]
        value = arrays[0] if len(arrays) == 1 else value
    for number, record in enumerate(value if isinstance(value, list) else [value], 1):
        yield number, _object(record, source, number)


def _parsed(content: bytes, source: str, line: int) -> Any:
    try:
        return json.loads(content.decode())
    except UnicodeDecodeError as error:
        return Problem(source, line, Reason.INVALID_UTF8, not_utf8(error))
    except (ValueError, RecursionError) as error:
        return Problem(source, line, Reason.BROKEN_JSON, str(error))


def content_of(
    source: str, lines: Iterator[Line], limit: int, remedy: str
) -> tuple[bytes, Problem | None]:
    """Return a file up to a break, and what is wrong with it; it must not exceed the limit."""
    contents, size = [], 0
    for line in lines:
        size += len(line.content) + 1
        contents.append(line.content)
        if size > limit:
            detail = f"over {limit:,} bytes ({remedy})"
            return b"", Problem(source, line.number, Reason.TOO_LONG, detail)
        if line.flaw is not None:
            return b"\n".join(contents), Problem(source, line.number, line.flaw, line.detail)
    return b"\n".join(contents), None


def not_utf8(error: UnicodeDecodeError) -> str:
    """Return which byte of a text is not UTF-8."""
    return f"byte {error.object[error.start]:#04x} at position {error.start}: {error.reason}"


def _cells(source: Source, lines: Iterator[Line], limit: int, select: Select) -> Iterator[Row]:
    """Yield the rows of a table; a quote that is not closed costs the rows up to the next one."""
    numbers, header = list[int](), list[str]()

    def text_of(line: Line) -> str:
        numbers.append(line.number)
        if line.flaw is not None:
            raise BrokenError(line.flaw, line.detail)
        # A lone carriage return would end a row.
        return line.content.replace(b"\r", b" ").decode(errors="surrogateescape") + "\n"

    texts = map(text_of, lines)
    if source.format == "csv":
        csv.field_size_limit(max(csv.field_size_limit(), limit))
        rows: Iterator[list[str]] = csv.reader(texts, strict=True)
    else:
        rows = (text[:-1].split("\t") for text in texts)
    while True:
        numbers.clear()
        try:
            row = next(rows, None)
            if row is None:
                return
            if not any(row):
                continue
            if not header:
                header = [name.strip() for name in row]
                select(header)
                continue
            if len(row) != len(header):
                detail = f"{len(row)} cells; the first row has {len(header)}"
                raise BrokenError(Reason.BROKEN_ROW, detail)
            if any(not cell.isascii() and _NOT_UTF8.search(cell) for cell in row):
                raise BrokenError(Reason.INVALID_UTF8, "bytes that are not UTF-8")
        except (csv.Error, BrokenError) as error:
            reason, detail = (
                (Reason.BROKEN_ROW, str(error)) if isinstance(error, csv.Error) else error.args
            )
            if len(numbers) > 1:
                detail += f"; lines {numbers[0]:,} to {numbers[-1]:,} are one row"
            yield numbers[0], Problem(source.name, numbers[0], reason, detail)
            if not header or reason is Reason.MISSING_FIELD:
                return
        else:
            yield numbers[0], dict(zip(header, row, strict=True))


def _parquet(source: Source, select: Select) -> Iterator[Row]:
    """Yield one record for each row; a row group is left out from its first broken batch on.

    A few hundred bytes can stand for any number of equal rows, so what they unpack to has a bound.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    row, room = 1, source.most_unpacked
    costly = BrokenError(Reason.COSTLY, f"unpacks to over {room:,} bytes")
    broken = pa.ArrowException, OSError, ValueError
    try:
        with pq.ParquetFile(source.path, memory_map=True) as file:
            columns = select(file.schema_arrow.names)
            groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]
            stored = (group.column(n) for group in groups for n in range(group.num_columns))
            # Each row may repeat what a column stores once.
            largest = max((column.total_uncompressed_size for column in stored), default=1)
            if largest > room:
                raise costly
            size = max(1, min(64, _PARQUET_BYTES // max(1, largest)))
            names = [name for name in file.schema_arrow.names if name in columns]
            for at, group in enumerate(groups):
                after = row + group.num_rows
                try:
                    for batch in file.iter_batches(size, row_groups=[at], columns=names):
                        values = [_column(column) for column in batch.columns]
                        texts = (
                            cell for cells in values for cell in cells if isinstance(cell, str)
                        )
                        room -= max(batch.nbytes, sum(map(len, texts)))  # A dictionary is small.
                        if room < 0:
                            raise costly
                        for cells in zip(*values, strict=True):
                            yield row, dict(zip(names, cells, strict=True))
                            row += 1
                except broken as error:
                    detail = f"rows {row:,} to {after - 1:,}: {first_line(error)}"
                    yield row, Problem(source.name, row, Reason.CORRUPT, detail)
                row = after
    except BrokenError as error:
        yield row, Problem(source.name, row, *error.args)
    except broken as error:
        yield row, Problem(source.name, row, Reason.CORRUPT, first_line(error))


def _column(column: Any) -> list[Any]:
    """Return the values of an Arrow column; times are texts, as Python cannot hold every year.

    Neither Parquet nor Arrow promises valid UTF-8. Bytes that are not stay bytes.
    """
    import pyarrow as pa

    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        return _column(column.dictionary_decode())
    if types.is_timestamp(kind):
        column = column.cast(pa.timestamp(kind.unit, "UTC" if kind.tz else None))
    if types.is_temporal(kind):
        column = column.cast(pa.string())
    elif types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        column = column.cast(pa.large_binary())
    return [_text(value) if isinstance(value, bytes) else value for value in column.to_pylist()]


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


# --- Whole tables ------------------------------------------------------------------------------


@dataclass
class Problems:
    """The problems of one file, collected to be raised together."""

    path: Path
    lines: list[str] = field(default_factory=list)

    def add(self, line: int, problem: str) -> None:
        """Add a problem of a line, counted from 1."""
        self.lines.append(f"line {line}: {problem}")

    def check(self) -> None:
        """Raise `InputError` with the problems added so far; it names up to 20 of them."""
        if not self.lines:
            return
        more = len(self.lines) - _SHOWN
        listed = [f"  - {problem}" for problem in self.lines[:_SHOWN]]
        listed += [f"  - and {more:,} more"] if more > 0 else []
        count = plural(len(self.lines), "problem")
        raise InputError("\n".join([f"{self.path}: {count}:", *listed]))


@dataclass(frozen=True)
class Table:
    """A table: names of the columns, and line and named cells of each record, all of them texts."""

    header: list[str]
    records: list[tuple[int, dict[str, str]]]


def read_table(path: Path) -> Table:
    """Read a whole file of records, as of labels: no bad row is left out.

    The extension gives the format; a file of another one is tab-separated. Texts, numbers, and true
    and false become cells; other values of JSON are none.

    Raises:
        InputError: With all problems and their lines.
    """
    header: list[str] = []
    problems, records = Problems(path), list[tuple[int, dict[str, str]]]()

    def select(names: Sequence[str]) -> Sequence[str]:
        header[:] = names
        return names

    for line, row in read_rows(_source(path, "tsv"), _LONGEST_ROW, lambda _: None, select):
        if isinstance(row, Problem):
            problems.add(line, f"{row.reason} ({row.detail})")
        else:
            records.append((line, dict(_texts_of(row))))
    if len(set(header)) < len(header):
        problems.lines.insert(0, f"a column name occurs twice: {listed(header)}")
    problems.check()
    names = header or list(dict.fromkeys(name for _, cells in records for name in cells))
    if not names:
        raise InputError(f"{path}: the file is empty; expected records with named values")
    return Table(names, records)


def _source(path: Path, other: str) -> Source:
    """Return a file that a user named; its format is `other` where that is no format of rows."""
    require_ordinary(path)
    try:
        path.open("rb").close()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    kind, packing = format_of(path) or ("", "")
    return Source(str(path), str(path), kind if kind in TABLES else other, packing)


def _texts_of(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, str | int | float):
            yield str(name), str(value).lower() if isinstance(value, bool) else str(value)


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file without its byte order mark; a packed one is unpacked."""
    lines = []
    for line in read_lines(_source(path, "text"), LARGEST_JSON, lambda _: None):
        try:
            lines.append(line.content.decode())
        except UnicodeDecodeError as error:
            problem = "not UTF-8. Save it as UTF-8"
            raise InputError(f"{path}, line {line.number}: {problem}") from error
        if line.flaw is not None:
            raise InputError(f"{path}, line {line.number}: {line.flaw} ({line.detail})")
    return "\n".join(lines)


def listed(names: Sequence[str]) -> str:
    """Return names for a message, shortened where there are many or long ones."""
    few = [name[:60] for name in names[:_SHOWN]]
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(few) + more
