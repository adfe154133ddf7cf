"""Answers to tuples: which of them count, and the same as arrays."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from firth.ratings.records import Annotation, Gold, Tuple
from firth.run.errors import InputError
from firth.text.types import Floats, Ints

THRESHOLD = 0.7
"""Share of gold questions that an annotator must answer rightly (Abdalla et al., §3.2.1)."""


class Fault(StrEnum):
    """Why an answer does not count. Of several reasons the first one is given."""

    UNKNOWN_TUPLE = "unknown tuple"
    EMPTY = "no answer"
    STRANGE_ITEM = "item not in the tuple"
    INCOMPLETE = "best or worst missing"
    SAME = "best and worst are the same"
    CONTRADICTORY = "the annotator answered the tuple differently"
    REPEATED = "the same answer again"
    FAILED = "annotator below the gold threshold"
    GOLD = "gold question"


@dataclass(frozen=True)
class Annotator:
    """An annotator: numbers of annotations, and of gold answers with best and worst both right.

    The answers count where `passed`, also where no gold question was answered.
    """

    name: str
    answers: int
    gold_answered: int
    gold_right: int
    passed: bool


@dataclass(frozen=True)
class Answers:
    """Annotations that count, at most one for each annotator and tuple, and the others with why."""

    kept: tuple[Annotation, ...]
    left_out: tuple[tuple[Annotation, Fault], ...]
    annotators: tuple[Annotator, ...]

    @property
    def faults(self) -> dict[Fault, int]:
        """Number of answers that were left out, by reason."""
        counts = Counter(fault for _, fault in self.left_out)
        return {fault: counts[fault] for fault in Fault if counts[fault]}

    @property
    def failed(self) -> tuple[Annotator, ...]:
        """Annotators whose answers do not count."""
        return tuple(annotator for annotator in self.annotators if not annotator.passed)

    def text(self) -> str:
        """Return lines for a screen."""
        total = len(self.kept) + len(self.left_out)
        lines = [f"{len(self.kept):,} of {total:,} answers of {len(self.annotators):,} annotators"]
        for fault, count in self.faults.items():
            lines.append(f"  left out {count:,}: {fault}")
        for annotator in self.failed:
            share = f"{annotator.gold_right} of {annotator.gold_answered} right"
            lines.append(f"  below the gold threshold: {annotator.name} ({share})")
        return "\n".join(lines)


def sort_answers(
    tuples: Iterable[Tuple],
    annotations: Sequence[Annotation],
    gold: Iterable[Gold] = (),
    threshold: float = THRESHOLD,
) -> Answers:
    """Decide which annotations count.

    The first complete answer of an annotator to each gold question is checked: a share of at least
    `threshold` must be right. Answers to gold questions do not count further, because annotators
    see the right ones. Of equal answers to a tuple the first counts; of different ones none does.
    """
    members = {question.id: frozenset(question.items) for question in tuples}
    right = {answer.tuple: (answer.best, answer.worst) for answer in gold}
    annotators = _check(annotations, right, threshold)
    passed = {annotator.name for annotator in annotators if annotator.passed}
    faults = [_fault(annotation, members) for annotation in annotations]
    _compare(annotations, faults)
    counting, left_out = [], []
    for annotation, fault in zip(annotations, faults, strict=True):
        if fault is None and annotation.annotator not in passed:
            fault = Fault.FAILED
        elif fault is None and annotation.tuple in right:
            fault = Fault.GOLD
        if fault is None:
            counting.append(annotation)
        else:
            left_out.append((annotation, fault))
    answers = Answers(tuple(counting), tuple(left_out), annotators)
    if not counting:
        raise InputError(f"no answer counts:\n{answers.text()}")
    return answers


def _fault(annotation: Annotation, members: dict[str, frozenset[str]]) -> Fault | None:
    """Return what is wrong with an answer by itself."""
    if annotation.tuple not in members:
        return Fault.UNKNOWN_TUPLE
    named = [name for name in (annotation.best, annotation.worst) if name]
    if not named:
        return Fault.EMPTY
    if any(name not in members[annotation.tuple] for name in named):
        return Fault.STRANGE_ITEM
    if len(named) == 1:
        return Fault.INCOMPLETE
    return Fault.SAME if annotation.best == annotation.worst else None


def _compare(annotations: Sequence[Annotation], faults: list[Fault | None]) -> None:
    """Mark all different answers of an annotator to a tuple, and equal ones after the first."""
    places = defaultdict(list)
    for place, annotation in enumerate(annotations):
        if faults[place] is None:
            places[annotation.annotator, annotation.tuple].append(place)
    for several in places.values():
        same = len({(annotations[p].best, annotations[p].worst) for p in several}) == 1
        for place in several[1:] if same else several:
            faults[place] = Fault.REPEATED if same else Fault.CONTRADICTORY


def _check(
    annotations: Sequence[Annotation], right: dict[str, tuple[str, str]], threshold: float
) -> tuple[Annotator, ...]:
    first: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for annotation in annotations:
        if annotation.tuple in right and annotation.best and annotation.worst:
            first[annotation.annotator].setdefault(
                annotation.tuple, (annotation.best, annotation.worst)
            )
    annotators = []
    for name, answers in sorted(
        Counter(annotation.annotator for annotation in annotations).items()
    ):
        answered = first[name]
        hits = sum(answer == right[question] for question, answer in answered.items())
        passed = not answered or hits >= threshold * len(answered) - 1e-9
        annotators.append(Annotator(name, answers, len(answered), hits, passed))
    return tuple(annotators)


# --- Arrays --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judgements:
    """Answers to tuples, by numbers of items: `tuples` are (T, n).

    `asked` has the tuple of each answer, `best` and `worst` the chosen items, (A,) each.
    """

    items: tuple[str, ...]
    tuples: Ints
    asked: Ints
    best: Ints
    worst: Ints

    def __len__(self) -> int:
        """Return the number of answers."""
        return len(self.asked)

    @property
    def answered(self) -> Ints:
        """Number of answers to each tuple, (T,)."""
        return np.bincount(self.asked, minlength=len(self.tuples))

    @classmethod
    def of(cls, tuples: Sequence[Tuple], answers: Iterable[Annotation]) -> "Judgements":
        """Return answers that `sort_answers` kept as arrays; the items are sorted by id."""
        names = sorted({name for question in tuples for name in question.items})
        numbers = {name: number for number, name in enumerate(names)}
        rows = np.array(
            [[numbers[name] for name in question.items] for question in tuples], dtype=np.int64
        )
        places = {question.id: place for place, question in enumerate(tuples)}
        table = [(places[a.tuple], numbers[a.best], numbers[a.worst]) for a in answers]
        asked_places, best, worst = np.array(table, dtype=np.int64).reshape(-1, 3).T
        return cls(tuple(names), rows, asked_places, best, worst)

    def count(self) -> tuple[Ints, Ints, Ints]:
        """Count how often each item was in an answered tuple, chosen best, and chosen worst."""
        n, times = len(self.items), np.repeat(self.answered, self.tuples.shape[1])
        appearances = np.bincount(self.tuples.ravel(), times, minlength=n).astype(np.int64)
        best, worst = (np.bincount(chosen, minlength=n) for chosen in (self.best, self.worst))
        return appearances, best, worst


def to_scores(difference: npt.NDArray[np.generic], appearances: npt.NDArray[np.generic]) -> Floats:
    """Return share of times best minus share of times worst, mapped from -1...1 to 0...1.

    Both arrays have the same shape. Items that were never shown have NaN. The map is fixed, so that
    scores of two sets of answers can be compared (Orme 2009; Abdalla et al., §2.2 and §3.2.2).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.asarray(difference, dtype=np.float64) / np.asarray(appearances, dtype=np.float64)
    return np.asarray((share + 1) / 2)
