"""Results: what every answer of firth can do, whichever question it answers.

A `Record` has plain values for JSON. A `Result` is also text, rows of a table, a file, and a table
in a notebook. `Results` are a result that is a sequence, such as hits. All are frozen dataclasses,
which are declared with `repr=False`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from html import escape
from pathlib import Path
from typing import Any, ClassVar, TypeVar, overload

from firth.run.console import escaped, wrapped

TOP = 20
"""Items that a text or a table in a notebook has, at most, where no other number is given."""
_PAGE = "<!doctype html>\n<meta charset='utf-8'>\n<title>{title}</title>\n{body}\n"
T_co = TypeVar("T_co", covariant=True)


class Record:
    """A dataclass with plain values for JSON: its fields, and the properties in `derived`."""

    derived: ClassVar[tuple[str, ...]] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return _values(self)


class Result(Record):
    """A record that people read.

    A subclass has `summary`, and where there is more to say, `lines` and `records`. `columns` are
    the names of records that a notebook shows.
    """

    columns: ClassVar[tuple[str, ...]] = ()

    def summary(self) -> str:
        """Return the result in one line, or a few sentences."""
        raise NotImplementedError

    def lines(self, top: int) -> Iterator[str]:
        """Yield the lines of `text`; those of the first `top` items, if there are items."""
        yield self.summary()

    def records(self) -> Sequence[Mapping[str, Any]]:
        """Return rows of a table as plain values, all with the same names."""
        return [self.as_dict()]

    def text(self, top: int = TOP) -> str:
        """Return text for people, with at most `top` items, at most 80 columns wide."""
        return wrapped(escaped("\n".join(self.lines(top))))

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each of `records`."""
        from pandas import DataFrame

        return DataFrame(list(self.records()))

    def save(self, path: str | Path, force: bool = False) -> Path:
        """Write the result to a file, whole or not at all.

        Args:
            path: Its extension says the form: `.json` and `.html` hold all, `.txt` the text, `.csv`
                the records as a table. Any other name gets the records as JSON Lines.
            force: Whether a file that is there is replaced.

        Raises:
            InputError: The file exists, or cannot be written.
        """
        from firth.run.outputs import write_file, write_rows

        path = Path(path)
        match path.suffix.lower():
            case ".json":
                text = json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False) + "\n"
                write_file(path, text, force)
            case ".html":
                title = escape(type(self).__name__)
                write_file(path, _PAGE.format(title=title, body=self.html(None)), force)
            case ".txt":
                write_file(path, f"{self.text(len(self.records()))}\n", force)
            case _:
                write_rows(path, self.records(), force)
        return path

    def __str__(self) -> str:
        """Return `text`."""
        return self.text()

    def __repr__(self) -> str:
        """Return the name of the class, and the beginning of the summary."""
        return f"{type(self).__name__}({escaped(self.summary()):.160})"

    def _repr_html_(self) -> str:
        """Return HTML for a notebook."""
        return self.html()

    def html(self, top: int | None = TOP) -> str:
        """Return a table of the first records, or of all; every text is escaped."""
        heads = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            f"<tr>{''.join(f'<td>{_cell(record[name])}</td>' for name in self.columns)}</tr>"
            for record in self.records()[:top]
        )
        return f"<p>{_cell(self.summary())}</p><table><tr>{heads}</tr>{body}</table>"


@dataclass(frozen=True, repr=False, kw_only=True)
class Results(Result, Sequence[T_co]):
    """A result that is a sequence of items. In JSON they have the name that `named` says."""

    named: ClassVar[str] = "items"
    items: tuple[T_co, ...] = ()

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> T_co: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[T_co, ...]: ...
    def __getitem__(self, place: int | slice) -> T_co | tuple[T_co, ...]:
        """Return an item, or some."""
        return self.items[place]

    def records(self) -> Sequence[Mapping[str, Any]]:
        """Return one record for each item."""
        records: list[dict[str, Any]] = plain(self.items)
        return records

    def as_dict(self, top: int | None = None) -> dict[str, Any]:
        """Return plain values, for JSON; with the first `top` items only, if given."""
        values = {name: value for name, value in _values(self).items() if name != "items"}
        return {**values, "count": len(self), self.named: plain(self.items[:top])}


def plain(value: Any) -> Any:
    """Return a value as JSON has it: records are objects, tuples are lists."""
    if isinstance(value, Record):
        return value.as_dict()
    if is_dataclass(value):
        return _values(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return value


def _values(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, and what is derived of them, as plain values."""
    values = {}
    for name in (*(field.name for field in fields(record)), *getattr(record, "derived", ())):
        value = getattr(record, name)
        values[name] = plain(value() if callable(value) else value)
    return values


def _cell(value: object) -> str:
    """Return a value as the cell of a table in HTML."""
    if isinstance(value, float):
        value = f"{value:.3g}"
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    return escape(escaped("" if value is None else str(value)))
