"""Spearman, Pearson and accuracy, with bootstrap intervals and paired differences."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.evaluate.statistic import Floats, Metric, prepare, resample
from firth.run.errors import InputError

__all__ = [
    "CONFIDENCE", "Difference", "Drawn", "Estimate", "Floats", "Metric", "draw", "draw_difference",
    "estimate", "interval", "mean_estimate", "paired_difference", "undefined",
]  # fmt: skip

CONFIDENCE = 0.95


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
    if reason := undefined(metric, x, y):
        return Estimate(None, None, None, len(x), reason)
    drawn = draw(metric, x, y, seed=seed, resamples=resamples, units=units)
    return Estimate(100 * drawn.value, *interval(drawn.resampled), len(x))


@dataclass(frozen=True, eq=False)
class Drawn:
    """A figure, as a share of 1, and what it was in each resample, shape (resamples,)."""

    value: float
    resampled: Floats


def draw(
    metric: Metric,
    x: Floats,
    y: Floats,
    *,
    seed: int,
    resamples: int,
    units: npt.NDArray[np.int64] | None = None,
) -> Drawn:
    """A metric of two columns where it is defined, and in each resample; see `estimate`."""
    n = len(x)
    if units is None:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    statistic = prepare(metric, x, y)
    found = [statistic(counts) for counts in resample(n, resamples, seed, units)]
    return Drawn(float(statistic(np.ones((1, n)))[0]), np.concatenate(found))


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
    n = len(first[0])
    if any(column.shape != (n,) for column in (*first, *second)):
        shapes = [column.shape for column in (*first, *second)]
        raise InputError(f"paired {metric}: got columns of shapes {shapes}")
    if undefined(metric, *first) or undefined(metric, *second):
        return Difference(None, None, None, n)
    drawn = draw_difference(metric, first, second, seed=seed, resamples=resamples, units=units)
    return Difference(100 * drawn.value, *interval(drawn.resampled), n)


def draw_difference(
    metric: Metric,
    first: tuple[Floats, Floats],
    second: tuple[Floats, Floats],
    *,
    seed: int,
    resamples: int,
    units: npt.NDArray[np.int64] | None = None,
) -> Drawn:
    """First minus second where both are defined, and in each resample; see `paired_difference`."""
    n = len(first[0])
    if units is None:
        order = np.lexsort((*first, *second))
        first, second = (first[0][order], first[1][order]), (second[0][order], second[1][order])
    one, two = prepare(metric, *first), prepare(metric, *second)
    everything = np.ones((1, n))
    value = float((one(everything) - two(everything))[0])
    found = [one(counts) - two(counts) for counts in resample(n, resamples, seed, units)]
    return Drawn(value, np.concatenate(found))


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
    if reason := next(filter(None, (undefined(metric, *pair) for pair in columns)), None):
        return Estimate(None, None, None, n, reason)
    if units is None:
        order = np.lexsort(flat[::-1])  # as in `estimate`
        columns = [(x[order], y[order]) for x, y in columns]
    statistics = [prepare(metric, x, y) for x, y in columns]

    def mean(counts: Floats) -> Floats:
        return np.asarray(np.mean([one(counts) for one in statistics], axis=0), dtype=np.float64)

    value = float(mean(np.ones((1, n)))[0])
    low, high = interval(np.concatenate([mean(c) for c in resample(n, resamples, seed, units)]))
    return Estimate(100 * value, low, high, n)


def undefined(metric: Metric, x: Floats, y: Floats) -> str | None:
    """Why the metric of two columns says nothing; None where it does."""
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


def interval(drawn: Floats) -> tuple[float | None, float | None]:
    """Both ends of the 95 % interval, × 100, over the resamples in which a metric is defined."""
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return None, None
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return 100 * float(low), 100 * float(high)
