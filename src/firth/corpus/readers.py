"""Files of records: one reader for each format. A broken record never costs a good one.

Files are decompressed by stock decompressors, and no line is held beyond `max_record_bytes`.
"""

import bz2
import csv
import gzip
import json
import lzma
import os
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path, PurePath
from typing import Any

from firth.corpus.document import (
    Document,
    Item,
    Problem,
    Reason,
    checked,
    columns_of,
    missing,
    record_of,
)
from firth.corpus.pages import joined, markdown_blocks, read_html, read_pdf
from firth.run.errors import first_line, require
from firth.run.settings import CorpusSettings

Advance = Callable[[int], None]
"""It is called with the number of bytes of the file that were read since the last call."""

_FORMATS = {
    ".txt": "text", ".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html",
    ".pdf": "pdf", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json-lines": "jsonl",
    ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet",
}  # fmt: skip
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_PACKED = (*_OPENERS, ".zst")
_WHOLE = ("pdf", "parquet")
"""Formats that are not read inside a compressed file."""
_LIBRARIES = {"html": ("selectolax", "documents", "HTML"), "pdf": ("pypdfium2", "documents", "PDF"),
              "parquet": ("pyarrow", "documents", "Parquet")}  # fmt: skip
_KNOWN = (
    ".txt .md .markdown .html .htm .json .jsonl .ndjson .json-lines .csv .tsv (each also .gz .bz2 "
    ".xz .zst) .parquet .pdf"
)
READERS = "firth.readers"
"""Entry-point group: an extension → a function from a path to records."""
_BLOCK = 1 << 16
_ZSTD_BLOCK = 1 << 8
"""Bytes of a .zst file that are fed at once: 8 bytes can unpack to 128 KiB."""
_LARGEST_JSON = 1 << 29
"""Bytes of a .json file, which is held in memory."""
_PARQUET_BYTES = 1 << 28
"""Bytes that the rows decoded at once may take for each column."""
_MOST_UNPACKED, _TIMES = 1 << 26, 1_000
"""Bytes of text that a Parquet file may hold, and how many more for each of its own bytes."""


@dataclass(frozen=True)
class Source:
    """A file of documents, with its format (as `jsonl`) and the extension of its compression.

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


def format_of(path: PurePath) -> tuple[str, str] | None:
    """Return format and compression of a file by its extensions; None where they are unknown."""
    packing = path.suffix.lower()
    if packing not in _PACKED:
        plain = _FORMATS.get(packing)
        if plain is None and packing.removeprefix(".") in added_readers():
            plain = packing.removeprefix(".")
        return (plain, "") if plain else None
    inner = _FORMATS.get(path.with_suffix("").suffix.lower())
    return None if inner is None or inner in _WHOLE else (inner, packing)


@cache
def added_readers() -> Mapping[str, EntryPoint]:
    """Return extension without its dot → entry point of a reader that another package brings.

    It is a function from a path to records, which are mappings with a field `text`, as in a file of
    JSON lines. Formats that firth reads itself stay its own.
    """
    points = {p.name.lower().removeprefix("."): p for p in entry_points(group=READERS)}
    return {name: point for name, point in points.items() if f".{name}" not in _FORMATS}


def known_extensions() -> str:
    """Return the extensions that firth and other packages read, as a message names them."""
    return " ".join([_KNOWN, *(f".{name}" for name in sorted(added_readers()))])


def _read_added(source: Source, settings: CorpusSettings) -> Iterator[Item]:
    """Yield the records of a reader of another package; an error of it ends the file alone."""
    read: Callable[[Path], Iterable[object]] = added_readers()[source.format].load()
    number = 0
    try:
        for number, record in enumerate(read(Path(source.path)), start=1):
            if isinstance(record, Mapping):
                yield from record_of(record, source.name, number, settings)
            else:
                detail = f"{type(record).__name__}, expected a mapping with a field text"
                yield Problem(source.name, number, Reason.NOT_TEXT, detail)
    except Exception as error:  # noqa: BLE001
        detail = f"the reader of .{source.format} failed: {first_line(error)}"
        yield Problem(source.name, number + 1, Reason.CORRUPT, detail)


def require_reader(kind: tuple[str, str], name: str) -> None:
    """Raise `MissingExtraError` where the library that reads a format is not installed."""
    if kind[0] in _LIBRARIES:
        module, extra, what = _LIBRARIES[kind[0]]
        require(module, extra, f"{name}: reading {what}")
    if kind[1] == ".zst":
        require("zstandard", "documents", f"{name}: reading .zst")


def read_source(source: Source, settings: CorpusSettings, advance: Advance) -> Iterator[Item]:
    """Yield the documents of a file in order, and a problem for each record that is not used."""
    limit = settings.max_record_bytes
    if source.format in added_readers():
        yield from _read_added(source, settings)
        advance(source.size)
    elif source.format == "parquet":
        yield from _read_parquet(source, settings)
        advance(source.size)
    elif source.format == "pdf":
        yield from read_pdf(source.name, source.path, limit)
        advance(source.size)
    else:
        lines = read_lines(source, limit, advance)
        if source.format == "jsonl":
            yield from _read_json_lines(source.name, lines, settings)
        elif source.format == "json":
            yield from _read_json(source.name, lines, settings)
        elif source.format in ("csv", "tsv"):
            yield from _read_table(source, lines, settings)
        elif source.format == "html":
            yield from _read_page(source.name, lines, limit)
        elif settings.lines and source.format == "text":
            yield from _read_each_line(source.name, lines, limit)
        else:
            yield from _read_text(source, lines, limit)


# --- Lines -------------------------------------------------------------------------------------


class _BrokenError(Exception):
    """A stream or a row is broken; the arguments are reason and detail."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, counted from 1, without its end.

    Its flaw is None; or TOO_LONG, without content; or TRUNCATED or CORRUPT for the last line, whose
    content is what came before the break.
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
        max_bytes = _LARGEST_JSON
    for line in _split(_blocks(source, advance), max_bytes):
        if line.number == 1 and line.content.startswith(b"\xef\xbb\xbf"):
            line = replace(line, content=line.content[3:])
        yield line


def _split(blocks: Iterator[bytes], max_bytes: int) -> Iterator[Line]:
    number, size = 1, 0
    held: list[bytes] = []

    def whole(last: bytes) -> Line:
        if size > max_bytes:
            detail = f"over {max_bytes:,} bytes (corpus.max_record_bytes)"
            return Line(number, b"", Reason.TOO_LONG, detail)
        return Line(number, (b"".join(held) + last).removesuffix(b"\r"))

    try:
        for block in blocks:
            *ended, rest = block.split(b"\n")
            for piece in ended:
                size += len(piece)
                yield whole(piece)
                number, size = number + 1, 0
                held.clear()
            size += len(rest)
            if size > max_bytes:
                held.clear()
            else:
                held.append(rest)
    except _BrokenError as broken:
        yield Line(number, b"".join(held), *broken.args)
    else:
        if size:
            yield whole(b"")


def _blocks(source: Source, advance: Advance) -> Iterator[bytes]:
    """Yield unpacked blocks; raise `_BrokenError` after all that could be unpacked."""
    used = 0
    with open(source.path, "rb") as file:
        if source.packing == ".zst":
            unpacked = _zstd(file)
        else:
            stream: Any = _OPENERS[source.packing](file) if source.packing else file
            unpacked = iter(lambda: stream.read1(_BLOCK), b"")
        while True:
            try:
                block = next(unpacked, None)
            except EOFError:
                detail = "the file ends in the middle of packed data"
                raise _BrokenError(Reason.TRUNCATED, detail) from None
            except (OSError, zlib.error, lzma.LZMAError) as error:
                detail = f"cannot be unpacked further ({error})"
                raise _BrokenError(Reason.CORRUPT, detail) from None
            if block is None:
                return
            yield block
            advance(file.tell() - used)
            used = file.tell()


def _zstd(file: Any) -> Iterator[bytes]:
    """Yield unpacked blocks; the library's own reader takes a truncated file for a whole one."""
    import zstandard

    unpacker = None
    while piece := file.read(_ZSTD_BLOCK):
        block = b""
        while piece:
            unpacker = unpacker or zstandard.ZstdDecompressor().decompressobj()
            try:
                block += unpacker.decompress(piece)
            except zstandard.ZstdError as error:
                yield block
                raise OSError(str(error)) from None
            if not unpacker.eof:
                break
            piece, unpacker = unpacker.unused_data, None
        yield block
    if unpacker is not None:
        raise EOFError


# --- Text --------------------------------------------------------------------------------------


def _read_text(source: Source, lines: Iterator[Line], limit: int) -> Iterator[Item]:
    """Yield one document for a file, or one for each part of `limit` bytes.

    A bad line is left out and leaves a paragraph border.
    """
    held: list[str] = []
    first, size, parts, problems = 1, 0, 0, 0

    def document(part: list[str], id: str) -> Item:
        text, headings = "\n".join(part), tuple[int, ...]()
        if source.format == "markdown":
            text, headings = joined(markdown_blocks(text))
        document = Document(id=id, text=text, source=source.name, line=first, headings=headings)
        return checked(document, limit)

    for line in lines:
        text, problem = _text_of(line, source.name)
        if problem is not None:
            problems += 1
            yield problem
        added = len(text.encode()) + 1
        while held and size + added > limit:
            borders = (i for i in range(len(held) - 1, 0, -1) if not held[i].strip())
            cut = next(borders, len(held))
            if any(held_line.strip() for held_line in held[:cut]):
                yield document(held[:cut], f"{source.name}:{first}")
            size -= sum(len(held_line.encode()) + 1 for held_line in held[:cut])
            parts, first, held = parts + 1, first + cut, held[cut:]
        held.append(text)
        size += added
    if any(held_line.strip() for held_line in held) or not (parts or problems):
        yield document(held, f"{source.name}:{first}" if parts else source.name)


def _read_each_line(source: str, lines: Iterator[Line], limit: int) -> Iterator[Item]:
    """Yield a document for each line; a line of white space is none."""
    for line in lines:
        text, problem = _text_of(line, source)
        if problem is not None:
            yield problem
        elif text.strip():
            id = f"{source}:{line.number}"
            document = Document(id=id, text=text, source=source, line=line.number)
            yield checked(document, limit)


def _text_of(line: Line, source: str) -> tuple[str, Problem | None]:
    def problem(reason: Reason, detail: str) -> Problem:
        return Problem(source, line.number, line.flaw or reason, line.detail or detail)

    try:
        text = line.content.decode()
    except UnicodeDecodeError as error:
        if line.flaw is None or error.end < len(line.content):
            return "", problem(Reason.INVALID_UTF8, _not_utf8(error))
        text = line.content[: error.start].decode()  # The break cut a character in two.
    if "\0" in text:
        return "", problem(Reason.NUL, f"NUL at character {text.index(chr(0))}")
    return text, None if line.flaw is None else problem(line.flaw, line.detail)


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"byte {error.object[error.start]:#04x} at position {error.start}: {error.reason}"


def _read_page(source: str, lines: Iterator[Line], limit: int) -> Iterator[Item]:
    """Yield one document for an HTML file; the part before a break is kept."""
    page, problem = _whole(source, lines, limit, "corpus.max_record_bytes")
    if problem is not None:
        yield problem
    if problem is None or problem.reason is not Reason.TOO_LONG:
        yield from read_html(source, page, limit)


def _whole(
    source: str, lines: Iterator[Line], limit: int, remedy: str
) -> tuple[bytes, Problem | None]:
    """Return a file up to a break, and what is wrong with it; it must not exceed the limit."""
    held, size = [], 0
    for line in lines:
        size += len(line.content) + 1
        held.append(line.content)
        if size > limit:
            detail = f"over {limit:,} bytes ({remedy})"
            return b"", Problem(source, line.number, Reason.TOO_LONG, detail)
        if line.flaw is not None:
            return b"\n".join(held), Problem(source, line.number, line.flaw, line.detail)
    return b"\n".join(held), None


# --- JSON --------------------------------------------------------------------------------------


def _read_json_lines(
    source: str, lines: Iterator[Line], settings: CorpusSettings
) -> Iterator[Item]:
    """Yield one record for each line; a line of white space is none."""
    for line in lines:
        items: list[Item] = []
        if line.content.strip():
            value = _parsed(line.content, source, line.number)
            items = list(_from_json(value, source, line.number, settings))
        # With a flaw, only a record that was whole just before the break is kept.
        if line.flaw is None or any(isinstance(item, Document) for item in items):
            yield from items
        if line.flaw is not None:
            yield Problem(source, line.number, line.flaw, line.detail)


def _parsed(content: bytes, source: str, line: int) -> Any:
    try:
        return json.loads(content.decode())
    except UnicodeDecodeError as error:
        return Problem(source, line, Reason.INVALID_UTF8, _not_utf8(error))
    except (ValueError, RecursionError) as error:
        return Problem(source, line, Reason.BROKEN_JSON, str(error))


def _from_json(value: object, source: str, line: int, settings: CorpusSettings) -> Iterator[Item]:
    if isinstance(value, Problem):
        yield value
    elif isinstance(value, dict):
        yield from record_of(value, source, line, settings)
    else:
        what = f"got {type(value).__name__}, expected an object"
        detail = f"{what} with field {settings.text_field!r}"
        yield Problem(source, line, Reason.NOT_AN_OBJECT, detail)


def _read_json(source: str, lines: Iterator[Line], settings: CorpusSettings) -> Iterator[Item]:
    """Yield the records of an array, or of the only array in an object, or the object as one.

    Records are numbered from 1, as lines are.
    """
    content, problem = _whole(source, lines, _LARGEST_JSON, "use JSON lines, .jsonl")
    value = problem or _parsed(content, source, 0)
    if isinstance(value, dict) and not {*columns_of(tuple(value), settings).text} & {*value}:
        arrays = [array for array in value.values() if isinstance(array, list)]
        value = arrays[0] if len(arrays) == 1 else value
    for number, record in enumerate(value if isinstance(value, list) else [value], 1):
        yield from _from_json(record, source, number, settings)


# --- Tables ------------------------------------------------------------------------------------

_SURROGATE = re.compile("[\udc80-\udcff]")


def _read_table(source: Source, lines: Iterator[Line], settings: CorpusSettings) -> Iterator[Item]:
    """Yield the records of a .csv (RFC 4180) or .tsv (no quoting) file.

    The first row names the columns. A row with another number of fields is broken. Without a usable
    first row the file is broken.
    """
    header: list[str] | None = None
    for line, row in _Rows(lines, source.format == "csv", settings.max_record_bytes):
        if isinstance(row, _BrokenError):
            yield Problem(source.name, line, *row.args)
            if header is None:
                return
        elif header is None:
            header = [name.strip() for name in row]
            wanted = columns_of(tuple(header), settings).text
            if lacking := [name for name in wanted if name not in header]:
                yield missing(source.name, line, lacking[0], header)
                return
        elif any(not value.isascii() and _SURROGATE.search(value) for value in row):
            yield Problem(source.name, line, Reason.INVALID_UTF8, "bytes that are not UTF-8")
        else:
            record = dict(zip(header, row, strict=True))
            yield from record_of(record, source.name, line, settings)


class _Rows:
    """Rows of a table as (line, fields or what is wrong); the first row sets their length.

    After one stray quote the `csv` module would read on through the whole file. Here a row that is
    broken gives back all but its first line, so that only that line is lost. Lines that were given
    back are not read on from again, or the time would grow with the square of their number.
    """

    def __init__(self, lines: Iterator[Line], quoted: bool, max_bytes: int) -> None:
        self._lines, self._quoted, self._max_bytes = lines, quoted, max_bytes
        self._fields: int | None = None
        self._given_back: deque[Line] = deque()
        self._break = 0
        csv.field_size_limit(max(csv.field_size_limit(), max_bytes))

    def __iter__(self) -> Iterator[tuple[int, list[str] | _BrokenError]]:
        while (first := self._next()) is not None:
            used = [first]
            try:
                if first.flaw is not None:
                    raise _BrokenError(first.flaw, first.detail)
                if first.content:
                    yield first.number, self._row(used)
            except _BrokenError as broken:
                self._break = max(self._break, used[-1].number)
                self._given_back.extendleft(reversed(used[1:]))
                yield first.number, broken

    def _next(self) -> Line | None:
        return self._given_back.popleft() if self._given_back else next(self._lines, None)

    def _row(self, used: list[Line]) -> list[str]:
        if self._quoted:
            try:
                row = next(csv.reader(self._text(used), strict=True))
            except csv.Error as error:
                raise _BrokenError(Reason.BROKEN_ROW, str(error)) from None
        else:
            row = _decoded(used[0]).split("\t")
        self._fields = self._fields or len(row)
        if len(row) != self._fields:
            detail = f"{len(row)} fields, the first row has {self._fields}"
            raise _BrokenError(Reason.BROKEN_ROW, detail)
        return row

    def _text(self, used: list[Line]) -> Iterator[str]:
        """Yield the first line of a row, then more while the row goes on."""
        yield _decoded(used[0]) + "\n"
        size = len(used[0].content)
        if used[0].number < self._break:
            detail = f"a quote is not closed, as in the lines before; they break at {self._break}"
            raise _BrokenError(Reason.BROKEN_ROW, detail)
        while (line := self._next()) is not None:
            used.append(line)
            size += len(line.content) + 1
            if line.flaw is not None:
                raise _BrokenError(Reason.BROKEN_ROW, f"in quotes at line {line.number}")
            if size > self._max_bytes:
                detail = f"a quote is not closed within {self._max_bytes:,} bytes"
                raise _BrokenError(Reason.TOO_LONG, detail)
            yield _decoded(line) + "\n"
        raise _BrokenError(Reason.BROKEN_ROW, "a quote is never closed")


def _decoded(line: Line) -> str:
    """Return a line as `csv` needs it: a lone carriage return, which ends a row, is a blank."""
    return line.content.replace(b"\r", b" ").decode(errors="surrogateescape")


def _read_parquet(source: Source, settings: CorpusSettings) -> Iterator[Item]:
    """Yield one record for each row; a row group is left out from its first broken batch on.

    A few hundred bytes can stand for any number of equal rows, so what they unpack to has a bound.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = 1
    try:
        file = pq.ParquetFile(source.path, memory_map=True)
        names = file.schema_arrow.names
    except (pa.ArrowException, OSError) as error:
        yield Problem(source.name, 1, Reason.CORRUPT, first_line(error))
        return
    with file:
        columns = columns_of(tuple(names), settings)
        if lacking := [name for name in columns.text if name not in names]:
            yield missing(source.name, 1, lacking[0], names)
            return
        wanted = {columns.id, columns.title, columns.date, *columns.text, *settings.fields}
        wanted |= {settings.group_by} if settings.group_by else set()
        most = left = _MOST_UNPACKED + _TIMES * source.size
        for group in range(file.num_row_groups):
            about = file.metadata.row_group(group)
            start = row
            try:
                # Each row may repeat what a column stores once.
                stored = map(about.column, range(about.num_columns))
                largest = max(column.total_uncompressed_size for column in stored)
                if largest > left:
                    raise _BrokenError
                size = max(1, min(64, _PARQUET_BYTES // max(1, largest)))
                chosen = [name for name in names if name in wanted]
                for batch in file.iter_batches(size, row_groups=[group], columns=chosen):
                    read = [_column(column) for column in batch.columns]
                    texts = (cell for cells in read for cell in cells if isinstance(cell, str))
                    left -= max(batch.nbytes, sum(map(len, texts)))  # A dictionary has few bytes.
                    if left < 0:
                        raise _BrokenError
                    for values in zip(*read, strict=True):
                        record = dict(zip(chosen, values, strict=True))
                        yield from record_of(record, source.name, row, settings)
                        row += 1
            except _BrokenError:
                detail = f"rows {row:,} and later: the file unpacks to more than {most:,} bytes"
                yield Problem(source.name, row, Reason.COSTLY, detail)
                return
            except (pa.ArrowException, OSError, ValueError) as error:
                detail = f"rows {row:,} to {start + about.num_rows - 1:,} of row group {group}: "
                yield Problem(source.name, row, Reason.CORRUPT, detail + first_line(error))
            row = start + about.num_rows


def _column(column: Any) -> list[Any]:
    """Return the values of an Arrow column: texts, numbers, dates as text, and lists of them.

    Strings are decoded here, because neither Parquet nor Arrow promises that they are valid UTF-8.
    Bytes that are not UTF-8 stay bytes.
    """
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_timestamp(kind):
        column = column.cast(pa.timestamp(kind.unit, "UTC" if kind.tz else None))
    if types.is_timestamp(kind) or types.is_date(kind):  # Python cannot hold every year.
        return list(column.cast(pa.string()).to_pylist())
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    if text or types.is_binary(kind) or types.is_large_binary(kind):
        return [_utf8(value) for value in column.cast(pa.large_binary()).to_pylist()]
    if types.is_nested(kind) and not (types.is_list(kind) or types.is_large_list(kind)):
        return [None] * len(column)
    return list(column.to_pylist())


def _utf8(value: bytes | None) -> str | bytes | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return value
