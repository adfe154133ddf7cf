"""What a reader yields: a record that can be used, or a problem that names one that cannot."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from firth.corpus.settings import CorpusConfig
from firth.lexical.words import words


class Reason(StrEnum):
    """Why a record is skipped."""

    BROKEN_JSON = "broken JSON"
    NOT_AN_OBJECT = "not a JSON object"
    MISSING_FIELD = "missing field"
    NOT_TEXT = "field is not text"
    INVALID_UTF8 = "invalid UTF-8"
    NUL = "NUL character"
    TOO_LONG = "too long"
    EMPTY = "empty text"
    BROKEN_ROW = "broken row"
    TRUNCATED = "truncated file"
    CORRUPT = "corrupt file"


@dataclass(frozen=True, slots=True)
class Record:
    """A document as read, not yet split.

    Attributes:
        source: Name of its file (see `Source.name`), the same wherever the corpus lies.
        line: Line (row of a Parquet file or hub data set) it starts on, counted from 1.
        id: Its own name, else `source:line`; a text file's is `source` alone.
        title: Its title, or "".
        text: Never empty: it has at least one word.
    """

    source: str
    line: int
    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A record, or the rest of a file, that cannot be used.

    Attributes:
        source: Name of its file.
        line: Line (or row) it starts on, counted from 1.
        reason: What is wrong, for counting.
        detail: The same for a reader, with what was found.
    """

    source: str
    line: int
    reason: Reason
    detail: str


Item = Record | Problem


def record_of(fields: Mapping[str, object], source: str, line: int, config: CorpusConfig) -> Item:
    """The record in a mapping of field names to values, or what is wrong with it."""
    text, name = fields.get(config.text_field), f"{source}:{line}"
    if config.text_field not in fields:
        return Problem(source, line, Reason.MISSING_FIELD, _missing(config.text_field, fields))
    if not isinstance(text, str):
        detail = f"field {config.text_field!r} is {type(text).__name__}, expected a string"
        return Problem(source, line, Reason.NOT_TEXT, detail)
    given = fields.get(config.id_field or "id")
    if isinstance(given, str | int) and not isinstance(given, bool) and _clean(str(given)):
        name = _clean(str(given))
    elif config.id_field is not None:
        return Problem(source, line, Reason.MISSING_FIELD, _missing(config.id_field, fields))
    title = fields.get("title")
    return checked(
        Record(source, line, name, _clean(title) if isinstance(title, str) else "", text),
        config.max_record_bytes,
    )


def checked(record: Record, max_bytes: int) -> Item:
    """The record itself, or what is wrong with its text."""

    def problem(reason: Reason, detail: str) -> Problem:
        return Problem(record.source, record.line, reason, detail)

    try:
        size = len(record.text.encode())
    except UnicodeEncodeError as error:
        return problem(Reason.INVALID_UTF8, f"half a surrogate pair at character {error.start}")
    if size > max_bytes:
        return problem(Reason.TOO_LONG, f"{size:,} bytes, at most {max_bytes:,} are read")
    if "\0" in record.text:
        return problem(Reason.NUL, f"NUL at character {record.text.index(chr(0))}")
    if not words(record.text):
        return problem(Reason.EMPTY, "no word in it")
    return record


def _missing(field: str, fields: Mapping[str, object]) -> str:
    there = ", ".join(repr(name) for name in list(fields)[:8]) or "none"
    return f"no usable field {field!r}; fields: {there}"


def _clean(text: str) -> str:
    return " ".join(text.replace("\0", " ").encode("utf-8", "ignore").decode().split())
