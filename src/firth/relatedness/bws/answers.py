"""Which answers count: what people leave out, say twice or get wrong, and who fails gold questions.

The rules, in this order, are those of docs/best-worst-scaling.md.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

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
    """One annotator and the gold questions.

    Attributes:
        name: As in the annotations.
        answers: Lines of theirs, usable or not.
        gold_answered: Gold questions they answered.
        gold_right: Of these, those with best and worst both right.
        passed: Whether their answers count. Who answered no gold question passes.
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
    """Annotations, sorted out.

    Attributes:
        kept: Those that count, in the order of the file: at most one an annotator and tuple.
        left_out: The others, each with its reason, in the order of the file.
        annotators: All of them, by name.
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
            few = ", ".join(map(str, where[:5])) + (", …" if len(where) > 5 else "")
            lines.append(f"  left out {count:,}: {fault}" + (f" (lines {few})" if few else ""))
        lines += [
            f"  below the gold threshold: {one.name} ({one.gold_right} of {one.gold_answered} "
            f"right, {100 * (one.accuracy or 0):.0f} %)"
            for one in self.failed
        ]
        return "\n".join(lines)


def sort_answers(
    tuples: Iterable[Tuple],
    annotations: Sequence[Annotation],
    gold: Iterable[Gold] = (),
    *,
    threshold: float = THRESHOLD,
    score_gold: bool = False,
) -> Answers:
    """Say which answers count.

    Args:
        tuples: The questionnaire.
        annotations: As they were given.
        gold: Right answers of some tuples. An annotator's first complete answer to each is checked.
        threshold: Least share of them that must be right, in [0, 1].
        score_gold: Count the answers to gold questions too. Annotators may have been shown the
            right answer, and there are more answers than to other tuples, so by default not.

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
    for place, one in enumerate(annotations):
        if faults[place] is None and one.annotator in failed:
            faults[place] = Fault.FAILED
        elif faults[place] is None and one.tuple in right and not score_gold:
            faults[place] = Fault.GOLD
    both = list(zip(annotations, faults, strict=True))
    answers = Answers(
        kept=tuple(one for one, fault in both if fault is None),
        left_out=tuple((one, fault) for one, fault in both if fault is not None),
        annotators=checked,
    )
    if not answers.kept:
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
