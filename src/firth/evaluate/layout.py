"""The table of a report in the layout of Sun et al. (2022, Table 1): systems × sets, and Avg."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from firth.evaluate.evaluation import Result
from firth.evaluate.groups import GroupResult
from firth.evaluate.metrics import Metric
from firth.evaluate.report import Report
from firth.evaluate.task import ALL, TASKS

_HEADINGS = {
    "sts12": "STS12",
    "sts13": "STS13",
    "sts14": "STS14",
    "sts15": "STS15",
    "sts16": "STS16",
    "sts-b": "STSb",
    "sick-r": "SICK-R",
    "str-2021": "STR-2021",
    "afs": "AFS",
    "wiki-sections": "WikiSec.",
    "lee": "Lee",
    "cbos-20": "CBOS-20",
}
AVERAGED = ("sts12", "sts13", "sts14", "sts15", "sts16", "sts-b", "sick-r")
"""The sets of Table 1, in its order: `Avg.` is over those of them that are there."""

_Set = tuple[str, str]


@dataclass(frozen=True)
class Cell:
    """A figure × 100 and its 95 % interval; `verdict` is 1, −1 or 0: clearly above or below the
    model of comparison, or neither."""

    value: float | None
    low: float | None = None
    high: float | None = None
    verdict: int = 0


@dataclass(frozen=True)
class Layout:
    """A table as data.

    Attributes:
        headings: Of the columns of figures.
        rows: System → its cells, one a column; None where it has no figure.
        caption: How to read the figures.
        remarks: What a reader of the figures must know about models and data.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | None, ...]], ...]
    caption: tuple[str, ...]
    remarks: tuple[str, ...]


def lay_out(report: Report) -> Layout:
    """Lay out a report: Table 1's sets, `Avg.`, then all other sets; groups below the models.

    Each set shows its usual metric over all rows. `Avg.` is the plain mean over those sets of
    Table 1 that were evaluated on their usual split, and empty for a system that lacks one.
    """
    results = [r for one in report.evaluations for r in one.results if _usual(r)]
    sets = list(dict.fromkeys((r.task, r.split) for r in results))
    averaged = [
        found for task in AVERAGED for found in sets if found[0] == task and _default(found)
    ]
    others = [found for found in sets if found not in averaged]
    verdicts = {
        (d.first, d.task, d.split, d.metric): _sign(d.difference.value)
        for d in report.differences
        if d.subtask == ALL and d.difference.decided
    }
    rows = []
    for one in report.evaluations:
        cells = {
            (r.task, r.split): Cell(
                r.value, r.low, r.high, verdicts.get((one.model, r.task, r.split, r.metric), 0)
            )
            for r in one.results
            if _usual(r)
        }
        rows.append((one.model, _row(cells, averaged, others)))
    for group in dict.fromkeys(result.group for result in report.groups):
        found = [r for r in report.groups if r.group == group and _usual(r)]
        cells = {(r.task, r.split): Cell(r.mean, r.low, r.high) for r in found}
        name = f"{group}, mean of {len(found[0].models)}"
        rows.append((name, _row(cells, averaged, others)))
    headings = [*map(_heading, averaged), *(["Avg."] if len(averaged) > 1 else [])]
    return Layout(
        headings=(*headings, *map(_heading, others)),
        rows=tuple(rows),
        caption=tuple(_caption(report, averaged, others)),
        remarks=tuple(_remarks(report)),
    )


def _row(
    cells: dict[_Set, Cell], averaged: Sequence[_Set], others: Sequence[_Set]
) -> tuple[Cell | None, ...]:
    first = [cells.get(found) for found in averaged]
    known = [cell.value for cell in first if cell is not None and cell.value is not None]
    mean = Cell(statistics.fmean(known)) if known and len(known) == len(averaged) else None
    return (*first, *([mean] if len(averaged) > 1 else []), *(cells.get(one) for one in others))


def _caption(report: Report, averaged: Sequence[_Set], others: Sequence[_Set]) -> list[str]:
    first = report.evaluations[0]
    unlike = [
        f"{_heading(found)}: {_metric(found[0])}"
        for found in (*averaged, *others)
        if _metric(found[0]) != Metric.SPEARMAN.value
    ]
    remarks = [
        "Spearman times 100 over all rows of a set"
        + (f" ({'; '.join(unlike)})" if unlike else "")
        + f", with 95 % bootstrap intervals ({first.resamples:,} resamples, seed {first.seed})."
    ]
    if len(averaged) > 1:
        remarks.append(f"Avg.: mean over {', '.join(map(_heading, averaged))}.")
    if report.differences:
        remarks.append(
            f"+ and \u2212: clearly above or below {report.differences[0].second} "
            "(paired bootstrap, 95 %)."
        )
    for group in dict.fromkeys((result.group, result.models) for result in report.groups):
        spreads = [
            f"{_heading((r.task, r.split))} {r.deviation:.1f}"
            for r in report.groups
            if r.group == group[0] and _usual(r) and r.deviation is not None
        ]
        remarks.append(
            f"{group[0]}: {', '.join(group[1])}; standard deviation over them: "
            f"{', '.join(spreads)}."
        )
    return remarks


def _remarks(report: Report) -> list[str]:
    notes = list(dict.fromkeys(note for one in report.evaluations for note in one.notes))
    if report.left_out:
        names = ", ".join(f"{item.kind} {item.name}" for item in report.left_out)
        notes.append(f"left out: {names} (the JSON says why)")
    return notes


def _usual(result: Result | GroupResult) -> bool:
    return result.subtask == ALL and result.metric == _metric(result.task)


def _metric(task: str) -> str:
    return TASKS[task].metrics[0].value


def _default(found: _Set) -> bool:
    return found[1] in TASKS[found[0]].default


def _heading(found: _Set) -> str:
    name = _HEADINGS.get(found[0], found[0])
    return name if _default(found) else f"{name} {found[1]}"


def _sign(value: float | None) -> int:
    return 0 if value is None else (1 if value > 0 else -1)
