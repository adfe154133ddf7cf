"""Do no harm: which changed model may take the place of the one that it was made of.

`keep` is for a change that nobody asked for, an encoder adapted to documents: a candidate is
admitted where the check on held-out documents finds no kind of item on which it fell, and one that
counts on which it rose. What training itself asks for does not count: a model that learns which
sentences stand next to each other learns to answer `next`, and may forget others things for it.

`spare` is for a change that is asked for, a student that learns to repeat its teacher: it is kept
unless the check as a whole falls, or the kinds that ask what belongs together do: edits alone rise
where no more is learned than to let rare words weigh more.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from firth.check.items import Kind
from firth.check.measure import CHANCE, Figure, lead
from firth.check.report import FEW_DOCUMENTS, Checked, CheckReport

TOGETHER = (Kind.NEXT, Kind.CROP)
"""Kinds that ask what belongs together, not what an edit changes."""


@dataclass(frozen=True)
class Verdict:
    """What is thought of a candidate.

    Attributes:
        candidate: Its name.
        gained: Kinds on which it rose; the interval of the difference lies above 0.
        lost: Kinds on which it fell; the interval lies below 0.
        admitted: Whether it may be kept.
        why: In words.
    """

    candidate: str
    gained: tuple[Kind, ...]
    lost: tuple[Kind, ...]
    admitted: bool
    why: str


def judge(checked: Checked, documents: Mapping[Kind, int], counts: Collection[Kind]) -> Verdict:
    """What is thought of a candidate that was compared with the encoder as it was.

    Args:
        checked: The candidate: `ahead` is its lead over the encoder as it was.
        documents: Kind → documents that its items are of.
        counts: Kinds that can admit it, where they are of ten documents or more.
    """
    gained, lost = _moved(checked)
    counted = [
        kind for kind in gained if kind in counts and documents.get(kind, 0) >= FEW_DOCUMENTS
    ]
    reasons = [kind for kind in counted if checked.accuracy[kind].value > CHANCE]
    if lost:
        why = f"thrown away: it fell on {', '.join(lost)}"
    elif reasons:
        why = f"admitted: it rose on {', '.join(reasons)} and fell on nothing"
    elif counted:
        why = f"thrown away: it rose on {', '.join(counted)}, and is right no more than by chance"
    elif gained:
        why = f"thrown away: it rose on {', '.join(gained)} only, which is no reason to change it"
    else:
        why = "thrown away: it rose on nothing"
    return Verdict(checked.model, gained, lost, not lost and bool(reasons), why)


def keep(report: CheckReport, counts: Collection[Kind]) -> tuple[str, list[Verdict]]:
    """The system of a report that is kept, and the verdicts on all but the reference.

    It is the one with the highest lead (`firth.check.measure.lead`) over the reference on the mean
    of the kinds that count, of those admitted and the reference; at equal means, the earliest.
    """
    verdicts = [
        judge(one, report.documents, counts)
        for one in report.systems
        if one.model != report.against
    ]
    allowed = {report.against, *(one.candidate for one in verdicts if one.admitted)}

    (reference,) = (one for one in report.systems if one.model == report.against)

    def mean(checked: Checked) -> float:
        found = [float(lead(figure.value, reference.accuracy[kind].value))
                 for kind, figure in checked.accuracy.items() if kind in counts]  # fmt: skip
        return sum(found) / len(found) if found else 0.0

    systems = sorted(report.systems, key=lambda one: one.model != report.against)
    best = max((one for one in systems if one.model in allowed), key=mean)
    return best.model, verdicts


def telling(documents: Mapping[Kind, int]) -> tuple[Kind, ...]:
    """The kinds with items of documents enough to spare something by their mean."""
    return tuple(kind for kind, found in documents.items() if found >= FEW_DOCUMENTS)


def spare(
    checked: Checked, mean: Figure | None, counts: Collection[Kind], together: Figure | None = None
) -> Verdict:
    """What is thought of a student that was compared with its start.

    Args:
        checked: The student: `ahead` is its lead over the start.
        mean: Its lead on the mean over the kinds that count; None where none does.
        counts: Those kinds.
        together: Its lead on the mean over those of `TOGETHER` that count; None where none does.
    """
    gained, lost = _moved(checked)
    if mean is None:
        why = f"no kind has items of {FEW_DOCUMENTS} documents, so that the check decides nothing"
    else:
        why = f"it {_told(mean, counts)}"
        if together is not None:
            why += f" and {_told(together, [kind for kind in counts if kind in TOGETHER])}"
    moved = [f"{verb} on {', '.join(kinds)}"
             for verb, kinds in (("rose", gained), ("fell", lost)) if kinds]  # fmt: skip
    why += f"; by kind it {' and '.join(moved) or 'neither rose nor fell'}"
    harmless = all(figure is None or figure.sign >= 0 for figure in (mean, together))
    return Verdict(checked.model, gained, lost, harmless, why)


def _told(mean: Figure, kinds: Collection[Kind]) -> str:
    verb = ("fell", "stayed level", "rose")[mean.sign + 1]
    return f"{verb} on the mean of {', '.join(kinds)} ({mean.value:+.1f} {mean.interval})"


def _moved(checked: Checked) -> tuple[tuple[Kind, ...], tuple[Kind, ...]]:
    """The kinds on which a system rose, and those on which it fell."""
    rose = tuple(kind for kind, figure in checked.ahead.items() if figure.sign > 0)
    fell = tuple(kind for kind, figure in checked.ahead.items() if figure.sign < 0)
    return rose, fell
