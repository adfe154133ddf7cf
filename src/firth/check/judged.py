"""What a gate thought of changed models: plain values for a report, tables and sentences of them.

A report has `kept` and `reference` (names), `counts` (the kinds that can admit), `items` and
`documents` (by kind), `candidates` (the reference first; each with `accuracy` and `ahead` by kind,
and all but the reference with `gained`, `lost`, `admitted` and `why`), and `notes`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from firth.check.gate import Verdict
from firth.check.items import Kind
from firth.check.measure import Figure
from firth.check.report import CheckReport

MORE = "hold more of them out (corpus.held_out)"


def nothing_asked(reference: str, counts: Sequence[Kind], note: str) -> dict[str, Any]:
    """The report where there are no items."""
    names = {"kept": reference, "reference": reference, "counts": counts}
    return names | {"items": {}, "documents": {}, "candidates": [], "notes": [note]}


def judged(
    compared: CheckReport, kept: str, verdicts: Sequence[Verdict], counts: Sequence[Kind]
) -> dict[str, Any]:
    """The report of a comparison; without notes."""
    thought = {verdict.candidate: asdict(verdict) for verdict in verdicts}
    return {
        "kept": kept,
        "reference": compared.against,
        "counts": counts,
        "items": dict(compared.items),
        "documents": dict(compared.documents),
        "candidates": [
            {"candidate": one.model, "accuracy": _plain(one.accuracy), "ahead": _plain(one.ahead)}
            | thought.get(one.model, {})
            for one in compared.systems
        ],
        "notes": [],
    }


def plain(figure: Figure) -> dict[str, float | None]:
    """`value`, `low` and `high`, rounded."""
    return {name: value if value is None else round(value, 4)
            for name, value in asdict(figure).items()}  # fmt: skip


def _plain(figures: Mapping[Kind, Figure]) -> dict[str, Any]:
    return {kind.value: plain(figure) for kind, figure in figures.items()}


def accuracy_rows(report: Mapping[str, Any]) -> list[list[str]]:
    """Header and a line a candidate: accuracy on each kind of item."""
    kinds = list(report["items"])
    head = [f"{kind} ({report['items'][kind]:,} of {report['documents'][kind]:,})"
            for kind in kinds]  # fmt: skip
    rows = [
        [one["candidate"], *(f"{one['accuracy'][kind]['value']:.1f}" for kind in kinds)]
        for one in report["candidates"]
    ]
    return [["items of documents", *head], *rows]


def ahead_rows(report: Mapping[str, Any]) -> list[list[str]]:
    """Header and a line a candidate: how far it is ahead of the reference, on each kind."""
    kinds = list(report["items"])
    rows = [
        [one["candidate"], *(_lead(one["ahead"][kind]) for kind in kinds)]
        for one in report["candidates"]
        if one["candidate"] != report["reference"]
    ]
    return [["", *kinds], *rows]


def _lead(figure: Mapping[str, Any]) -> str:
    if figure["low"] is None:
        return f"{figure['value']:+.1f}"
    return f"{figure['value']:+.1f} [{figure['low']:.1f}, {figure['high']:.1f}]"


def reasons(report: Mapping[str, Any]) -> list[str]:
    """A sentence on each candidate."""
    return [f"{one['candidate']}: {one['why']}." for one in report["candidates"] if "why" in one]


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table of a card, from its header and lines."""
    if len(rows) < 2:
        return "(No items.)"
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
