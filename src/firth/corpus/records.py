"""A document as it was read: its text, its names, and what is wrong with it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from firth.corpus.inputs import Problem, Reason, Source
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


def record_of(fields: Mapping[str, object], source: str, line: int, config: CorpusConfig) -> Item:
    """The record in a mapping of field names to values, or what is wrong with it."""
    names, name = text_fields(config), f"{source}:{line}"
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
    title = clean(title) if isinstance(title, str) else ""
    said = _name(fields, config.date_field or "date")
    when = iso_date(said)
    flaw = Problem(source, line, Reason.BAD_DATE, repr(said[:40])) if said and not when else None
    group = _name(fields, config.group_by) if config.group_by else ""
    kept = tuple(_values(fields.get(field)) for field in config.fields)
    record = Record(source, line, given or name, title, text, when, group, flaw, kept)
    return checked(record, config.max_record_bytes)


def text_fields(config: CorpusConfig) -> list[str]:
    """The fields that make a text, in their order."""
    return [name.strip() for name in config.text_field.split(",")]


def _name(fields: Mapping[str, object], field: str) -> str:
    """A string or whole number of a record, without needless white space; else ""."""
    value = fields.get(field)
    named = isinstance(value, str | int) and not isinstance(value, bool)
    return clean(str(value)) if named else ""


def _values(value: object) -> tuple[str, ...]:
    """What a field of a record holds, as text: one value, those of a list, or none."""
    if isinstance(value, list):
        return tuple(dict.fromkeys(text for each in value for text in _values(each)))
    if isinstance(value, bool):
        return (str(value).lower(),)
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    known = isinstance(value, str | int | float)
    return (text,) if known and (text := clean(str(value))) else ()


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


def checked(record: Record, max_bytes: int) -> Item:
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


def no_column(source: Source, line: int, field: str, names: Iterable[str]) -> Problem:
    """What is said of a table that lacks a column, with those that it has."""
    detail = f"no column {field!r}; columns: {', '.join(list(names)[:8])}{_NAMED_BY}"
    return Problem(source.name, line, Reason.MISSING_FIELD, detail)


def clean(text: str) -> str:
    """A name or a title: in one line, and nothing in it that no file of ours can hold."""
    return " ".join(text.replace("\0", " ").encode("utf-8", "ignore").decode().split())


def not_utf8(error: UnicodeDecodeError) -> str:
    """Which byte is wrong, and why."""
    return f"byte {error.object[error.start]:#04x} at position {error.start}: {error.reason}"


def first_line(error: Exception) -> str:
    """Of what a library says, which may go on for pages."""
    return str(error).partition("\n")[0]
