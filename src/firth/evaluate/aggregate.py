"""One figure for a set of several subtasks: over all rows, or averaged over subtasks or folds."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from firth.evaluate.definition import ALL
from firth.evaluate.folds import FOLDS, Scheme, divide
from firth.evaluate.metrics import Estimate, Floats, Metric, draw, estimate, interval, undefined
from firth.evaluate.rows import EvaluationSet
from firth.run.errors import InputError
from firth.run.seeds import derive_seed


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


def aggregate(
    data: EvaluationSet,
    similarities: Floats,
    metric: Metric,
    how: Aggregate,
    *,
    seed: int = 13,
    resamples: int = 1_000,
) -> Estimate:
    """A metric on a set, put together as `how` says, with a bootstrap interval.

    Args:
        data: The set.
        similarities: One for each of `data.pairs`, in their order.
        metric: Which figure.
        how: How parts become one figure. A set without subtasks has one part.
        seed: Of the resampling, and of the folds.
        resamples: Bootstrap resamples; rows are resampled within each part.

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
    parts = parts_of(data, how, seed)
    return mean_over_parts(
        x, y, parts, metric, by_size=how is Aggregate.WEIGHTED, seed=seed, resamples=resamples
    )


def mean_over_parts(
    x: Floats,
    y: Floats,
    parts: Mapping[str, npt.NDArray[np.int64]],
    metric: Metric,
    *,
    by_size: bool = False,
    seed: int = 13,
    resamples: int = 1_000,
) -> Estimate:
    """The mean of a metric over parts of some rows, with a bootstrap interval.

    Args:
        x: Gold scores, shape (n,).
        y: Similarities, shape (n,).
        parts: Name → row numbers; parts do not share rows.
        metric: Which figure.
        by_size: Weigh each part by its number of rows.
        seed: Of the resampling; rows are resampled within each part.
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
        if reason := undefined(metric, x[rows], y[rows]):
            return Estimate(None, None, None, n, f"{name}: {reason}")
        of_part = derive_seed(seed, "part", name)
        drawn = draw(metric, x[rows], y[rows], seed=of_part, resamples=resamples)
        value += weight * drawn.value
        resampled += weight * drawn.resampled
    return Estimate(100 * value, *interval(resampled), n)


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


def parts_of(data: EvaluationSet, how: Aggregate, seed: int) -> Mapping[str, npt.NDArray[np.int64]]:
    """Name → row numbers of the parts that `how` averages over."""
    if how in (Aggregate.FOLDS, Aggregate.CROSS_TOPIC):
        scheme = Scheme.RANDOM if how is Aggregate.FOLDS else Scheme.CROSS_TOPIC
        return {fold.name: fold.test for fold in divide(data, scheme, seed)}
    groups = data.subtasks
    return {name: rows for name, rows in groups.items() if name != ALL} or groups
