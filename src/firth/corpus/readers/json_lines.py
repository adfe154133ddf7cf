"""JSON lines: a record a line."""

import json
from collections.abc import Iterator

from firth.corpus.inputs import Problem, Reason, Source
from firth.corpus.lines import Line
from firth.corpus.records import Item, Record, not_utf8, record_of
from firth.corpus.settings import CorpusConfig


def read_json_lines(source: Source, lines: Iterator[Line], config: CorpusConfig) -> Iterator[Item]:
    """One record a line; a line of white space is none."""
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
        return Problem(source, line.number, Reason.INVALID_UTF8, not_utf8(error))
    except (ValueError, RecursionError) as error:
        return Problem(source, line.number, Reason.BROKEN_JSON, str(error))
    if not isinstance(fields, dict):
        detail = f"got {type(fields).__name__}, expected an object with field {config.text_field!r}"
        return Problem(source, line.number, Reason.NOT_AN_OBJECT, detail)
    return record_of(fields, source, line.number, config)
