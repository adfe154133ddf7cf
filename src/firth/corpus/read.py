"""Sources as streams of records and problems: one reader a format, none loses a good record."""

import csv
import functools
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from firth.corpus.apart import CostlyError, read_html, read_pdf
from firth.corpus.formats import Format
from firth.corpus.inputs import Problem, Reason, Source
from firth.corpus.lines import Advance, Line, read_lines
from firth.corpus.pages import UnreadableError
from firth.corpus.settings import CorpusConfig
from firth.lexical.words import has_word


@dataclass(frozen=True, slots=True)
class Record:
    """A document as read, not yet split.

    Attributes:
        source: Name of its file (see `Source.name`), the same wherever the corpus lies.
        line: Line (row of a Parquet file or hub data set) it starts on, counted from 1.
        id: Its own name, else `source:line`; that of a text or Markdown file is `source` alone.
        title: Its title, or "".
        text: Never empty: it has at least one word.
        date: Its date as `iso_date` has it, or "".
        group: What records of one document have in common (`corpus.group_by`), or "".
        flaw: What is wrong with its date, where that cannot be read.
        fields: Values of each of `corpus.fields`, in that order; () where none are kept.
    """

    source: str
    line: int
    id: str
    title: str
    text: str
    date: str = ""
    group: str = ""
    flaw: Problem | None = None
    fields: tuple[tuple[str, ...], ...] = ()


Item = Record | Problem


def read_source(source: Source, config: CorpusConfig, advance: Advance) -> Iterator[Item]:
    """The records of a source in order, and a problem for each one that cannot be used.

    Args:
        source: What to read.
        config: Names of the fields, and the longest record.
        advance: Told how many bytes on disk have been read, for a progress bar.
    """
    if source.format is Format.PARQUET:
        return _read_parquet(source, config, advance)
    if source.format is Format.HUB:
        return _read_hub(source, config)
    if source.format is Format.PDF:
        return _read_pdf(source, config.max_record_bytes, advance)
    lines = read_lines(source, config.max_record_bytes, advance)
    match source.format:
        case Format.JSON_LINES:
            return _read_json_lines(source, lines, config)
        case Format.CSV | Format.TSV:
            return _read_table(source, lines, config)
        case Format.HTML:
            return _read_html(source, lines, config.max_record_bytes)
        case _:
            return _read_text(source, lines, config.max_record_bytes)


# Records


def _record(fields: Mapping[str, object], source: str, line: int, config: CorpusConfig) -> Item:
    """The record in a mapping of field names to values, or what is wrong with it."""
    names, name = _text_fields(config), f"{source}:{line}"
    parts = {field: fields[field] for field in names if field in fields}
    if not parts:
        return Problem(source, line, Reason.MISSING_FIELD, _missing(config.text_field, fields))
    if len(names) > 1:  # what one of several lacks, the others may have
        parts = {field: part for field, part in parts.items() if part is not None}
    for field, part in parts.items():
        if not isinstance(part, str):
            detail = f"field {field!r} is {type(part).__name__}, expected a string"
            return Problem(source, line, Reason.NOT_TEXT, detail)
    text = "\n\n".join(map(str, parts.values()))
    given = _name(fields, config.id_field or "id")
    if not given and config.id_field is not None:
        return Problem(source, line, Reason.MISSING_FIELD, _missing(config.id_field, fields))
    title = fields.get("title")
    title = _clean(title) if isinstance(title, str) else ""
    said = _name(fields, config.date_field or "date")
    when = iso_date(said)
    flaw = Problem(source, line, Reason.BAD_DATE, repr(said[:40])) if said and not when else None
    group = _name(fields, config.group_by) if config.group_by else ""
    kept = tuple(_values(fields.get(field)) for field in config.fields)
    record = Record(source, line, given or name, title, text, when, group, flaw, kept)
    return _checked(record, config.max_record_bytes)


def _text_fields(config: CorpusConfig) -> list[str]:
    return [name.strip() for name in config.text_field.split(",")]


def _name(fields: Mapping[str, object], field: str) -> str:
    """A string or whole number of a record, without needless white space; else ""."""
    value = fields.get(field)
    named = isinstance(value, str | int) and not isinstance(value, bool)
    return _clean(str(value)) if named else ""


def _values(value: object) -> tuple[str, ...]:
    """What a field of a record holds, as text: one value, those of a list, or none."""
    if isinstance(value, list):
        return tuple(dict.fromkeys(text for each in value for text in _values(each)))
    if isinstance(value, bool):
        return (str(value).lower(),)
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    known = isinstance(value, str | int | float)
    return (text,) if known and (text := _clean(str(value))) else ()


def iso_date(text: str) -> str:
    """A date of ISO 8601 in one form, so that dates sort as they follow each other; "" if it is
    none.

    A time of day is kept, in UTC where its zone is given; where none is, it stands as it is.

    Example:
        >>> iso_date("20240501"), iso_date("2024-05-01 10:30:00+02:00"), iso_date("May 2024")
        ('2024-05-01', '2024-05-01T08:30:00', '')
    """
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return ""
    return moment.isoformat()


def _checked(record: Record, max_bytes: int) -> Item:
    """The record itself, or what is wrong with its text."""
    try:
        size = len(record.text.encode())
    except UnicodeEncodeError as error:
        reason, detail = Reason.INVALID_UTF8, f"half a surrogate pair at character {error.start}"
    else:
        if size > max_bytes:
            reason, detail = Reason.TOO_LONG, f"{size:,} bytes, at most {max_bytes:,} are read"
        elif "\0" in record.text:
            reason, detail = Reason.NUL, f"NUL at character {record.text.index(chr(0))}"
        elif not has_word(record.text):
            reason, detail = Reason.EMPTY, "no word in it"
        else:
            return record
    return Problem(record.source, record.line, reason, detail)


def _missing(field: str, fields: Mapping[str, object]) -> str:
    there = ", ".join(repr(name) for name in list(fields)[:8]) or "none"
    return f"no usable field {field!r}; fields: {there}{_NAMED_BY}"


_NAMED_BY = "; --text-field NAME says which holds the text, --id-field which a name"


def _no_column(source: Source, line: int, field: str, names: Iterable[str]) -> Problem:
    detail = f"no column {field!r}; columns: {', '.join(list(names)[:8])}{_NAMED_BY}"
    return Problem(source.name, line, Reason.MISSING_FIELD, detail)


def _clean(text: str) -> str:
    return " ".join(text.replace("\0", " ").encode("utf-8", "ignore").decode().split())


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"byte {error.object[error.start]:#04x} at position {error.start}: {error.reason}"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


# JSON lines


def _read_json_lines(source: Source, lines: Iterator[Line], config: CorpusConfig) -> Iterator[Item]:
    for line in lines:
        item = _from_json(line, source.name, config) if line.content.strip() else None
        # With a flaw, only a record that was whole just before the stream broke is kept.
        if item is not None and (line.flaw is None or isinstance(item, Record)):
            yield item
        if line.flaw is not None:
            yield Problem(source.name, line.number, line.flaw, line.detail)


def _from_json(line: Line, source: str, config: CorpusConfig) -> Item:
    try:
        fields = json.loads(line.content.decode())
    except UnicodeDecodeError as error:
        return Problem(source, line.number, Reason.INVALID_UTF8, _not_utf8(error))
    except (ValueError, RecursionError) as error:
        return Problem(source, line.number, Reason.BROKEN_JSON, str(error))
    if not isinstance(fields, dict):
        detail = f"got {type(fields).__name__}, expected an object with field {config.text_field!r}"
        return Problem(source, line.number, Reason.NOT_AN_OBJECT, detail)
    return _record(fields, source, line.number, config)


# Text and Markdown


def _read_text(source: Source, lines: Iterator[Line], limit: int) -> Iterator[Item]:
    """One document a file; a file over `limit` bytes gives one for each part of that size.

    A bad line is left out and leaves a paragraph border.
    """
    held: list[str] = []
    first, size, parts, problems = 1, 0, 0, 0

    def document(part: list[str], name: str) -> Item:
        text = "\n".join(part)
        if source.format is Format.MARKDOWN:
            text = plain_text(text)
        return _checked(Record(source.name, first, name, "", text), limit)

    for line in lines:
        text, problem = _text_of(line, source.name)
        if problem is not None:
            problems += 1
            yield problem
        added = len(text.encode()) + 1
        while held and size + added > limit:
            borders = (i for i in range(len(held) - 1, 0, -1) if not held[i].strip())
            cut = next(borders, len(held))
            if any(part_line.strip() for part_line in held[:cut]):
                yield document(held[:cut], f"{source.name}:{first}")
            size -= sum(len(part_line.encode()) + 1 for part_line in held[:cut])
            parts, first, held = parts + 1, first + cut, held[cut:]
        held.append(text)
        size += added
    if any(held_line.strip() for held_line in held) or not (parts or problems):
        yield document(held, f"{source.name}:{first}" if parts else source.name)


def _text_of(line: Line, source: str) -> tuple[str, Problem | None]:
    def problem(reason: Reason, detail: str) -> Problem:
        return Problem(source, line.number, line.flaw or reason, line.detail or detail)

    try:
        text = line.content.decode()
    except UnicodeDecodeError as error:
        if line.flaw is None or error.end < len(line.content):
            return "", problem(Reason.INVALID_UTF8, _not_utf8(error))
        text = line.content[: error.start].decode()  # a character cut in two by the break
    if "\0" in text:
        return "", problem(Reason.NUL, f"NUL at character {text.index(chr(0))}")
    return text, None if line.flaw is None else problem(line.flaw, line.detail)


_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?=[\w-]+[ \t]*:)(?:.+\n)*?---[ \t]*(?:\n|\Z)")
_BREAKS = {"softbreak": " ", "hardbreak": "\n"}


def plain_text(markdown: str) -> str:
    """The running text of Markdown (CommonMark): headings, paragraphs and items of lists.

    Each becomes a paragraph of its own. Code blocks, tables, blocks of HTML, images and front
    matter are left out; of links, emphasis and code inside a sentence the text stays.

    Example:
        >>> plain_text(
        ...     "# Ships\\n\\nA *ship* of the\\n[line](l.md):\\n\\n    code\\n\\n- `one`\\n- two"
        ... )
        'Ships\\n\\nA ship of the line:\\n\\none\\n\\ntwo'
    """
    blocks: list[str] = []
    in_table = False
    for token in _markdown().parse(_FRONT_MATTER.sub("", markdown, count=1)):
        in_table = token.type == "table_open" or (in_table and token.type != "table_close")
        if token.type == "inline" and not in_table:
            pieces = (
                piece.content
                if piece.type in ("text", "code_inline")
                else _BREAKS.get(piece.type, "")
                for piece in token.children
            )
            blocks.append("".join(pieces))
    return "\n\n".join(block for block in blocks if block.strip())


@functools.cache
def _markdown() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


# HTML and PDF


def _read_html(source: Source, lines: Iterator[Line], limit: int) -> Iterator[Item]:
    """One document a file; what stands before a break is kept, and nothing over `limit`."""
    held, size = [], 0
    for line in lines:
        flaw, detail = line.flaw, line.detail
        size += len(line.content) + 1
        if size > limit:
            flaw, detail = Reason.TOO_LONG, f"over {limit:,} bytes (max_record_bytes)"
        if flaw is not None:
            yield Problem(source.name, line.number, flaw, detail)
        if flaw is Reason.TOO_LONG:
            return
        held.append(line.content)
    # As browsers do: UTF-8 where it is that, else the Western encoding that HTML takes for granted.
    page = b"\n".join(held)
    try:
        text = page.decode()
    except UnicodeDecodeError:
        text = page.decode("cp1252", errors="replace")
    try:
        title, text = read_html(text)
    except CostlyError as error:
        yield Problem(source.name, 0, Reason.COSTLY, str(error))
        return
    yield _checked(Record(source.name, 1, source.name, _clean(title), text), limit)


def _read_pdf(source: Source, limit: int, advance: Advance) -> Iterator[Item]:
    """One document a file; a page that cannot be read is left out, and so is all from a costly one
    on.
    """
    pages: list[str] = []
    size = 0
    try:
        for page in read_pdf(source.path):
            if isinstance(page, UnreadableError):
                yield Problem(source.name, 0, Reason.CORRUPT, str(page))
                continue
            pages.append(page)
            size += len(page)
            if size > limit:
                detail = f"over {limit:,} bytes (max_record_bytes)"
                yield Problem(source.name, 0, Reason.TOO_LONG, detail)
                return
    except CostlyError as error:
        yield Problem(
            source.name, 0, Reason.COSTLY, f"after {len(pages):,} readable pages: {error}"
        )
        if not pages:
            return
    except UnreadableError as error:
        yield Problem(source.name, 0, Reason.CORRUPT, _first_line(error))
        return
    finally:
        advance(source.size)
    text = "\n\n".join(pages).replace("\0", " ")
    yield _checked(Record(source.name, 1, source.name, "", text), limit)


# Tables


def _read_table(source: Source, lines: Iterator[Line], config: CorpusConfig) -> Iterator[Item]:
    """Records of a .csv (RFC 4180: quotes, line ends inside them) or .tsv (no quoting) file.

    The first row names the columns. A row with more or fewer fields than that is broken;
    without a usable first row, so is the file.
    """
    header: list[str] | None = None
    for line, row in _Rows(lines, source.format is Format.CSV, config.max_record_bytes):
        if isinstance(row, _BrokenRowError):
            yield Problem(source.name, line, row.reason, row.detail)
            if header is None:
                return
        elif header is None:
            header = [name.strip() for name in row]
            if lacking := [name for name in _text_fields(config) if name not in header]:
                yield _no_column(source, line, lacking[0], header)
                return
        elif any(not field.isascii() and _SURROGATE.search(field) for field in row):
            yield Problem(source.name, line, Reason.INVALID_UTF8, "bytes that are not UTF-8")
        else:
            yield _record(dict(zip(header, row, strict=True)), source.name, line, config)


_SURROGATE = re.compile("[\udc80-\udcff]")


class _BrokenRowError(Exception):
    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason, self.detail = reason, detail


class _Rows:
    """Rows of a table as (line, fields or what is wrong); the first row sets their length.

    After one stray quote the `csv` module would read on through the whole file. Here a row that
    turns out broken gives back all but its first line, so that only that line is lost. Of the lines
    given back none is read on from again: it would end in the same break, and where every line has
    such a quote the time would grow with the square of their number.
    """

    def __init__(self, lines: Iterator[Line], quoted: bool, max_bytes: int) -> None:
        self._lines, self._quoted, self._max_bytes = lines, quoted, max_bytes
        self._fields: int | None = None
        self._given_back: deque[Line] = deque()
        self._break = 0
        csv.field_size_limit(max(csv.field_size_limit(), max_bytes))

    def __iter__(self) -> Iterator[tuple[int, list[str] | _BrokenRowError]]:
        while (first := self._next()) is not None:
            used = [first]
            try:
                if first.flaw is not None:
                    raise _BrokenRowError(first.flaw, first.detail)
                if first.content:
                    yield first.number, self._row(used)
            except _BrokenRowError as broken:
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
                raise _BrokenRowError(Reason.BROKEN_ROW, str(error)) from None
        else:
            row = _decoded(used[0]).split("\t")
        self._fields = self._fields or len(row)
        if len(row) != self._fields:
            detail = f"{len(row)} fields, the first row has {self._fields}"
            raise _BrokenRowError(Reason.BROKEN_ROW, detail)
        return row

    def _text(self, used: list[Line]) -> Iterator[str]:
        """Lines for one record: the first of `used`, then more while the record goes on."""
        yield _decoded(used[0]) + "\n"
        size = len(used[0].content)
        if used[0].number < self._break:
            detail = f"a quote is not closed, as in the lines before; they break at {self._break}"
            raise _BrokenRowError(Reason.BROKEN_ROW, detail)
        while (line := self._next()) is not None:
            used.append(line)
            size += len(line.content) + 1
            if line.flaw is not None:
                raise _BrokenRowError(Reason.BROKEN_ROW, f"in quotes at line {line.number}")
            if size > self._max_bytes:
                detail = f"a quote is not closed within {self._max_bytes:,} bytes"
                raise _BrokenRowError(Reason.TOO_LONG, detail)
            yield _decoded(line) + "\n"
        raise _BrokenRowError(Reason.BROKEN_ROW, "a quote is never closed")


def _decoded(line: Line) -> str:
    """As `csv` wants it; a lone carriage return would end the record, and is a blank here."""
    return line.content.replace(b"\r", b" ").decode(errors="surrogateescape")


# Parquet and the hub


_DECODED_BYTES = 1 << 28
"""What the rows that are decoded at once may take for each column, at the most."""


def _read_parquet(source: Source, config: CorpusConfig, advance: Advance) -> Iterator[Item]:
    """A broken row group is left out from its first unreadable batch on."""
    row = 1
    try:
        file = pq.ParquetFile(source.path, memory_map=True)
        schema = file.schema_arrow
    except (pa.ArrowException, OSError) as error:
        yield Problem(source.name, 1, Reason.CORRUPT, _first_line(error))
        return
    with file:
        if (problem := _no_text(schema, source, config)) is not None:
            yield problem
            return
        fields = {config.id_field or "id", "title", config.date_field or "date"}
        fields |= {
            *_text_fields(config),
            *config.fields,
            *([config.group_by] if config.group_by else []),
        }
        wanted = sorted(fields & set(schema.names))
        for group in range(file.num_row_groups):
            about = file.metadata.row_group(group)
            start, rows = row, about.num_rows
            try:
                # What a column says once, each of its rows may repeat.
                columns = map(about.column, range(about.num_columns))
                largest = max(column.total_uncompressed_size for column in columns)
                at_once = max(1, min(64, _DECODED_BYTES // max(1, largest)))
                for batch in file.iter_batches(at_once, row_groups=[group], columns=wanted):
                    for item in _from_batch(batch, source, row, config):
                        yield item
                        row += 1
            except (pa.ArrowException, OSError) as error:
                detail = f"rows {row:,} to {start + rows - 1:,} of row group {group}: "
                yield Problem(source.name, row, Reason.CORRUPT, detail + _first_line(error))
            row = start + rows
            advance(source.size // file.num_row_groups)


def _read_hub(source: Source, config: CorpusConfig) -> Iterator[Item]:
    from firth.corpus.hub import hub_batches

    row = 1
    for batch in hub_batches(source.path):
        if (problem := _no_text(batch.schema, source, config)) is not None:
            yield problem
            return
        yield from _from_batch(batch, source, row, config)
        row += batch.num_rows


def _no_text(schema: pa.Schema, source: Source, config: CorpusConfig) -> Problem | None:
    for name in _text_fields(config):
        kinds = [field.type for field in schema if field.name == name]
        if not kinds:
            return _no_column(source, 1, name, schema.names)
        if not any(map(_usable, kinds)):
            detail = f"column {name!r} is {kinds[0]}, expected strings"
            return Problem(source.name, 1, Reason.NOT_TEXT, detail)
    return None


def _usable(kind: pa.DataType) -> bool:
    """Whether values of a column can be texts or names. No others are converted to Python, where
    they may not fit: an Arrow date may lie beyond the year 9999.
    """
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    types = pa.types
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    raw = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    raw = raw or types.is_fixed_size_binary(kind)
    return bool(text or raw or types.is_integer(kind) or types.is_null(kind))


def _keepable(kind: pa.DataType) -> bool:
    """Whether values of a column can be those of a field that is kept, beside texts and whole
    numbers, which `_usable` knows."""
    types = pa.types
    if types.is_list(kind) or types.is_large_list(kind):
        inner = kind.value_type
        return bool(_textual(inner) or _numeric(inner))
    return bool(_numeric(kind) or types.is_date(kind) or types.is_timestamp(kind))


def _textual(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _numeric(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _spelled(column: pa.Array) -> pa.Array:
    """Dates and times as text, which may be of any year; lists of texts as lists of bytes; other
    columns as they are."""
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        raw = pa.large_list(pa.large_binary())
        return column.cast(raw) if _textual(column.type.value_type) else column
    if pa.types.is_timestamp(column.type):
        zone = "UTC" if column.type.tz else None
        return column.cast(pa.timestamp(column.type.unit, zone)).cast(pa.string())
    return column.cast(pa.string()) if pa.types.is_date(column.type) else column


def _from_batch(
    batch: pa.RecordBatch, source: Source, row: int, config: CorpusConfig
) -> Iterator[Item]:
    """Strings are taken as bytes: neither Parquet nor Arrow promises that they are valid UTF-8."""
    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name == (config.date_field or "date"):
            column = _spelled(column)
        if name in config.fields and _keepable(column.type):
            columns[name] = _spelled(column).to_pylist()
            continue
        if not _usable(column.type):
            continue
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if not (pa.types.is_integer(column.type) or pa.types.is_null(column.type)):
            column = column.cast(pa.large_binary())
        columns[name] = column.to_pylist()
    for number, values in enumerate(zip(*columns.values(), strict=True), row):
        fields = dict(zip(columns, values, strict=True))
        problem = None
        for name, value in fields.items():
            if isinstance(value, bytes):
                try:
                    fields[name] = value.decode()
                except UnicodeDecodeError as error:
                    if name in _text_fields(config):
                        detail = _not_utf8(error)
                        problem = Problem(source.name, number, Reason.INVALID_UTF8, detail)
                    fields[name] = value.decode(errors="replace")
        yield problem or _record(fields, source.name, number, config)
