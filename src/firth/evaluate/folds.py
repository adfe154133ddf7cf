"""Cross-validation splits of a set: ten random folds, or one topic held out at a time."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from firth.evaluate.definition import ALL
from firth.evaluate.rows import EvaluationSet, fingerprint_rows
from firth.run.errors import InputError
from firth.run.seeds import derive_seed

FOLDS = 10


class Scheme(StrEnum):
    """How rows are divided."""

    RANDOM = "10-fold"
    """Ten parts of equal size, each with the same share of every topic; as Misra et al. (2016)
    and Reimers & Gurevych (2019) report AFS. Sentences of a test pair may occur in training
    pairs."""
    CROSS_TOPIC = "cross-topic"
    """Train on all topics but one, test on that one (Reimers & Gurevych 2019)."""


@dataclass(frozen=True, eq=False)
class Fold:
    """One division of the rows.

    Attributes:
        name: `fold 1` to `fold 10`, or the topic held out.
        train: Row numbers to learn from, ascending.
        test: Row numbers to report on, ascending; every row is in the test part of one fold.
    """

    name: str
    train: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]


def divide(data: EvaluationSet, scheme: Scheme, seed: int = 13, folds: int = FOLDS) -> list[Fold]:
    """Divide a set. Which rows stand together depends on their content, not on their order.

    Args:
        data: A set of pairs.
        scheme: How.
        seed: Of the random folds.
        folds: How many random folds.

    Raises:
        InputError: Fewer rows than folds, or no two topics to hold out.
    """
    topics = {name: rows for name, rows in data.subtasks.items() if name != ALL}
    n = len(data.rows)
    if scheme is Scheme.CROSS_TOPIC:
        if len(topics) < 2:
            raise InputError(
                f"{data.task.name} {data.split}: cross-topic folds need at least two subtasks, and "
                f"{data.source} names none"
            )
        return [Fold(name, np.setdiff1d(np.arange(n), rows), rows) for name, rows in topics.items()]
    if not 2 <= folds <= n:
        raise InputError(f"{data.task.name} {data.split}: {n} rows cannot make {folds} folds")
    digests = [fingerprint_rows([row]) for row in data.rows]
    of_row = np.empty(n, dtype=np.int64)
    dealt = 0
    for name, rows in (topics or {ALL: np.arange(n)}).items():
        ordered = np.array(sorted(rows.tolist(), key=digests.__getitem__))
        rng = np.random.default_rng(derive_seed(seed, "folds", data.task.name, name))
        # Dealing goes on where the topic before stopped, so that sizes differ by one at most.
        of_row[rng.permutation(ordered)] = (np.arange(len(rows)) + dealt) % folds
        dealt += len(rows)
    return [
        Fold(f"fold {k + 1}", np.flatnonzero(of_row != k), np.flatnonzero(of_row == k))
        for k in range(folds)
    ]
