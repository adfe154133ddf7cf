"""Sources as streams of records and problems."""

from collections.abc import Iterator

from firth.corpus.formats import Format
from firth.corpus.inputs import Source
from firth.corpus.lines import Advance, read_lines
from firth.corpus.readers.json_lines import read_json_lines
from firth.corpus.readers.pages import read_html, read_pdf
from firth.corpus.readers.parquet import read_hub, read_parquet
from firth.corpus.readers.tables import read_table
from firth.corpus.readers.text import read_text
from firth.corpus.records import Item
from firth.corpus.settings import CorpusConfig


def read_source(source: Source, config: CorpusConfig, advance: Advance) -> Iterator[Item]:
    """The records of a source in order, and a problem for each one that cannot be used.

    Args:
        source: What to read.
        config: Names of the fields, and the longest record.
        advance: Told how many bytes on disk have been read, for a progress bar.
    """
    if source.format is Format.PARQUET:
        return read_parquet(source, config, advance)
    if source.format is Format.HUB:
        return read_hub(source, config)
    if source.format is Format.PDF:
        return read_pdf(source, config.max_record_bytes, advance)
    lines = read_lines(source, config.max_record_bytes, advance)
    match source.format:
        case Format.JSON_LINES:
            return read_json_lines(source, lines, config)
        case Format.CSV | Format.TSV:
            return read_table(source, lines, config)
        case Format.HTML:
            return read_html(source, lines, config.max_record_bytes)
        case _:
            return read_text(source, lines, config.max_record_bytes)
