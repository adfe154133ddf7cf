"""The files of best-worst scaling: items, tuples, gold questions and annotations.

Files are UTF-8 CSV. A reader reports all problems of a file together, with their lines. Answers
that are incomplete or contradict each other are no problem of a file: people give them, and
`firth.ratings.answers` counts them.
"""

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TypeVar

from firth.corpus.files import Problems, Table, listed, read_table
from firth.run.errors import InputError
from firth.run.files import write_text

T = TypeVar("T")
Record = Mapping[str, str]
SENTENCES = ("sentence1", "sentence2")
SMALLEST = 3
"""Items of the smallest tuple. In a tuple of two, the best item determines the worst."""
ANSWER = ("tuple", "annotator", "best", "worst")
"""Columns of a file of annotations."""
_OF_CROWD = ("Input.tuple", "WorkerId", "Answer.best", "Answer.worst")
_STATUS, _REJECTED = "AssignmentStatus", "Rejected"
"""The same columns in the results of Mechanical Turk, and that of what became of an answer."""
_ITEM = re.compile(r"item([1-9]\d*)")


@dataclass(frozen=True)
class Item:
    """Something that is judged: one text or several, such as a pair of sentences."""

    id: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Tuple:
    """A question: which of these three or more items is the best, and which is the worst?"""

    id: str
    items: tuple[str, ...]


@dataclass(frozen=True)
class Gold:
    """The right answer to a tuple, which checks annotators: ids of its best and worst item."""

    tuple: str
    best: str
    worst: str


@dataclass(frozen=True)
class Annotation:
    """The answer of an annotator to a tuple, as it was given.

    The best and the worst item may be "". The line in its file is 0 where there is none.
    """

    tuple: str
    annotator: str
    best: str
    worst: str
    line: int = field(default=0, compare=False)


def read_items(path: Path) -> list[Item]:
    """Read items from a CSV, TSV or JSON Lines file.

    A column `id` names the items; without it their names are row numbers. The texts are the columns
    `sentence1` and `sentence2`, or all columns but `id` and `score`.
    """
    table = read_table(path)
    names = SENTENCES if set(SENTENCES) <= set(table.header) else table.header
    columns = [name for name in names if name not in ("id", "score")]
    if not columns:
        raise InputError(f"{path}, line 1: no column of texts. Got: {listed(table.header)}")
    width, numbers = len(str(len(table.records))), count(1)

    def item(record: Record, _: int) -> Item:
        name = record.get("id", f"{next(numbers):0{width}}")
        if empty := [column for column in columns if not record.get(column, "").strip()]:
            raise ValueError(f"{', '.join(empty)} is empty")
        return Item(name, tuple(record[column] for column in columns))

    return _each(path, table, (), item, lambda item: item.id)


def read_tuples(path: Path, items: Collection[str] | None = None) -> list[Tuple]:
    """Read tuples of known items, or of any, from the columns `tuple`, `item1`, ..., `itemN`."""
    table = read_table(path)
    numbers = sorted(int(match[1]) for name in table.header if (match := _ITEM.fullmatch(name)))
    if len(numbers) < SMALLEST or numbers != list(range(1, len(numbers) + 1)):
        raise InputError(
            f"{path}, line 1: expected the columns tuple, item1, item2, item3 and so on. Got: "
            f"{listed(table.header)}"
        )

    def question(record: Record, _: int) -> Tuple:
        members = tuple(record.get(f"item{number}", "") for number in numbers)
        if "" in members:
            raise ValueError("an item is empty")
        if len(set(members)) < len(members):
            raise ValueError(f"an item occurs twice in the tuple: {listed(members)}")
        if items is not None and (strange := [name for name in members if name not in items]):
            raise ValueError(f"no such item: {listed(strange)}")
        return Tuple(record["tuple"], members)

    return _each(path, table, ("tuple",), question, lambda made: made.id)


def read_gold(path: Path, tuples: Iterable[Tuple]) -> list[Gold]:
    """Read gold questions from a file with the columns `tuple`, `best` and `worst`."""
    members = {question.id: question.items for question in tuples}

    def gold(record: Record, _: int) -> Gold:
        answer = Gold(record["tuple"], record["best"], record["worst"])
        if answer.tuple not in members:
            raise ValueError(f"no such tuple: {answer.tuple!r}")
        if strange := [
            name for name in (answer.best, answer.worst) if name not in members[answer.tuple]
        ]:
            raise ValueError(f"{strange[0]!r} is not in tuple {answer.tuple!r}")
        if answer.best == answer.worst:
            raise ValueError(f"best and worst are the same item, {answer.best!r}")
        return answer

    return _each(path, read_table(path), ("tuple", "best", "worst"), gold, lambda made: made.tuple)


def read_annotations(path: Path) -> list[Annotation]:
    """Read annotations from a file with the columns `tuple`, `annotator`, `best` and `worst`.

    Or from the results of a crowd platform, as Mechanical Turk names their columns; answers that
    were rejected there are left out. Best and worst may be empty, and are not checked.
    """
    table = read_table(path)
    if set(_OF_CROWD) <= set(table.header):
        names = dict(zip(_OF_CROWD, ANSWER, strict=True))
        table = Table(
            list(ANSWER),
            [
                (line, {name: cells.get(column, "") for column, name in names.items()})
                for line, cells in table.records
                if cells.get(_STATUS) != _REJECTED
            ],
        )

    def annotation(record: Record, line: int) -> Annotation:
        if empty := [name for name in ("tuple", "annotator") if not record[name]]:
            raise ValueError(f"{', '.join(empty)} is empty")
        return Annotation(**{name: record[name] for name in ANSWER}, line=line)

    return _each(path, table, ANSWER, annotation, None)


def questions(items: Iterable[Item], tuples: Iterable[Tuple]) -> list[dict[str, str]]:
    """Return a record for each tuple, as a crowd platform fills its page from a CSV file.

    The columns are `tuple`, and for each item N `itemN` with its id and `itemN_text1` and so on
    with its texts. The page must name its answers `best` and `worst`, with an id as the value.
    """
    texts = {item.id: item.texts for item in items}
    records = []
    for question in tuples:
        record = {"tuple": question.id}
        for number, name in enumerate(question.items, start=1):
            record[f"item{number}"] = name
            for place, text in enumerate(texts[name], start=1):
                record[f"item{number}_text{place}"] = text
        records.append(record)
    return records


def _each(
    path: Path,
    table: Table,
    needed: Sequence[str],
    make: Callable[[Record, int], T],
    key: Callable[[T], str] | None,
) -> list[T]:
    """Return a value for each row; `make` raises `ValueError` with the problem of a row."""
    if missing := [name for name in needed if name not in table.header]:
        raise InputError(
            f"{path}, line 1: no column {', '.join(missing)}. Got: {listed(table.header)}"
        )
    problems, values = Problems(path), list[T]()
    seen: dict[str, int] = {}
    for line, cells in table.records:
        record = {name: cells.get(name, "") for name in (*needed, *cells)}
        try:
            value = make(record, line)
        except ValueError as error:
            problems.add(line, str(error))
            continue
        if key is not None and not key(value):
            problems.add(line, "the id is empty")
        elif key is not None and seen.setdefault(key(value), line) != line:
            problems.add(line, f"{key(value)!r} occurs already in line {seen[key(value)]}")
        values.append(value)
    problems.check()
    if not values:
        raise InputError(f"{path}: the file has no rows")
    return values


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file in one step; without rows it is a header."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_text(path, text.getvalue())
