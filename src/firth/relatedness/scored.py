"""Scored pairs from a file of one's own, or an evaluation set by its name."""

from pathlib import Path

import numpy as np

from firth.evaluate.load import load_set
from firth.evaluate.metrics import Floats
from firth.evaluate.own_files import COLUMNS, Content, read_own
from firth.evaluate.own_sets import own_set
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.task import ALL, TASKS, Kind, find_task
from firth.run.errors import InputError

DOMAIN = "subtask"
"""Column that says where a pair comes from."""


def load_pairs(
    source: "str | Path | EvaluationSet", data_dir: str | Path | None = None, domain: str = DOMAIN
) -> EvaluationSet:
    """Scored pairs: a file, or an evaluation set such as `str-2021` or `sts-b:dev` (in the folder
    `data_dir`); what is loaded already is returned as it is.

    A file (`firth.evaluate.own_files` reads it) has `sentence1`, `sentence2` and `score`, and may
    name a pair's domain in the column `domain`.

    Raises:
        InputError: Neither a file nor the name of a set of pairs, a missing column, or broken rows.
    """
    if isinstance(source, EvaluationSet):
        return source
    path = Path(source)
    if path.is_file():
        columns = {"group": domain} if domain != DOMAIN else None
        return own_set(read_own(path, columns, Content.SCORED), ALL)
    sets = ", ".join(name for name, task in TASKS.items() if task.kind is Kind.PAIRS)
    if str(source).partition(":")[0] not in TASKS:
        raise InputError(
            f"{source}: neither a file nor an evaluation set. Expected a table with the "
            f"columns {', '.join(COLUMNS[Content.SCORED])}, or one of: {sets}"
        )
    task, split = find_task(str(source))
    if task.kind is not Kind.PAIRS:
        raise InputError(f"{source}: a set of {task.kind}. Expected: {sets}")
    return load_set(task, data_dir, split)


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
