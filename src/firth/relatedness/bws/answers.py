"""Answers: which of them count (rules: docs/best-worst-scaling.md), and as arrays to be counted."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from firth.relatedness.bws.design import Floats, Ints, number_items
from firth.relatedness.bws.records import Annotation, Gold, Tuple
from firth.run.errors import InputError

THRESHOLD = 0.7
"""Share of gold questions to be answered rightly (Abdalla et al., §3.2.1)."""


class Fault(StrEnum):
    """Why an answer is left out. Of several reasons the first counts."""

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
    """One annotator: lines of theirs, gold questions answered, those of them with best and worst
    both right, and whether their answers count. Who answered no gold question passes.
    """

    name: str
    answers: int
    gold_answered: int
    gold_right: int
    passed: bool

    @property
    def accuracy(self) -> float | None:
        """Share of gold questions answered rightly; None where none was answered."""
        return self.gold_right / self.gold_answered if self.gold_answered else None


@dataclass(frozen=True)
class Answers:
    """Annotations, sorted out: those that count (at most one an annotator and tuple) and the others
    with their reasons, both in the order of the file; and all annotators by name.
    """

    kept: tuple[Annotation, ...]
    left_out: tuple[tuple[Annotation, Fault], ...]
    annotators: tuple[Annotator, ...]

    @property
    def faults(self) -> dict[Fault, int]:
        """How many answers were left out, and why; only reasons that occurred."""
        found = Counter(fault for _, fault in self.left_out)
        return {fault: found[fault] for fault in Fault if found[fault]}

    @property
    def failed(self) -> tuple[Annotator, ...]:
        """Annotators whose answers were left out."""
        return tuple(one for one in self.annotators if not one.passed)

    def text(self) -> str:
        """Lines for a screen: counts by reason, and who failed."""
        total = len(self.kept) + len(self.left_out)
        lines = [f"{len(self.kept):,} of {total:,} answers of {len(self.annotators):,} annotators"]
        for fault, count in self.faults.items():
            where = [one.line for one, why in self.left_out if why is fault and one.line]
            few = f" (lines {few_of(where)})" if where else ""
            lines.append(f"  left out {count:,}: {fault}{few}")
        for one in self.failed:
            right = (
                f"{one.gold_right} of {one.gold_answered} right, {100 * (one.accuracy or 0):.0f} %"
            )
            lines.append(f"  below the gold threshold: {one.name} ({right})")
        return "\n".join(lines)


def sort_answers(
    tuples: Iterable[Tuple],
    annotations: Sequence[Annotation],
    gold: Iterable[Gold] = (),
    *,
    threshold: float = THRESHOLD,
    score_gold: bool = False,
) -> Answers:
    """Say which answers to the questionnaire `tuples` count.

    An annotator's first complete answer to each gold question is checked; the share of right ones
    must be at least `threshold`, in [0, 1]. `score_gold` counts the answers to gold questions too:
    annotators may have been shown the right answer, and there are more answers than to other
    tuples, so by default not.

    Raises:
        InputError: A threshold outside [0, 1], or no answer is left.
    """
    if not 0 <= threshold <= 1:
        raise InputError(f"gold threshold: got {threshold:g}; expected a share from 0 to 1")
    members = {one.id: frozenset(one.items) for one in tuples}
    right = {one.tuple: (one.best, one.worst) for one in gold}
    checked = _check(annotations, right, threshold)
    failed = {one.name for one in checked if not one.passed}
    faults = [_fault(one, members) for one in annotations]
    _compare(annotations, faults)
    kept, left_out = [], []
    for one, fault in zip(annotations, faults, strict=True):
        if fault is None and one.annotator in failed:
            fault = Fault.FAILED
        elif fault is None and one.tuple in right and not score_gold:
            fault = Fault.GOLD
        if fault is None:
            kept.append(one)
        else:
            left_out.append((one, fault))
    answers = Answers(tuple(kept), tuple(left_out), checked)
    if not kept:
        raise InputError(f"no answer is left to be scored:\n{answers.text()}")
    return answers


def _fault(one: Annotation, members: dict[str, frozenset[str]]) -> Fault | None:
    """What is wrong with an answer by itself."""
    if one.tuple not in members:
        return Fault.UNKNOWN_TUPLE
    given = [name for name in (one.best, one.worst) if name]
    if not given:
        return Fault.EMPTY
    if any(name not in members[one.tuple] for name in given):
        return Fault.STRANGE_ITEM
    if len(given) == 1:
        return Fault.INCOMPLETE
    return Fault.SAME if one.best == one.worst else None


def _compare(annotations: Sequence[Annotation], faults: list[Fault | None]) -> None:
    """Leave out all different answers of an annotator to a tuple; of equal ones keep the first."""
    places = defaultdict(list)
    for place, one in enumerate(annotations):
        if faults[place] is None:
            places[one.annotator, one.tuple].append(place)
    for several in places.values():
        same = len({(annotations[p].best, annotations[p].worst) for p in several}) == 1
        for place in several[1:] if same else several:
            faults[place] = Fault.REPEATED if same else Fault.CONTRADICTORY


def _check(
    annotations: Sequence[Annotation], right: dict[str, tuple[str, str]], threshold: float
) -> tuple[Annotator, ...]:
    """Gold questions of each annotator; half an answer, or none, is not checked."""
    first: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for one in annotations:
        if one.tuple in right and one.best and one.worst:
            first[one.annotator].setdefault(one.tuple, (one.best, one.worst))
    checked = []
    for name, answers in sorted(Counter(one.annotator for one in annotations).items()):
        answered = first[name]
        hits = sum(answer == right[question] for question, answer in answered.items())
        passed = not answered or hits >= threshold * len(answered) - 1e-9
        checked.append(Annotator(name, answers, len(answered), hits, passed))
    return tuple(checked)


@dataclass(frozen=True)
class Counts:
    """How often each of N items was shown in an answered tuple, chosen best, chosen worst."""

    shown: Ints
    best: Ints
    worst: Ints

    @property
    def scores(self) -> Floats:
        """Scores by counting, shape (N,): see `to_scores`."""
        return to_scores(self.best - self.worst, self.shown)


@dataclass(frozen=True)
class Judgements:
    """A answers to T tuples of n of the N `items` (ids). By numbers of items: `tuples` (T, n),
    `best` and `worst` (A,); `asked` (A,) is the tuple of each answer.
    """

    items: tuple[str, ...]
    tuples: Ints
    asked: Ints
    best: Ints
    worst: Ints

    def __len__(self) -> int:
        """Number of answers A."""
        return len(self.asked)

    @property
    def answered(self) -> Ints:
        """Number of answers to each tuple, shape (T,)."""
        return np.bincount(self.asked, minlength=len(self.tuples))

    @classmethod
    def of(
        cls, tuples: Sequence[Tuple], answers: Iterable[Annotation], items: Sequence[str] = ()
    ) -> "Judgements":
        """Usable answers (see `sort_answers`) as arrays; the tuples are all of one size, `items`
        are ids in the wanted order, by default those that occur, sorted.
        """
        names, rows = number_items(tuples, items)
        numbers = {name: number for number, name in enumerate(names)}
        places = {one.id: place for place, one in enumerate(tuples)}
        table = [(places[a.tuple], numbers[a.best], numbers[a.worst]) for a in answers]
        asked, best, worst = np.array(table, dtype=np.int64).reshape(-1, 3).T
        return cls(tuple(names), rows, asked, best, worst)

    def count(self) -> Counts:
        """How often each item was shown, and chosen."""
        n, times = len(self.items), np.repeat(self.answered, self.tuples.shape[1])
        shown = np.bincount(self.tuples.ravel(), times, minlength=n).astype(np.int64)
        best, worst = (np.bincount(chosen, minlength=n) for chosen in (self.best, self.worst))
        return Counts(shown, best, worst)


def to_scores(difference: npt.NDArray[np.generic], shown: npt.NDArray[np.generic]) -> Floats:
    """Share of times best less share of times worst, mapped from −1…1 to 0…1; not a number where an
    item was never shown. Any shape.

    Orme (2009); Abdalla et al., §2.2 and §3.2.2. The map is linear and fixed, so that scores of two
    sets of answers can be compared.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.asarray(difference, dtype=np.float64) / np.asarray(shown, dtype=np.float64)
    return np.asarray((share + 1) / 2)


def few_of(names: Sequence[object]) -> str:
    """The first five, for a message."""
    return ", ".join(map(str, names[:5])) + (", …" if len(names) > 5 else "")


def rank_correlation(x: Floats, y: Floats) -> float | None:
    """Spearman's correlation of two arrays (n,); None below three items or without a spread."""
    from scipy.stats import rankdata

    ranks = np.array([rankdata(x), rankdata(y)])
    if len(x) < 3 or (ranks.std(axis=1) == 0).any():
        return None
    return float(np.corrcoef(ranks)[0, 1])
