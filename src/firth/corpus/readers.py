"""Sources as streams of records and problems: one reader a format, none loses a good record."""

import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from firth.corpus.inputs import Format, Source
from firth.corpus.lines import Advance, Line, read_lines
from firth.corpus.records import Item, Problem, Reason, Record, checked, record_of
from firth.corpus.settings import CorpusConfig
from firth.corpus.tables import read_table


def read_source(source: Source, config: CorpusConfig, advance: Advance) -> Iterator[Item]:
    """The records of a source in order, and a problem for each one that cannot be used.

    Args:
        source: What to read.
        config: Names of the fields, and the longest record.
        advance: Told how many bytes on disk have been read, for a progress bar.
    """
    match source.format:
        case Format.TEXT:
            return _read_text(source, config, advance)
        case Format.JSON_LINES:
            return _read_json_lines(source, config, advance)
        case Format.CSV | Format.TSV:
            return read_table(source, config, advance)
        case Format.PARQUET:
            return _read_parquet(source, config, advance)
        case Format.HUB:
            from firth.corpus.hub import read_hub

            return read_hub(source, config)


def _read_json_lines(source: Source, config: CorpusConfig, advance: Advance) -> Iterator[Item]:
    for line in read_lines(source, config.max_record_bytes, advance):
        item = _from_json(line, source.name, config) if line.content.strip() else None
        if line.flaw is None:
            if item is not None:
                yield item
            continue
        if isinstance(item, Record):  # the stream broke just after a whole record
            yield item
        yield Problem(source.name, line.number, line.flaw, line.detail)


def _from_json(line: Line, source: str, config: CorpusConfig) -> Item:
    try:
        fields = json.loads(line.content.decode())
    except UnicodeDecodeError as error:
        return Problem(source, line.number, Reason.INVALID_UTF8, _utf8_detail(error))
    except (ValueError, RecursionError) as error:
        return Problem(source, line.number, Reason.BROKEN_JSON, str(error))
    if not isinstance(fields, dict):
        detail = f"got {type(fields).__name__}, expected an object with field {config.text_field!r}"
        return Problem(source, line.number, Reason.NOT_AN_OBJECT, detail)
    return record_of(fields, source, line.number, config)


def _read_text(source: Source, config: CorpusConfig, advance: Advance) -> Iterator[Item]:
    """One document a file; a file over `max_record_bytes` gives one for each part of that size.

    A bad line is left out and leaves a paragraph border.
    """
    limit = config.max_record_bytes
    held: list[str] = []
    first, size, parts, problems = 1, 0, 0, 0
    for line in read_lines(source, limit, advance):
        text, problem = _text_of(line, source.name)
        if problem is not None:
            problems += 1
            yield problem
        added = len(text.encode()) + 1
        while held and size + added > limit:
            cut = _last_blank(held) or len(held)
            part, held = held[:cut], held[cut:]
            if any(part_line.strip() for part_line in part):
                yield _document(part, source.name, first, f"{source.name}:{first}", limit)
            parts, first = parts + 1, first + cut
            size -= sum(len(part_line.encode()) + 1 for part_line in part)
        held.append(text)
        size += added
    if any(held_line.strip() for held_line in held) or not (parts or problems):
        name = f"{source.name}:{first}" if parts else source.name
        yield _document(held, source.name, first, name, limit)


def _document(lines: list[str], source: str, first: int, name: str, limit: int) -> Item:
    return checked(Record(source, first, name, "", "\n".join(lines)), limit)


def _text_of(line: Line, source: str) -> tuple[str, Problem | None]:
    problem = None
    if line.flaw is not None:
        problem = Problem(source, line.number, line.flaw, line.detail)
    try:
        text = line.content.decode()
    except UnicodeDecodeError as error:
        if line.flaw is None or error.end < len(line.content):
            return "", problem or Problem(
                source, line.number, Reason.INVALID_UTF8, _utf8_detail(error)
            )
        text = line.content[: error.start].decode()  # a character cut in two by the break
    if "\0" in text:
        detail = f"NUL at character {text.index(chr(0))}"
        return "", problem or Problem(source, line.number, Reason.NUL, detail)
    return text, problem


def _last_blank(lines: list[str]) -> int:
    return next((i for i in range(len(lines) - 1, 0, -1) if not lines[i].strip()), 0)


def _utf8_detail(error: UnicodeDecodeError) -> str:
    return f"byte {error.object[error.start]:#04x} at position {error.start}: {error.reason}"


def _read_parquet(source: Source, config: CorpusConfig, advance: Advance) -> Iterator[Item]:
    """A broken row group is left out from its first unreadable batch on."""
    row = 1
    try:
        file = pq.ParquetFile(source.path, memory_map=True)
    except (pa.ArrowException, OSError) as error:
        yield Problem(source.name, 1, Reason.CORRUPT, _first_line(error))
        return
    with file:
        names = file.schema_arrow.names
        wanted = {config.text_field, config.id_field or "id", "title"} & set(names)
        if config.text_field not in names:
            detail = f"no column {config.text_field!r}; columns: {', '.join(names[:8])}"
            yield Problem(source.name, 1, Reason.MISSING_FIELD, detail)
            return
        for group in range(file.num_row_groups):
            start, rows = row, file.metadata.row_group(group).num_rows
            try:
                for batch in file.iter_batches(64, row_groups=[group], columns=sorted(wanted)):
                    for fields in _rows(batch):
                        yield _from_row(fields, source.name, row, config)
                        row += 1
            except (pa.ArrowException, OSError) as error:
                detail = f"rows {row:,} to {start + rows - 1:,} of row group {group}: "
                yield Problem(source.name, row, Reason.CORRUPT, detail + _first_line(error))
            row = start + rows
            advance(source.size // file.num_row_groups)


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, object]]:
    """Rows with text as bytes: Parquet does not promise that text is valid UTF-8."""
    columns = []
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_string(column.type) or pa.types.is_string_view(column.type):
            column = column.cast(pa.binary())
        elif pa.types.is_large_string(column.type):
            column = column.cast(pa.large_binary())
        columns.append(column.to_pylist())
    for values in zip(*columns, strict=True):
        yield dict(zip(batch.schema.names, values, strict=True))


def _from_row(fields: dict[str, object], source: str, row: int, config: CorpusConfig) -> Item:
    for name, value in fields.items():
        if isinstance(value, bytes):
            try:
                fields[name] = value.decode()
            except UnicodeDecodeError as error:
                if name == config.text_field:
                    return Problem(source, row, Reason.INVALID_UTF8, _utf8_detail(error))
                fields[name] = value.decode(errors="replace")
    return record_of(fields, source, row, config)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
