"""Figures as a plain text table: a line a figure, a column a model."""

from collections.abc import Sequence

from firth.evaluate.aggregate import Aggregate
from firth.evaluate.evaluation import Evaluation, Result
from firth.evaluate.metrics import Estimate
from firth.evaluate.task import ALL

_Key = tuple[str, str, str, str, int]


def tabulate(evaluations: Sequence[Evaluation], *, subtasks: bool = False) -> str:
    """Lay out the figures of one or several models, × 100 with 95 % intervals, and their notes.

    Args:
        evaluations: One a model.
        subtasks: Show the subtasks too, not `all` alone.

    Returns:
        Lines of equal columns; `-` where a model has no such figure.
    """
    columns = [{_key(result): result for result in one.results} for one in evaluations]
    keys = dict.fromkeys(key for column in columns for key in column)
    whole = {how.value for how in Aggregate}
    shown = [key for key in keys if subtasks or key[2] in whole]
    rows = [["task", "split", "subtask", "metric", "n", *(one.model for one in evaluations)]]
    for key in shown:
        cells = [_figure(column[key]) if key in column else "-" for column in columns]
        rows.append([*map(str, key), *cells])
    if all(key[2] == ALL for key in shown) and not subtasks:
        rows = [[*row[:2], *row[3:]] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    notes = dict.fromkeys(note for one in evaluations for note in one.notes)
    return "\n".join([*lines, *(f"({note})" for note in notes)])


def _key(result: Result) -> _Key:
    return result.task, result.split, result.subtask, result.metric, result.n


def _figure(result: Result) -> str:
    return str(Estimate(result.value, result.low, result.high, result.n))
