"""Correlations, accuracy, ranking of two classes; bootstrap intervals and paired differences.

A metric is a function of *counts*: how often each observation was drawn in a resample. So a
thousand resamples are a few array operations, and ranks are recomputed in each without sorting
again, since the order of the values never changes, only how often each one counts.

Wherever a bootstrap is asked for, `seed` decides the resamples, `resamples` is their number, and
`units`, shape (n, 2), says which two texts each row compares where rows share them. Then texts are
resampled instead of rows, and a row counts once for every pair of copies: rows that share a text
are not independent, and resampling them would give intervals that are too narrow. The order of the
rows changes nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from firth.run.errors import InputError

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Columns = tuple[Floats, Floats]
"""What one system is measured by, each of shape (n,): gold scores and similarities; of triplets,
similarities of (anchor, positive) and of (anchor, negative)."""
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
    AVERAGE_PRECISION = "average-precision"
    """Of gold scores 0 and 1: precision at each similarity, weighed by what recall gains there;
    equal similarities are one step."""
    AUC = "auc"
    """Of gold scores 0 and 1: how often a 1 has a larger similarity than a 0; ties count half."""


@dataclass(frozen=True)
class Estimate:
    """A figure of n observations with its 95 % bootstrap percentile interval, all × 100.

    `value` is the metric on the data themselves, `low` and `high` are its 2.5th and 97.5th
    percentile over resamples; None where it is undefined, for the `reason`.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None = None

    def __str__(self) -> str:
        """`49.1 [46.5, 51.6]`, or `undefined`."""
        if self.value is None:
            return "undefined"
        interval = "" if self.low is None else f" [{self.low:.1f}, {self.high:.1f}]"
        return f"{self.value:.1f}{interval}"


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
            turned = Difference(-self.value, -self.high, -self.low, self.n)
            return turned.sentence(second, first)
        interval = f"{self.value:.1f} [{self.low:.1f}, {self.high:.1f}]"
        if self.decided:
            return f"{first} beats {second} by {interval}"
        return f"no difference shown: {first} minus {second} is {interval}"


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that are resampled by themselves: a set, or a part of one.

    Attributes:
        systems: What is measured on them; row by row, all are about the same observations.
        seed: Of the resampling.
        units: The two texts of each row, where rows share them.
        name: What a reason begins with, where there are several parts.
        weight: Of its figure in that of all parts; None is the plain mean.
    """

    systems: Sequence[Columns]
    seed: int
    units: Rows | None = None
    name: str = ""
    weight: float | None = None


def estimate(
    metric: Metric, x: Floats, y: Floats, *, seed: int, resamples: int = 1_000,
    units: Rows | None = None,
) -> Estimate:  # fmt: skip
    """A metric of two columns, with its interval; raise `InputError` if they differ in shape."""
    return mean_estimate(metric, [Part([(x, y)], seed, units)], resamples)


def paired_difference(
    metric: Metric, first: Columns, second: Columns, *, seed: int, resamples: int = 1_000,
    units: Rows | None = None,
) -> Difference:  # fmt: skip
    """Paired bootstrap: both systems are measured on the same resamples, and subtracted.

    Row by row, both are about the same observations; raise `InputError` if they differ in shape.
    """
    return mean_difference(metric, [Part((first, second), seed, units)], resamples)


def mean_estimate(metric: Metric, parts: Sequence[Part], resamples: int) -> Estimate:
    """The mean of a metric over the systems of each part, and over parts, with its interval.

    The means of the first, the second, … resample of all parts make the interval. Undefined, with
    the reason, where it is so for a system of a part; raise `InputError` if columns of a part
    differ in shape.
    """
    n, reason = _rows(metric, parts)
    if reason:
        return Estimate(None, None, None, n, reason)
    return Estimate(*_bootstrap(metric, parts, resamples, difference=False), n)


def mean_difference(metric: Metric, parts: Sequence[Part], resamples: int) -> Difference:
    """As `mean_estimate`, of how far the first of a part's two systems is ahead of the second."""
    n, reason = _rows(metric, parts)
    if reason:
        return Difference(None, None, None, n)
    return Difference(*_bootstrap(metric, parts, resamples, difference=True), n)


def _rows(metric: Metric, parts: Sequence[Part]) -> tuple[int, str]:
    """How many there are, and why the metric is undefined on them, or ""."""
    n = 0
    for part in parts:
        shapes = [column.shape for columns in part.systems for column in columns]
        if len(set(shapes)) > 1 or len(shapes[0]) != 1:
            raise InputError(f"{metric}: got columns of shapes {', '.join(map(str, shapes))}")
        n += shapes[0][0]
    for part in parts:
        for columns in part.systems:
            if reason := undefined(metric, *columns):
                return n, f"{part.name}: {reason}" if part.name else reason
    return n, ""


def _bootstrap(
    metric: Metric, parts: Sequence[Part], resamples: int, *, difference: bool
) -> tuple[float, float | None, float | None]:
    """Value and interval x 100; the interval is over the resamples in which it is defined."""
    figures = np.array([_drawn(metric, part, resamples, difference) for part in parts])
    if parts[0].weight is None:
        figure = np.mean(figures, axis=0)
    else:
        figure = sum(part.weight * one for part, one in zip(parts, figures, strict=True))
    value, drawn = 100 * float(figure[0]), figure[1:][np.isfinite(figure[1:])]
    if not len(drawn):
        return value, None, None
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return value, 100 * float(low), 100 * float(high)


def _drawn(metric: Metric, part: Part, resamples: int, difference: bool) -> Floats:
    """The figure of a part on its rows, and in each resample, shape (1 + resamples,)."""
    systems = part.systems
    if part.units is None:
        # The last key counts first: rows are ordered by their content before they are drawn.
        keys = [column for columns in systems for column in columns]
        order = np.lexsort(keys if difference else keys[::-1])
        systems = [(x[order], y[order]) for x, y in systems]
    statistics = [_STATISTICS[metric](x, y) for x, y in systems]
    n = len(systems[0][0])

    def figure(counts: Floats) -> Floats:
        found = [statistic(counts) for statistic in statistics]
        return found[0] - found[1] if difference else np.mean(found, axis=0)

    whole = np.ones((1, n))
    return np.concatenate(
        [figure(c) for c in (whole, *_counts(n, resamples, part.seed, part.units))]
    )


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
    if metric in (Metric.AUC, Metric.AVERAGE_PRECISION) and x.min() != x.max():
        return None
    for column, what in ((x, "gold scores"), (y, "similarities")):
        if column.min() == column.max():
            return f"all {len(column)} {what} equal {column[0]:g}"
    return None


def _counts(n: int, resamples: int, seed: int, units: Rows | None) -> Iterator[Floats]:
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


def _accuracy(x: Floats, y: Floats) -> Statistic:
    right = (x > y).astype(np.float64)

    def statistic(counts: Floats) -> Floats:
        whole = counts.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(whole > 0, (counts @ right) / whole, np.nan)

    return statistic


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


def _average_precision(x: Floats, y: Floats) -> Statistic:
    order = np.argsort(-y, kind="stable")
    ordered, alike = y[order], x[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))

    def statistic(counts: Floats) -> Floats:
        every = np.add.reduceat(counts[:, order], starts, axis=1)
        right = np.add.reduceat(counts[:, order] * alike, starts, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            precision = np.cumsum(right, axis=1) / np.cumsum(every, axis=1)
            gained = right / right.sum(axis=1, keepdims=True)
            found: Floats = np.where(right > 0, precision * gained, gained).sum(axis=1)
        return found

    return statistic


def _auc(x: Floats, y: Floats) -> Statistic:
    ranks_of_y = _Ranks(y)

    def statistic(counts: Floats) -> Floats:
        ranks, _ = ranks_of_y(counts)
        ones = counts @ x
        with np.errstate(invalid="ignore", divide="ignore"):
            # Mann & Whitney: the sum of centred ranks of the ones is 0 where they stand at random.
            above = (ranks * counts * x).sum(axis=1) / (ones * (counts.sum(axis=1) - ones))
        shares: Floats = 0.5 + above
        return shares

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


_STATISTICS: dict[Metric, Callable[[Floats, Floats], Statistic]] = {
    Metric.ACCURACY: _accuracy,
    Metric.AUC: _auc,
    Metric.AVERAGE_PRECISION: _average_precision,
    Metric.PEARSON: _pearson,
    Metric.SPEARMAN: _spearman,
}
