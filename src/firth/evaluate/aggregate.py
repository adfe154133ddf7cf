"""Parts of a set (subtasks, folds, topics), and one figure for all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from firth.evaluate.metrics import Drawn, Estimate, Floats, Metric, Rows, draw, estimate, undefined
from firth.evaluate.rows import EvaluationSet, fingerprint_rows
from firth.evaluate.task import ALL
from firth.run.errors import InputError
from firth.run.seeds import derive_seed

FOLDS = 10


class Scheme(StrEnum):
    """How rows are divided for cross-validation."""

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
    train: Rows
    test: Rows


def divide(data: EvaluationSet, scheme: Scheme, seed: int = 13, folds: int = FOLDS) -> list[Fold]:
    """Divide a set. Which rows stand together depends on their content, not on their order.

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


class Aggregate(StrEnum):
    """How a set's parts become one figure."""

    ALL = "all"
    """One correlation over all rows: what SentEval calls `all`."""
    MEAN = "mean"
    """Mean of the subtasks' figures."""
    WEIGHTED = "weighted"
    """Mean weighted by the subtasks' numbers of rows: what SemEval ranked by from 2013 on."""
    FOLDS = "10-fold"
    """Mean of the figures on ten random folds; how AFS is reported."""
    CROSS_TOPIC = "cross-topic"
    """Mean of the figures on each topic: as MEAN, for systems trained on the other topics."""


def parse_aggregates(names: Sequence[str]) -> list[Aggregate]:
    """The aggregates of some names; raise `InputError` for an unknown one."""
    known = {how.value: how for how in Aggregate}
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"aggregate {', '.join(unknown)}: expected one of {', '.join(known)}")
    return [known[name] for name in names]


def applies(data: EvaluationSet, how: Aggregate) -> bool:
    """Whether a set has parts that `how` averages over: subtasks, or rows enough for folds."""
    if data.units is not None or how is Aggregate.ALL:
        return False
    if how is Aggregate.FOLDS:
        return len(data.rows) >= 2 * FOLDS
    return len(data.subtasks) > 1


def parts_of(data: EvaluationSet, how: Aggregate, seed: int) -> Mapping[str, Rows]:
    """Name → row numbers of the parts that `how` averages over."""
    if how in (Aggregate.FOLDS, Aggregate.CROSS_TOPIC):
        scheme = Scheme.RANDOM if how is Aggregate.FOLDS else Scheme.CROSS_TOPIC
        return {fold.name: fold.test for fold in divide(data, scheme, seed)}
    groups = data.subtasks
    return {name: rows for name, rows in groups.items() if name != ALL} or groups


def aggregate(
    data: EvaluationSet, similarities: Floats, metric: Metric, how: Aggregate, *,
    seed: int = 13, resamples: int = 1_000,
) -> Estimate:  # fmt: skip
    """A metric on a set, put together as `how` says, with a bootstrap interval.

    Args:
        data: The set; without subtasks it has one part.
        similarities: One for each of `data.pairs`, in their order.
        metric: Which figure.
        how: How parts become one figure.
        seed: Of the folds, and of the resampling of the rows within each part.
        resamples: Bootstrap resamples.

    Returns:
        × 100. Undefined, with the reason, when it is undefined on one of the parts.

    Raises:
        InputError: The set cannot be divided as asked, or its rows are not independent.
    """
    x, y = data.columns(similarities)
    if how is Aggregate.ALL:
        return estimate(metric, x, y, seed=seed, resamples=resamples, units=data.units)
    if data.units is not None:
        raise InputError(f"{data.task.name}: its rows share texts; only the aggregate `all` fits")
    by_size = how is Aggregate.WEIGHTED
    return mean_over_parts(x, y, parts_of(data, how, seed), metric,
                           by_size=by_size, seed=seed, resamples=resamples)  # fmt: skip


def mean_over_parts(
    x: Floats, y: Floats, parts: Mapping[str, Rows], metric: Metric, *,
    by_size: bool = False, seed: int = 13, resamples: int = 1_000,
) -> Estimate:  # fmt: skip
    """The mean of a metric over parts of some rows, with a bootstrap interval.

    Args:
        x: Gold scores, shape (n,).
        y: Similarities, shape (n,).
        parts: Name → row numbers; parts do not share rows.
        metric: Which figure.
        by_size: Weigh each part by its number of rows.
        seed: Of the resampling of the rows within each part.
        resamples: Bootstrap resamples.

    Returns:
        × 100, with `n` the rows of all parts. Undefined, with the reason, when it is undefined on
        one of them.
    """
    sizes = np.array([len(rows) for rows in parts.values()], dtype=np.float64)
    n = int(sizes.sum())
    if not n:
        return Estimate(None, None, None, n, "there are no rows")
    weights = sizes if by_size else np.ones(len(parts))
    weights = weights / weights.sum()
    value, resampled = 0.0, np.zeros(resamples)
    for (name, rows), weight in zip(parts.items(), weights, strict=True):
        columns = x[rows], y[rows]
        if reason := undefined(metric, *columns):
            return Estimate(None, None, None, n, f"{name}: {reason}")
        of_part = derive_seed(seed, "part", name)
        drawn = draw(metric, [columns], seed=of_part, resamples=resamples)
        value += weight * drawn.value
        resampled += weight * drawn.resampled
    return Drawn(value, resampled).estimate(n)
