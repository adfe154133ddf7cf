"""Parquet and data sets of the hub: a record a row, read in Arrow batches."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from firth.corpus.inputs import Problem, Reason, Source
from firth.corpus.lines import Advance
from firth.corpus.records import Item, first_line, no_column, not_utf8, record_of, text_fields
from firth.corpus.settings import CorpusConfig

_DECODED_BYTES = 1 << 28
"""What the rows that are decoded at once may take for each column, at the most."""


def read_parquet(source: Source, config: CorpusConfig, advance: Advance) -> Iterator[Item]:
    """A broken row group is left out from its first unreadable batch on."""
    row = 1
    try:
        file = pq.ParquetFile(source.path, memory_map=True)
        schema = file.schema_arrow
    except (pa.ArrowException, OSError) as error:
        yield Problem(source.name, 1, Reason.CORRUPT, first_line(error))
        return
    with file:
        if (problem := _no_text(schema, source, config)) is not None:
            yield problem
            return
        fields = {config.id_field or "id", "title", config.date_field or "date"}
        fields |= {
            *text_fields(config),
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
                yield Problem(source.name, row, Reason.CORRUPT, detail + first_line(error))
            row = start + rows
            advance(source.size // file.num_row_groups)


def read_hub(source: Source, config: CorpusConfig) -> Iterator[Item]:
    """One record a row, as `datasets` hands them out."""
    from firth.corpus.hub import hub_batches

    row = 1
    for batch in hub_batches(source.path):
        if (problem := _no_text(batch.schema, source, config)) is not None:
            yield problem
            return
        yield from _from_batch(batch, source, row, config)
        row += batch.num_rows


def _no_text(schema: pa.Schema, source: Source, config: CorpusConfig) -> Problem | None:
    for name in text_fields(config):
        kinds = [field.type for field in schema if field.name == name]
        if not kinds:
            return no_column(source, 1, name, schema.names)
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
                    if name in text_fields(config):
                        detail = not_utf8(error)
                        problem = Problem(source.name, number, Reason.INVALID_UTF8, detail)
                    fields[name] = value.decode(errors="replace")
        yield problem or record_of(fields, source.name, number, config)
