"""Spearman, Pearson and accuracy, with bootstrap intervals and paired differences.

A resample is a row of *counts*: how often each observation was drawn. Every metric here is a
function of such counts, so a thousand resamples are a few array operations. Ranks are recomputed
in each resample without sorting again: the order of the values never changes, only how often each
one counts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from firth.errors import InputError

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""Counts of shape (resamples, n) → the metric in each resample, shape (resamples,)."""

CONFIDENCE = 0.95
_BLOCK = 1 << 19
"""Counts held at a time; larger blocks fall out of the processor's cache."""


class Metric(StrEnum):
    """How two columns of n numbers become one figure."""

    SPEARMAN = "spearman"
    """Rank correlation of gold score and similarity; ties share their average rank."""
    PEARSON = "pearson"
    """Linear correlation of gold score and similarity."""
    ACCURACY = "accuracy"
    """How often the first column is larger than the second; a tie counts as wrong."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % bootstrap percentile interval, all × 100.

    Attributes:
        value: The metric on the data themselves; None where it is undefined (see `reason`).
        low: 2.5th percentile over resamples, or None.
        high: 97.5th percentile over resamples, or None.
        n: Number of observations.
        reason: Why `value` is None.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None = None

    def __str__(self) -> str:
        """`49.1 [46.5, 51.6]`, or `undefined`."""
        if self.value is None or self.low is None or self.high is None:
            return "undefined" if self.value is None else f"{self.value:.1f}"
        return f"{self.value:.1f} [{self.low:.1f}, {self.high:.1f}]"


def estimate(
    metric: Metric,
    x: Floats,
    y: Floats,
    *,
    seed: int,
    resamples: int = 1_000,
    units: npt.NDArray[np.int64] | None = None,
) -> Estimate:
    """A metric of two columns, with its interval.

    Args:
        metric: Which figure.
        x: Gold scores, or similarities of (anchor, positive); shape (n,).
        y: Similarities, or similarities of (anchor, negative); shape (n,).
        seed: Of the resampling. The interval does not depend on the order of the rows.
        resamples: Number of bootstrap resamples.
        units: Shape (n, 2): which two units (texts) each row compares, where rows share them. Then
            units are resampled instead of rows, and a row counts once for every pair of copies:
            rows that share a text are not independent, and resampling them would give intervals
            that are too narrow.

    Raises:
        InputError: The columns differ in shape.
    """
    if x.shape != y.shape or x.ndim != 1:
        raise InputError(f"metric {metric}: got columns of shapes {x.shape} and {y.shape}")
    n = len(x)
    if reason := _undefined(metric, x, y):
        return Estimate(None, None, None, n, reason)
    if units is None:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    statistic = _prepare(metric, x, y)
    value = float(statistic(np.ones((1, n)))[0])
    low, high = _interval(
        np.concatenate([statistic(c) for c in _counts(n, resamples, seed, units)])
    )
    return Estimate(100 * value, low, high, n)


@dataclass(frozen=True)
class Difference:
    """How far the first of two systems is ahead of the second on the same data, all × 100."""

    value: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def decided(self) -> bool:
        """Whether the 95 % interval leaves out 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def sentence(self, first: str, second: str) -> str:
        """`A beats B by 1.3 [0.4, 2.2]`, or that nothing was shown."""
        if self.value is None or self.low is None or self.high is None:
            return f"{first} and {second} cannot be compared: a score is undefined"
        if self.decided and self.value < 0:
            first, second = second, first
            return (
                f"{first} beats {second} by {-self.value:.1f} [{-self.high:.1f}, {-self.low:.1f}]"
            )
        interval = f"{self.value:.1f} [{self.low:.1f}, {self.high:.1f}]"
        if self.decided:
            return f"{first} beats {second} by {interval}"
        return f"no difference shown: {first} minus {second} is {interval}"


def paired_difference(
    metric: Metric,
    first: tuple[Floats, Floats],
    second: tuple[Floats, Floats],
    *,
    seed: int,
    resamples: int = 1_000,
    units: npt.NDArray[np.int64] | None = None,
) -> Difference:
    """Paired bootstrap: both systems are measured on the same resamples, and subtracted.

    Args:
        metric: Which figure.
        first: Columns x and y of the first system (see `estimate`).
        second: Columns of the second one, row by row about the same observations.
        seed: Of the resampling.
        resamples: Number of bootstrap resamples.
        units: As in `estimate`.

    Raises:
        InputError: The columns differ in shape.
    """
    columns = (*first, *second)
    n = len(first[0])
    if any(column.shape != (n,) for column in columns):
        raise InputError(f"paired {metric}: got columns of shapes {[c.shape for c in columns]}")
    if _undefined(metric, *first) or _undefined(metric, *second):
        return Difference(None, None, None, n)
    if units is None:
        order = np.lexsort(columns)
        first, second = (first[0][order], first[1][order]), (second[0][order], second[1][order])
    one, two = _prepare(metric, *first), _prepare(metric, *second)
    everything = np.ones((1, n))
    value = float((one(everything) - two(everything))[0])
    drawn = np.concatenate([one(c) - two(c) for c in _counts(n, resamples, seed, units)])
    low, high = _interval(drawn)
    return Difference(100 * value, low, high, n)


def mean_estimate(
    metric: Metric,
    columns: Sequence[tuple[Floats, Floats]],
    *,
    seed: int,
    resamples: int = 1_000,
    units: npt.NDArray[np.int64] | None = None,
) -> Estimate:
    """The mean of a metric over several systems, all measured on the same resamples.

    Args:
        metric: Which figure.
        columns: Columns x and y of each system (see `estimate`), row by row about the same
            observations.
        seed: Of the resampling.
        resamples: Number of bootstrap resamples.
        units: As in `estimate`.

    Raises:
        InputError: The columns differ in shape.
    """
    n, flat = len(columns[0][0]), [column for pair in columns for column in pair]
    if any(column.shape != (n,) for column in flat):
        raise InputError(f"mean {metric}: got columns of shapes {[c.shape for c in flat]}")
    if reason := next(filter(None, (_undefined(metric, *pair) for pair in columns)), None):
        return Estimate(None, None, None, n, reason)
    if units is None:
        order = np.lexsort(flat[::-1])  # as in `estimate`
        columns = [(x[order], y[order]) for x, y in columns]
    statistics = [_prepare(metric, x, y) for x, y in columns]

    def mean(counts: Floats) -> Floats:
        return np.asarray(np.mean([one(counts) for one in statistics], axis=0), dtype=np.float64)

    value = float(mean(np.ones((1, n)))[0])
    low, high = _interval(np.concatenate([mean(c) for c in _counts(n, resamples, seed, units)]))
    return Estimate(100 * value, low, high, n)


def _undefined(metric: Metric, x: Floats, y: Floats) -> str | None:
    for column in (x, y):
        if broken := int(np.count_nonzero(~np.isfinite(column))):
            return f"{broken} of {len(column)} similarities are not finite"
    if len(x) == 0:
        return "there are no rows"
    if metric is Metric.ACCURACY:
        return None
    if len(x) < 2:
        return "a correlation needs at least 2 rows"
    for column, what in ((x, "gold scores"), (y, "similarities")):
        if column.min() == column.max():
            return f"all {len(column)} {what} equal {column[0]:g}"
    return None


def _interval(drawn: Floats) -> tuple[float | None, float | None]:
    """Percentiles over the resamples in which the metric is defined."""
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return None, None
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return 100 * float(low), 100 * float(high)


def _counts(
    n: int, resamples: int, seed: int, units: npt.NDArray[np.int64] | None
) -> Iterator[Floats]:
    """Blocks of resamples as counts of each row, shape (≤ block, n)."""
    rng = np.random.default_rng(seed)
    drawn = n if units is None else int(units.max()) + 1
    block = max(1, _BLOCK // max(n, drawn))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        picks = rng.integers(0, drawn, size=(size, drawn))
        picks += np.arange(size)[:, None] * drawn
        counts = np.bincount(picks.ravel(), minlength=size * drawn)
        weights: Floats = counts.reshape(size, drawn).astype(np.float64)
        yield weights if units is None else weights[:, units[:, 0]] * weights[:, units[:, 1]]


def _prepare(metric: Metric, x: Floats, y: Floats) -> Statistic:
    if metric is Metric.ACCURACY:
        return _accuracy(x, y)
    return _pearson(x, y) if metric is Metric.PEARSON else _spearman(x, y)


def _accuracy(x: Floats, y: Floats) -> Statistic:
    right = (x > y).astype(np.float64)
    return lambda counts: _ratio(counts @ right, counts.sum(axis=1))


def _pearson(x: Floats, y: Floats) -> Statistic:
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    moments = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)

    def statistic(counts: Floats) -> Floats:
        n, sx, sy, sxx, syy, sxy = (counts @ moments).T
        covariance = n * sxy - sx * sy
        return _correlation(covariance, n * sxx - sx * sx, n * syy - sy * sy, n * n)

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
        """Centred rank of every row, shape of `counts`; and Σ count · rank², shape (resamples,)."""
        sizes = np.add.reduceat(counts[:, self._order], self._starts, axis=1)
        ends = np.cumsum(sizes, axis=1)
        # A group of m equal values that ends at place e holds the ranks e − m + 1 … e.
        ranks = ends - sizes / 2 - ends[:, -1:] / 2
        return ranks[:, self._group], (sizes * ranks * ranks).sum(axis=1)


def _correlation(covariance: Floats, vx: Floats, vy: Floats, scale: Floats) -> Floats:
    """Pearson's r from unnormalised moments; NaN where a variance is nothing but rounding."""
    zero = (vx <= 1e-12 * scale) | (vy <= 1e-12 * scale)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = covariance / np.sqrt(vx * vy)
    return np.where(zero, np.nan, np.clip(r, -1.0, 1.0))


def _ratio(part: Floats, whole: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, part / whole, np.nan)
