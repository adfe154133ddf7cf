"""What best-worst scaling reads and writes: items, tuples, gold questions, annotations.

Files are UTF-8 CSV. Readers name every problem of a file at once, with its line; writers replace a
file in one step. Answers that are incomplete or contradict each other are *not* problems of a file:
people give them, and scoring counts them (`firth.relatedness.bws.answers`).
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from firth.run.errors import InputError
from firth.run.rows import Problems, Rows, listed, read_rows, read_text, write_rows

T = TypeVar("T")
Record = Mapping[str, str]
_ANSWER = ("tuple", "annotator", "best", "worst")
ID, SCORE, SENTENCES = "id", "score", ("sentence1", "sentence2")
SMALLEST = 3
"""Items of the smallest tuple: of two, the best one leaves nothing to say about the worst."""
_ITEM = re.compile(r"item([1-9]\d*)")


@dataclass(frozen=True)
class Item:
    """What is judged: its id (unique, not empty), its texts in the order of the columns, one or
    more (a sentence pair, say), and a score it already has (a model's, the truth of a simulation).
    """

    id: str
    texts: tuple[str, ...]
    score: float | None = None


@dataclass(frozen=True)
class Tuple:
    """A question, by its id: which of these items (three or more ids) is the best, the worst?"""

    id: str
    items: tuple[str, ...]


@dataclass(frozen=True)
class Gold:
    """The right answer to a tuple, with which annotators are checked: two ids of its items."""

    tuple: str
    best: str
    worst: str


@dataclass(frozen=True)
class Annotation:
    """One annotator's answer to one tuple, as it was given: `best` and `worst` are ids of items or
    empty, `time` is in any notation or empty, `line` where it stands in its file (0: in none).
    """

    tuple: str
    annotator: str
    best: str
    worst: str
    time: str = ""
    line: int = field(default=0, compare=False)


def read_items(path: str | Path) -> list[Item]:
    """Read the items of a pairs TSV, a CSV or a text file (`.txt`: an item a line).

    A column `id` names them, else their row numbers from 1, padded with zeros; a column `score` is
    kept as a number. The texts are `sentence1` and `sentence2` where they exist, else all other
    columns. Raise `InputError` if the file cannot be read, or with every problem of it: no text
    column, empty ids or texts, ids that occur twice, scores that are not numbers.
    """
    path = Path(path)
    if path.suffix == ".txt":
        lines = [line.removesuffix("\r") for line in read_text(path).split("\n") if line.strip()]
        width = len(str(len(lines)))
        items = [Item(f"{n:0{width}}", (text,)) for n, text in enumerate(lines, start=1)]
        return _some(path, items, "item")
    rows = read_rows(path)
    names = SENTENCES if set(SENTENCES) <= set(rows.header) else rows.header
    columns = [name for name in names if name not in (ID, SCORE)]
    if not columns:
        rows.problems.add(1, f"no column of texts. Got: {listed(rows.header)}")
        rows.problems.check()
    numbers, width = count(1), len(str(len(rows.rows)))

    def item(line: int, record: Record, problems: Problems) -> Item:
        name = problems.once("item", line, record.get(ID, f"{next(numbers):0{width}}"))
        for column in columns:
            if not record[column].strip():
                problems.add(line, f"{column} is empty")
        return Item(name, tuple(record[c] for c in columns), _score(record, line, problems))

    return _each(rows, "item", item)


def write_items(path: str | Path, items: Iterable[Item], columns: Sequence[str]) -> None:
    """Write items as CSV: `id`, the texts under the names `columns`, and `score` if all have one;
    raise `InputError` where an item has not one text a column, or the file cannot be written.
    """
    items = list(items)
    for item in items:
        if len(item.texts) != len(columns):
            raise InputError(f"item {item.id}: {len(item.texts)} texts; expected {len(columns)}")
    scored = all(item.score is not None for item in items)
    header = (ID, *columns, *((SCORE,) if scored else ()))
    rows = ((one.id, *one.texts, *((repr(one.score),) if scored else ())) for one in items)
    write_rows(Path(path), header, rows)


def read_tuples(path: str | Path, items: Collection[str] | None = None) -> list[Tuple]:
    """Read `tuple,item1,…,itemN`, of the ids `items` alone, if given; raise `InputError` if the
    file cannot be read, or with every problem of it: fewer than three items, an item twice in a
    tuple, unknown items, ids that occur twice.
    """
    rows = read_rows(Path(path), needed=("tuple", "item1", "item2", "item3"))
    numbers = sorted(int(m[1]) for name in rows.header if (m := _ITEM.fullmatch(name)))
    if numbers != list(range(1, len(numbers) + 1)):
        rows.problems.add(1, f"columns item1 to item{numbers[-1]} are not all there")
        rows.problems.check()
    known = None if items is None else set(items)

    def question(line: int, record: Record, problems: Problems) -> Tuple:
        name = problems.once("tuple", line, record["tuple"])
        members = tuple(record[f"item{number}"] for number in numbers)
        if "" in members:
            problems.add(line, "an item is empty")
        elif len(set(members)) < len(members):
            problems.add(line, f"an item occurs twice in the tuple: {listed(members)}")
        elif known is not None and (strange := [name for name in members if name not in known]):
            problems.add(line, f"no such item: {listed(strange)}")
        return Tuple(name, members)

    return _each(rows, "tuple", question)


def write_tuples(path: str | Path, tuples: Sequence[Tuple]) -> None:
    """Write `tuple,item1,…,itemN`; raise `InputError` if there is none, they are of different
    sizes, or the file cannot be written.
    """
    sizes = sorted({len(one.items) for one in tuples})
    if len(sizes) != 1:
        raise InputError(f"{path}: got tuples of {sizes} items; expected tuples of one size")
    header = ("tuple", *(f"item{number}" for number in range(1, sizes[0] + 1)))
    write_rows(Path(path), header, ((one.id, *one.items) for one in tuples))


def read_gold(path: str | Path, tuples: Iterable[Tuple] | None = None) -> list[Gold]:
    """Read `tuple,best,worst`, of the `tuples` alone, if given; raise `InputError` if the file
    cannot be read, or with every problem of it: unknown tuples, items that are not in the tuple,
    best and worst the same or empty, a tuple twice.
    """
    members = None if tuples is None else {one.id: one.items for one in tuples}

    def gold(line: int, record: Record, problems: Problems) -> Gold:
        name = problems.once("tuple", line, record["tuple"])
        one = Gold(name, record["best"], record["worst"])
        for problem in _wrong_gold(one, members):
            problems.add(line, problem)
        return one

    return _each(read_rows(Path(path), ("tuple", "best", "worst")), "gold question", gold)


def write_gold(path: str | Path, gold: Iterable[Gold]) -> None:
    """Write `tuple,best,worst`; raise `InputError` where the file cannot be written."""
    write_rows(Path(path), ("tuple", "best", "worst"), ((g.tuple, g.best, g.worst) for g in gold))


def read_annotations(path: str | Path) -> list[Annotation]:
    """Read `tuple,annotator,best,worst[,time]`; best and worst may be empty, and are not judged.
    Raise `InputError` if the file cannot be read, or with every line without a tuple or an
    annotator.
    """

    def annotation(line: int, record: Record, problems: Problems) -> Annotation:
        for column in _ANSWER[:2]:
            if not record[column]:
                problems.add(line, f"{column} is empty")
        asked, who, best, worst = (record[name] for name in _ANSWER)
        return Annotation(asked, who, best, worst, record.get("time", ""), line)

    return _each(read_rows(Path(path), _ANSWER), "annotation", annotation)


def read_answered(
    tuples: Path, annotations: Path, gold: Path | None = None, items: Collection[str] | None = None
) -> tuple[list[Tuple], list[Annotation], list[Gold]]:
    """A questionnaire, the answers to it, and its gold questions; see the readers of each."""
    asked = read_tuples(tuples, items)
    return asked, read_annotations(annotations), read_gold(gold, asked) if gold else []


def write_annotations(path: str | Path, annotations: Iterable[Annotation]) -> None:
    """Write `tuple,annotator,best,worst`, and `time` where an annotation has one; raise
    `InputError` where the file cannot be written.
    """
    annotations = list(annotations)
    header = (*_ANSWER, *(["time"] if any(one.time for one in annotations) else []))
    write_rows(Path(path), header, map(attrgetter(*header), annotations))


def _score(record: Mapping[str, str], line: int, problems: Problems) -> float | None:
    if not record.get(SCORE, "").strip():
        return None
    try:
        score = float(record[SCORE])
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        problems.add(line, f"score {record[SCORE]!r} is not a number")
    return score


def _wrong_gold(gold: Gold, members: Mapping[str, tuple[str, ...]] | None) -> list[str]:
    if not gold.best or not gold.worst:
        return ["best or worst is empty"]
    if gold.best == gold.worst:
        return [f"best and worst are the same item, {gold.best!r}"]
    if members is None:
        return []
    if gold.tuple not in members:
        return [f"no such tuple: {gold.tuple!r}"]
    wrong = [name for name in (gold.best, gold.worst) if name not in members[gold.tuple]]
    return [f"{name!r} is not in tuple {gold.tuple!r}" for name in wrong]


def _each(rows: Rows, what: str, make: Callable[[int, Record, Problems], T]) -> list[T]:
    """A value a row; raise `InputError` with every problem that was noted, or if there is none."""
    found = [make(line, record, rows.problems) for line, record in rows.records()]
    rows.problems.check()
    return _some(rows.problems.path, found, what)


def _some(path: Path, found: list[T], what: str) -> list[T]:
    if not found:
        raise InputError(f"{path}: no {what}; it has only a header")
    return found
