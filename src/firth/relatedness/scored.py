"""Scored pairs from a file of one's own, or an evaluation set by its name."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from firth.evaluate.load import load_set, oddities
from firth.evaluate.metrics import Floats, Metric
from firth.evaluate.readers import COLUMNS, row_of
from firth.evaluate.rows import EvaluationSet, Row
from firth.evaluate.task import ALL, TASKS, Kind, Published, Task, find_task
from firth.relatedness.rows import listed, read_cells
from firth.run.errors import InputError
from firth.run.progress import note

DOMAIN = "subtask"
"""Column that says where a pair comes from."""
_NAMED = 10
_LARGEST = 1e300
_OUTSIDE = f" is outside {-_LARGEST:g} to {_LARGEST:g}"


def load_pairs(
    source: "str | Path | EvaluationSet", data_dir: str | Path | None = None, domain: str = DOMAIN
) -> EvaluationSet:
    """Scored pairs: a file, or an evaluation set such as `str-2021` or `sts-b:dev` (in the folder
    `data_dir`); what is loaded already is returned as it is.

    A file has a header with `sentence1`, `sentence2` and `score`, and may name a pair's domain in
    the column `domain`. `.csv` is read with quoting, any other ending is tab-separated without.
    Broken rows are named, counted and left out.

    Raises:
        InputError: Neither a file nor the name of a set of pairs, a missing column, or no good row.
    """
    if isinstance(source, EvaluationSet):
        return source
    path = Path(source)
    if path.is_file():
        return _read_pairs(path, domain)
    sets = ", ".join(name for name, task in TASKS.items() if task.kind is Kind.PAIRS)
    if str(source).partition(":")[0] not in TASKS:
        raise InputError(
            f"{source}: neither a file nor an evaluation set. Expected a table with the "
            f"columns {', '.join(COLUMNS[Kind.PAIRS])}, or one of: {sets}"
        )
    task, split = find_task(str(source))
    if task.kind is not Kind.PAIRS:
        raise InputError(f"{source}: a set of {task.kind}. Expected: {sets}")
    return load_set(task, data_dir, split)


def _read_pairs(path: Path, domain: str) -> EvaluationSet:
    lines = read_cells(path, tabs=path.suffix.lower() != ".csv", strict=False)
    _, header = next(lines, (1, []))
    needed = [*COLUMNS[Kind.PAIRS], *([domain] if domain != DOMAIN else [])]
    if missing := [name for name in needed if name not in header]:
        raise InputError(
            f"{path}, line 1: no column {', '.join(missing)}. Got: {listed(header)}. Expected a "
            f"header with {', '.join(needed)}"
        )
    task, rows, broken = file_task(path), list[Row](), list[str]()
    for line, cells in lines:
        if cells in ([], [""]):
            continue
        try:
            if len(cells) != len(header):
                raise ValueError(f"{len(cells)} cells, the header has {len(header)}")
            record = dict(zip(header, cells, strict=True))
            rows.append(row_of(record | {"subtask": record.get(domain, "").strip()}, task))
        except ValueError as error:
            problem = str(error).replace(_OUTSIDE, " is not a finite number")
            broken.append(f"{path}, line {line}: {problem}")
    if not rows:
        why = broken[0] if broken else "It has only a header."
        raise InputError(f"{path}: no usable row. {why}")
    for text in broken[:_NAMED]:
        note(f"Skipped: {text}")
    notes = oddities(rows)
    if broken:
        notes.append(f"{len(broken)} broken rows skipped, such as: {broken[0]}")
    task = file_task(path, [row.score for row in rows])
    return EvaluationSet(task, ALL, tuple(rows), str(path), tuple(notes), len(broken))


def file_task(path: Path, scores: Sequence[float] = ()) -> Task:
    """The task that a file of one's own is: its scores range from the lowest to the highest."""
    return Task(
        name=path.stem,
        title=path.name,
        kind=Kind.PAIRS,
        metrics=(Metric.SPEARMAN,),
        splits={ALL: Published(len(scores))},
        default=(ALL,),
        files=(),
        hub=None,
        score_range=(min(scores), max(scores)) if scores else (-_LARGEST, _LARGEST),
        licence="not known",
        source=path.name,
    )


def check_scores(data: EvaluationSet) -> None:
    """Raise `InputError` where nothing can correlate: too few pairs, or all scores alike."""
    scores = {row.score for row in data.rows}
    if len(data.rows) < 2 or len(scores) < 2:
        raise InputError(
            f"{data.source}: {len(data.rows)} pairs with {len(scores)} different scores. Expected "
            "at least two pairs that differ in their score"
        )


def scores_of(data: EvaluationSet) -> Floats:
    """Scores of the pairs, shape (n,)."""
    return np.array([row.score for row in data.rows], dtype=np.float64)
