"""A document as it was read, and what is wrong with a record that cannot be one."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any

from firth.run.settings import CorpusSettings
from firth.text.words import has_word


class Reason(StrEnum):
    """Why a record, the rest of a file, a file or a folder is not used as it is."""

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
    COSTLY = "costs too much to read"
    NOT_A_FILE = "not a regular file"
    UNREADABLE = "cannot be opened"
    REMOVED = "removed earlier"
    DUPLICATE = "duplicate"
    OWN_OUTPUT = "written by firth"
    BAD_DATE = "not a date of ISO 8601"
    REPEATED_ID = "repeated id"


HARMLESS = frozenset({Reason.OWN_OUTPUT, Reason.BAD_DATE, Reason.REPEATED_ID, Reason.DUPLICATE})
"""Reasons that lose no text: they are listed, and are not counted as skipped."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A record, file or folder that is not used as it is.

    The line is the first one of the record, counted from 1; it is 0 for a whole file or folder.
    """

    source: str
    line: int
    reason: Reason
    detail: str

    def __str__(self) -> str:
        """Return place, reason and detail in one line."""
        place = f", line {self.line}" if self.line else ""
        return f"{self.source}{place}: {self.reason} ({self.detail})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text and what is known of it.

    Attributes:
        id: Name, unique in a corpus: the record's own, else `source:line`. The id of a text, HTML
            or PDF file is its source.
        date: Date as `iso_date` returns it, or "".
        fields: Values of the fields that are kept (`corpus.fields`), as text.
        source: Name of the file; it does not depend on where the files lie.
        line: First line (row of a table) of the record, counted from 1.
        headings: Which of the paragraphs that have a word are headings, from 0.
        pages: Of a PDF, the page of each of the paragraphs that have a word, from 1.
    """

    id: str
    text: str
    title: str = ""
    date: str = ""
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    source: str = ""
    line: int = 0
    headings: tuple[int, ...] = ()
    pages: tuple[int, ...] = ()


Item = Document | Problem
MEMORY = "texts"
"""Source of documents that are no files."""
ALL_FIELDS = ("*",)
"""In place of names of fields: all that a record has."""


def record_of(
    record: Mapping[str, Any], source: str, line: int, settings: CorpusSettings
) -> Iterator[Item]:
    """Yield the document in a mapping of field names to values, and what is wrong with it.

    A record without an id is called `source:line`, and one of memory by its text. A text that
    several of its fields repeat is read once.
    """
    columns = columns_of(tuple(record), settings)
    names = columns.text
    parts = {name: record[name] for name in names if name in record}
    for name, part in parts.items():
        if isinstance(part, float) and part != part:  # A missing value of a data frame.
            parts[name] = None
    if not parts:
        yield missing(source, line, settings.text_field, list(record))
        return
    if len(names) > 1:  # Other fields may have what one lacks.
        parts = {name: part for name, part in parts.items() if part is not None}
    for name, part in parts.items():
        if isinstance(part, bytes):
            yield Problem(source, line, Reason.INVALID_UTF8, f"field {name!r}")
            return
        if not isinstance(part, str):
            detail = f"field {name!r} is {type(part).__name__}, expected a string"
            yield Problem(source, line, Reason.NOT_TEXT, detail)
            return
    named = _name(record, columns.id)
    if not named and settings.id_field is not None:
        yield missing(source, line, settings.id_field, list(record))
        return
    title = record.get(columns.title)
    date = _name(record, columns.date)
    fields = record if settings.fields == ALL_FIELDS else settings.fields
    text = "\n\n".join({" ".join(part.split()): part for part in parts.values()}.values())
    document = Document(
        id=named or (id_of_text(text) if source == MEMORY else f"{source}:{line}"),
        text=text,
        title=clean(title) if isinstance(title, str) else "",
        date=iso_date(date),
        fields={name: values for name in fields if (values := _values(record.get(name)))},
        source=source,
        line=line,
    )
    item = checked(document, settings.max_record_bytes)
    if isinstance(item, Document) and date and not item.date:
        yield Problem(source, line, Reason.BAD_DATE, repr(date[:40]))
    yield item


def checked(document: Document, max_bytes: int) -> Item:
    """Return the document, or what is wrong with its text."""
    text = document.text
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        reason, detail = Reason.INVALID_UTF8, f"half a surrogate pair at character {error.start}"
    else:
        if size > max_bytes:
            reason, detail = Reason.TOO_LONG, f"{size:,} bytes, at most {max_bytes:,} are read"
        elif "\0" in text:
            reason, detail = Reason.NUL, f"NUL at character {text.index(chr(0))}"
        elif not has_word(text):
            reason, detail = Reason.EMPTY, "no word in it"
        else:
            return document
    return Problem(document.source, document.line, reason, detail)


def missing(source: str, line: int, name: str, present: list[str]) -> Problem:
    """Return what is said of a record or table that lacks a field."""
    fields = ", ".join(map(repr, present[:8])) or "none"
    detail = f"no usable field {name!r}; fields: {fields}. Name it: --text FIELD, --id FIELD"
    return Problem(source, line, Reason.MISSING_FIELD, detail)


_TEXTS = (("text",), ("subject", "body"), ("question", "answer"), ("body",), ("content",),
          ("message",), ("description",), ("comment",), ("review",), ("abstract",), ("sentence",),
          ("question",))  # fmt: skip
_NAMES = ("name",), ("title",), ("product",), ("label",)
"""Of the rows of a list these are the texts, before all others."""
_TITLES, _IDS = ("title", "subject", "headline"), ("id", "_id", "uuid")
_DATES = ("date", "created_at", "created", "published_at", "published", "timestamp")


@dataclass(frozen=True)
class Columns:
    """The fields of records that hold text, title, id and date."""

    text: tuple[str, ...]
    title: str
    id: str
    date: str


@lru_cache(maxsize=256)
def columns_of(names: tuple[str, ...], settings: CorpusSettings) -> Columns:
    """Return which fields hold what: those of the settings, else usual names, in any case."""
    by_name = {str(name).strip().lower(): name for name in reversed(names)}

    def column(setting: str | None, usual: tuple[str, ...]) -> str:
        name: str = next((by_name[alias] for alias in usual if alias in by_name), usual[0])
        return name if setting is None else setting

    text = tuple(name.strip() for name in settings.text_field.split(","))
    if text == ("text",) and "text" not in names:
        aliases = _NAMES + _TEXTS if settings.lines else _TEXTS
        usual = (group for group in aliases if by_name.keys() >= {*group})
        text = tuple(by_name[name] for name in next(usual, ())) or text
    return Columns(
        text,
        column(settings.title_field, _TITLES),
        column(settings.id_field, _IDS),
        column(settings.date_field, _DATES),
    )


def id_of_text(text: str) -> str:
    """Return an id for a text that has no name: it depends on nothing but the text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8)
    return f"text-{digest.hexdigest()}"


def iso_date(text: str) -> str:
    """Return a date of ISO 8601 in one form, so that dates sort as text; "" if it is none.

    A time of day is kept, in UTC where its zone is given.

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


def clean(text: str) -> str:
    """Return a name or title in one line, without characters that cannot be stored."""
    return " ".join(text.replace("\0", " ").encode("utf-8", "ignore").decode().split())


def _name(record: Mapping[str, Any], name: str) -> str:
    """Return a string, whole number or date of a record, else ""."""
    value: Any = record.get(name)
    if hasattr(value, "isoformat") and value == value:  # Not a time that is missing (NaT).
        value = value.isoformat()
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return clean(str(value))


def _values(value: Any) -> tuple[str, ...]:
    """Return what a field holds, as text: one value, those of a list, or none."""
    if isinstance(value, list | tuple):
        return tuple(dict.fromkeys(text for item in value for text in _values(item)))
    if isinstance(value, bool):
        return (str(value).lower(),)
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if hasattr(value, "isoformat") and value == value:
        value = value.isoformat()
    is_value = isinstance(value, str | int | float) and value == value
    return (text,) if is_value and (text := clean(str(value))) else ()
