"""Metrics of similarities: correlations with human scores, and ranking of two classes.

Each metric is a statistic of counts (`firth.evaluation.bootstrap`). Ranks are recomputed in every
resample without sorting, because the order of the values never changes, only their counts. The
order of the rows changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import numpy as np

from firth.evaluation.bootstrap import (
    RESAMPLES,
    Estimate,
    Sample,
    Statistic,
    difference_of,
    estimate,
    mean_of_rows,
)
from firth.run.errors import InputError
from firth.text.types import Floats

Columns = tuple[Floats, Floats]
"""The two columns that a metric compares, each (n,): human scores and similarities. For triplets:
similarities of (anchor, positive) and of (anchor, negative)."""


class Metric(StrEnum):
    """How two columns of n numbers become one value."""

    SPEARMAN = "spearman"
    """Rank correlation of human score and similarity; ties share their average rank."""
    PEARSON = "pearson"
    """Linear correlation of human score and similarity."""
    ACCURACY = "accuracy"
    """Share of rows whose first column is larger than the second; a tie is wrong."""
    AVERAGE_PRECISION = "average-precision"
    """For scores 0 and 1: precision at each similarity, weighted by the gain in recall."""


CORRELATIONS = (Metric.SPEARMAN, Metric.PEARSON)
BINARY = (Metric.AVERAGE_PRECISION,)


def measure(
    metric: Metric, x: Floats, y: Floats, *, seed: int, resamples: int = RESAMPLES
) -> Estimate:
    """Measure two `Columns`, (n,), with an interval; no resamples give the value alone."""
    return estimate(metric_sample(metric, [(x, y)], seed), resamples)


def measure_difference(metric: Metric, first: Columns, second: Columns, *, seed: int) -> Estimate:
    """Measure how much higher the first model scores than the second: a paired bootstrap.

    Both are about the same observations, row by row, and are measured on the same resamples.
    """
    return estimate(metric_sample(metric, [first, second], seed))


def metric_sample(
    metric: Metric, systems: Sequence[Columns], seed: int, *, name: str = ""
) -> Sample:
    """Return a metric of one model, or of one minus another, as a sample, for `estimate`.

    The columns of both are, row by row, about the same observations. The rows may have a name for
    messages.
    """
    shapes = {column.shape for columns in systems for column in columns}
    if len(shapes) > 1 or len(next(iter(shapes))) != 1:
        raise InputError(f"{metric}: got columns of shapes {', '.join(map(str, shapes))}")
    n = len(systems[0][0])
    if reason := next(filter(None, (undefined(metric, *columns) for columns in systems)), ""):
        why = f"{name}: {reason}" if name else reason
        return Sample(mean_of_rows(np.zeros(n)), n, seed, undefined=why)
    # Rows are ordered by their content, so that their order decides nothing.
    order = np.lexsort([column for columns in systems for column in columns][::-1])
    first, *second = (_STATISTICS[metric](x[order], y[order]) for x, y in systems)
    return Sample(difference_of(first, *second) if second else first, n, seed)


def undefined(metric: Metric, x: Floats, y: Floats) -> str:
    """Return why a metric of two columns says nothing, or ""."""
    for column in (x, y):
        if broken := int(np.count_nonzero(~np.isfinite(column))):
            return f"{broken} of {len(column)} similarities are not finite"
    if len(x) == 0:
        return "there are no rows"
    if metric is Metric.ACCURACY:
        return ""
    if len(x) < 2:
        return f"{metric} needs at least 2 rows"
    of_classes = metric in BINARY
    for column, what in ((x, "human scores"), (y, "similarities")):
        if column.min() == column.max() and not (of_classes and column is y):
            return f"all {len(column)} {what} equal {column[0]:g}"
    return ""


# Statistics.


def _pearson(x: Floats, y: Floats) -> Statistic:
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    moments = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)

    def statistic(counts: Floats) -> Floats:
        n, sx, sy, sxx, syy, sxy = (counts @ moments).T
        return _correlation(n * sxy - sx * sy, n * sxx - sx * sx, n * syy - sy * sy, n * n)

    return statistic


def _spearman(x: Floats, y: Floats) -> Statistic:
    ranks_of_x, ranks_of_y = _Ranks(x), _Ranks(y)

    def statistic(counts: Floats) -> Floats:
        rx, vx = ranks_of_x(counts)
        ry, vy = ranks_of_y(counts)
        rx *= ry
        rx *= counts
        return _correlation(rx.sum(axis=1), vx, vy, counts.sum(axis=1) ** 3)

    return statistic


def _average_precision(x: Floats, y: Floats) -> Statistic:
    # Rows of equal similarity are one step, from the highest similarity down.
    order = np.argsort(-y, kind="stable")
    ordered = y[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))

    def statistic(counts: Floats) -> Floats:
        counted, similar = (
            np.add.reduceat(values[:, order], starts, axis=1) for values in (counts, counts * x)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            precision = np.cumsum(similar, axis=1) / np.cumsum(counted, axis=1)
            gain = similar / similar.sum(axis=1, keepdims=True)
            values: Floats = np.where(similar > 0, precision * gain, gain).sum(axis=1)
        return values

    return statistic


class _Ranks:
    """Average ranks of fixed values under changing counts, minus their mean."""

    def __init__(self, values: Floats) -> None:
        self._order = np.argsort(values, kind="stable")
        ordered = values[self._order]
        starts = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        self._starts = np.flatnonzero(starts)
        self._group = np.empty(len(values), dtype=np.int64)
        self._group[self._order] = np.cumsum(starts) - 1

    def __call__(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return the centred rank of each row, and the sums of count times squared rank."""
        sizes = np.add.reduceat(counts[:, self._order], self._starts, axis=1)
        ends = np.cumsum(sizes, axis=1)
        # A group of m equal values that ends at place e holds the ranks e - m + 1 to e.
        ranks = ends - sizes / 2 - ends[:, -1:] / 2
        return ranks[:, self._group], (sizes * ranks * ranks).sum(axis=1)


def _correlation(covariance: Floats, vx: Floats, vy: Floats, scale: Floats) -> Floats:
    """Divide moments into Pearson's r; NaN where a variance is nothing but rounding."""
    zero = (vx <= 1e-12 * scale) | (vy <= 1e-12 * scale)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = covariance / np.sqrt(vx * vy)
    return np.where(zero, np.nan, np.clip(r, -1.0, 1.0))


_STATISTICS: Mapping[Metric, Callable[[Floats, Floats], Statistic]] = {
    Metric.ACCURACY: lambda x, y: mean_of_rows((x > y).astype(np.float64)),
    Metric.AVERAGE_PRECISION: _average_precision,
    Metric.PEARSON: _pearson,
    Metric.SPEARMAN: _spearman,
}
