"""What a check found: systems side by side, and a verdict in words."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from firth.check.items import Item, Kind
from firth.check.measure import Figure, accuracies, figures
from firth.lexical.arrays import Floats
from firth.lexical.scorer import Scorer
from firth.run.errors import InputError
from firth.run.table import table

FEW_DOCUMENTS = 10
"""Resamples of fewer documents vary too little."""
_NONE = "-"


@dataclass(frozen=True)
class Checked:
    """A system: what it is called, its accuracy, and its lead over the reference, in each kind."""

    model: str
    accuracy: Mapping[Kind, Figure]
    ahead: Mapping[Kind, Figure]


@dataclass(frozen=True)
class CheckReport:
    """Systems on the same items.

    Attributes:
        systems: In the order given.
        against: Name of the reference, one of them.
        items: Kind → number of items; kinds without any are absent.
        documents: Kind → number of documents that its items are of.
        elsewhere: Items of which some candidates are not of the sentence's own document.
        seed: Of the resamples.
        resamples: Behind each interval.
        remarks: What else to know.
    """

    systems: tuple[Checked, ...]
    against: str
    items: Mapping[Kind, int]
    documents: Mapping[Kind, int]
    elsewhere: int
    seed: int
    resamples: int
    remarks: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self) | {"verdicts": self.verdicts()}

    def table(self) -> str:
        """A line a system: `next`, its lead over the reference, and the other kinds beside it."""
        beside = [kind for kind in Kind if kind is not Kind.NEXT]
        rows = [["model", "next", f"ahead of {self.against}", *beside]]
        for one in self.systems:
            lead = None if one.model == self.against else one.ahead.get(Kind.NEXT)
            rows.append(
                [
                    one.model,
                    str(one.accuracy.get(Kind.NEXT, _NONE)),
                    _NONE if lead is None else f"{lead.value:+.1f} {lead.interval}".rstrip(),
                    *(f"{one.accuracy[k].value:.1f}" if k in self.items else _NONE for k in beside),
                ]
            )
        return table(rows)

    def verdicts(self) -> list[str]:
        """A sentence on each system but the reference."""
        found = []
        for one in self.systems:
            if one.model == self.against:
                continue
            lead = one.ahead.get(Kind.NEXT)
            if lead is None:
                found.append(f"{one.model} and {self.against}: no items of kind next, no verdict")
            elif lead.sign:
                ahead, behind = (one.model, self.against)[:: lead.sign]
                found.append(f"{ahead} is better than {behind} here")
            else:
                found.append(
                    f"{one.model} and {self.against} cannot be told apart with "
                    f"{self.items[Kind.NEXT]:,} items"
                )
        return found

    def text(self) -> str:
        """The table, what it stands on, and the verdicts."""
        counted = ", ".join(
            f"{kind} {n:,} of {self.documents[kind]:,} document{'s' * (self.documents[kind] > 1)}"
            for kind, n in self.items.items()
        )
        lines = [self.table(), "", f"Items: {counted}. Brackets are 95 % intervals over documents."]
        if self.elsewhere:
            lines.append(
                f"{self.elsewhere:,} items have candidates that are not of the same document, for "
                "too few documents are long enough: they are easier."
            )
        if 0 < self.documents.get(Kind.NEXT, 0) < FEW_DOCUMENTS:
            lines.append(f"Fewer than {FEW_DOCUMENTS} documents: intervals are too narrow.")
        return "\n".join([*lines, *self.remarks, *(f"{verdict}." for verdict in self.verdicts())])


def check_scorer(
    scorer: Scorer, items: Sequence[Item], *, seed: int = 13, resamples: int = 1_000
) -> CheckReport:
    """Measure a scorer on items; raise `InputError` where there are none, or its scores are odd."""
    return compare({scorer.name: accuracies(scorer, items)}, items, seed=seed, resamples=resamples)


def compare(
    measured: Mapping[str, Floats],
    items: Sequence[Item],
    *,
    against: str | None = None,
    seed: int = 13,
    resamples: int = 1_000,
    remarks: Sequence[str] = (),
) -> CheckReport:
    """Put systems side by side.

    Args:
        measured: Name of a system → the accuracy of each item (`accuracies`).
        items: At least one.
        against: The system that the others are compared with; by default the first.
        seed: Of the resamples.
        resamples: Behind each interval.
        remarks: What else to know.

    Raises:
        InputError: No items, no systems, or `against` is not among them.
    """
    names = list(measured)
    if not items or not names:
        raise InputError(f"got {len(items)} items and {len(names)} systems; expected some of both")
    against = names[0] if against is None else against
    if against not in names:
        raise InputError(f"--against {against}: expected one of {', '.join(names)}")
    found: dict[Kind, list[tuple[Figure, Figure]]] = {}
    counts, documents = {}, {}
    for kind in Kind:
        places = [place for place, item in enumerate(items) if item.kind is kind]
        if places:
            some = [items[place] for place in places]
            counts[kind], documents[kind] = len(some), len({item.document for item in some})
            found[kind] = figures(
                some, [one[places] for one in measured.values()],
                against=names.index(against), seed=seed, resamples=resamples,
            )  # fmt: skip
    systems = tuple(
        Checked(
            name,
            {kind: both[place][0] for kind, both in found.items()},
            {kind: both[place][1] for kind, both in found.items()},
        )
        for place, name in enumerate(names)
    )
    elsewhere = sum(not item.hard for item in items)
    return CheckReport(
        systems, against, counts, documents, elsewhere, seed, resamples, tuple(remarks)
    )
