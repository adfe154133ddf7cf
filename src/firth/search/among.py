"""Which documents are asked about: by name, by file, and by what stands in their fields."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

import numpy as np
import numpy.typing as npt

from firth.corpus.library import Library
from firth.corpus.settings import KEPT_ANYWAY
from firth.lexical.arrays import Ints
from firth.run.errors import InputError

Mask = npt.NDArray[np.bool_]
Values = Sequence[tuple[str, ...]]
"""Of each document."""
_CONDITION = re.compile(r"\s*([^=<>!]*[^=<>!\s])\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*", re.DOTALL)
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d(T[\d:.]*)?)?)?")


class Relation(StrEnum):
    """What a condition asks of a value."""

    IS = "="
    IS_NOT = "!="
    BELOW = "<"
    AT_MOST = "<="
    ABOVE = ">"
    AT_LEAST = ">="


_ORDERS: dict[Relation, Callable[[object, object], bool]] = {
    Relation.BELOW: lambda one, two: one < two,  # type: ignore[operator]
    Relation.AT_MOST: lambda one, two: one <= two,  # type: ignore[operator]
    Relation.ABOVE: lambda one, two: one > two,  # type: ignore[operator]
    Relation.AT_LEAST: lambda one, two: one >= two,  # type: ignore[operator]
}


@dataclass(frozen=True)
class Condition:
    """What a field of a document has to be; it holds where one of its values is so.

    Numbers are compared as numbers, all else as text; dates as far as they are given, so that
    `date<=2020` takes in all of 2020. `*` and `?` stand for any characters where a value is to be,
    or not to be, something.

    Attributes:
        field: `id`, `title`, `date`, or a field that the corpus keeps.
        relation: What is asked.
        value: Of what.
    """

    field: str
    relation: Relation
    value: str

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """From `source=wiki`, `date>=2020`.

        Raises:
            InputError: It is none, or asks of a date what is none.

        Example:
            >>> Condition.parse("date>=2020")
            Condition(field='date', relation=<Relation.AT_LEAST: '>='>, value='2020')
        """
        found = _CONDITION.fullmatch(text)
        if found is None:
            raise InputError(
                f"--where {text!r}: expected FIELD=VALUE, or one of != < <= > >= for the =, as "
                "'date>=2020'"
            )
        field, relation, value = found.groups()
        if field == "date" and Relation(relation) in _ORDERS and not _DATE.fullmatch(value):
            raise InputError(f"--where {text!r}: expected a date, as 2020, 2020-05 or 2020-05-01")
        return cls(field, Relation(relation), value)

    def among(self, values: Values) -> Mask:
        """Of which documents it holds."""
        known: dict[tuple[str, ...], bool] = {}
        for those in values:
            if those not in known:
                known[those] = self._holds(those)
        return np.array([known[those] for those in values], bool)

    def _holds(self, values: tuple[str, ...]) -> bool:
        if self.relation is Relation.IS_NOT:
            return not any(map(self._is, values))
        if self.relation is Relation.IS:
            return any(map(self._is, values))
        return any(map(self._in_order, values))

    def _is(self, value: str) -> bool:
        if self.field == "date" and _DATE.fullmatch(self.value):
            return value.startswith(self.value)
        one, two = _number(value), _number(self.value)
        return matches(value, self.value) or (one is not None and one == two)

    def _in_order(self, value: str) -> bool:
        compare = _ORDERS[self.relation]
        if self.field == "date":
            return compare(value[: len(self.value)], self.value)
        two = _number(self.value)
        if two is None:
            return compare(value, self.value)
        one = _number(value)
        return one is not None and compare(one, two)


@dataclass(frozen=True)
class Among:
    """Which documents are searched, or compared.

    All three have to hold; of names, of files, and of what one field is to be (`=`), one of several
    is enough.

    Attributes:
        documents: Names of documents, with `*` and `?` for any characters; empty: all.
        sources: Files, likewise.
        where: Conditions on fields, as text or parsed.
    """

    documents: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    where: tuple["str | Condition", ...] = ()

    def __bool__(self) -> bool:
        """Whether any document may be left out."""
        return bool(self.documents or self.sources or self.where)

    def __str__(self) -> str:
        """What was asked."""
        told = (f"{each.field}{each.relation}{each.value}" for each in self._conditions())
        return ", ".join((*self.documents, *self.sources, *told))

    def chosen(self, library: Library) -> Mask:
        """Which documents, (n_documents,).

        Raises:
            InputError: A condition is none, or on a field that is not kept.
        """
        found = np.ones(library.n_documents, bool)
        if self.documents:
            found &= _any(library.document_ids(), self.documents)
        if self.sources:
            found &= _any(library.document_sources(), self.sources)
        alternatives: dict[str, Mask] = {}
        for condition in self._conditions():
            holds = condition.among(_values(library, condition.field))
            if condition.relation is Relation.IS:
                held = alternatives.get(condition.field)
                alternatives[condition.field] = holds if held is None else held | holds
            else:
                found &= holds
        for holds in alternatives.values():
            found &= holds
        return found

    def sentences(self, library: Library) -> Ints:
        """Numbers, ascending, of the sentences of these documents.

        Raises:
            InputError: As of `chosen`; or there is no such document.
        """
        chosen = self.chosen(library)
        if not chosen.any():
            raise InputError(f"no document matches {self}")
        return np.flatnonzero(np.repeat(chosen, np.diff(library.document_bounds)))

    def _conditions(self) -> list[Condition]:
        return [Condition.parse(each) if isinstance(each, str) else each for each in self.where]


def matches(name: str, pattern: str) -> bool:
    """Whether a name is a pattern, in which `*` and `?` stand for any characters; no others do."""
    return name == pattern or fnmatchcase(name, pattern.replace("[", "[[]"))


def _any(names: Iterable[str], patterns: Sequence[str]) -> Mask:
    known: dict[str, bool] = {}
    found = []
    for name in names:
        if name not in known:
            known[name] = any(matches(name, pattern) for pattern in patterns)
        found.append(known[name])
    return np.array(found, bool)


def _values(library: Library, field: str) -> Values:
    match field:
        case "id":
            return [(name,) for name in library.document_ids()]
        case "title":
            return [(title,) if title else () for title in library.document_titles()]
        case "date":
            return [(date,) if date else () for date in library.document_dates()]
    if field not in library.fields:
        kept = ", ".join((*KEPT_ANYWAY, *library.fields))
        raise InputError(
            f"--where: no field {field!r} is kept; kept are {kept}. Build the corpus with --fields "
            f"{field} to keep it; files are chosen by --source"
        )
    return library.document_field(field)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
