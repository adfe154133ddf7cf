"""Estimates with 95 % bootstrap intervals: one statistic, paired differences, means over sets.

A statistic is a function of counts: how often each row was drawn in a resample. A thousand
resamples are then a few array operations, and everything that is compared sees the same resamples.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from firth.run.settings import derive_seed
from firth.text.types import Floats

Statistic = Callable[[Floats], Floats]
"""A function from counts, (resamples, n), to one value for each resample, (resamples,)."""
CONFIDENCE = 0.95
RESAMPLES = 1_000
_BLOCK = 1 << 19
"""Counts held at a time; larger blocks do not fit into the cache of the processor."""


@dataclass(frozen=True)
class Estimate:
    """A value of n rows with its 95 % bootstrap percentile interval, all times 100.

    The value is None where it is undefined, for a reason; low and high where there is no interval.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str = ""

    def __str__(self) -> str:
        """Return text such as `70.0 [68.9, 71.1]`, or `undefined`."""
        value = "undefined" if self.value is None else f"{self.value:z.1f}"
        return f"{value} {self.interval}".rstrip()

    @property
    def interval(self) -> str:
        """The interval as text such as `[68.9, 71.1]`, or ""."""
        if self.low is None or self.high is None:
            return ""
        return f"[{self.low:z.1f}, {self.high:z.1f}]"

    @property
    def signed(self) -> str:
        """A difference as text such as `+1.3 [0.4, 2.2]`, or `undefined`."""
        value = "undefined" if self.value is None else f"{self.value:+z.1f}"
        return f"{value} {self.interval}".rstrip()

    @property
    def sign(self) -> int:
        """1 or -1 where the whole interval lies above or below zero, else 0."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > 0) - int(self.high < 0)

    def verdict(self, first: str, second: str) -> str:
        """Return what a difference, first minus second, says about the two.

        Example:
            >>> Estimate(-1.3, -2.2, -0.4, 100).verdict("A", "B")
            'B is better than A by 1.3 [0.4, 2.2]'
        """
        if self.value is None:
            return f"{first} and {second} cannot be compared: {self.reason}"
        if self.sign < 0 and self.low is not None and self.high is not None:
            turned = Estimate(-self.value, -self.high, -self.low, self.n)
            return turned.verdict(second, first)
        if self.sign > 0:
            return f"{first} is better than {second} by {self}"
        return f"no significant difference: {first} minus {second} is {self}"


@dataclass(frozen=True, eq=False)
class Sample:
    """A statistic of n rows, which are resampled independently of other samples.

    Equal seeds give equal resamples of n rows. `undefined` says why the statistic is undefined on
    these rows, or is "".
    """

    statistic: Statistic
    n: int
    seed: int
    undefined: str = ""

    def values(self, resamples: int) -> Floats:
        """Return the statistic of the rows, then of each resample, (1 + resamples,)."""
        return np.concatenate([self.statistic(counts) for counts in self._counts(resamples)])

    def _counts(self, resamples: int) -> Iterator[Floats]:
        yield np.ones((1, self.n))
        rng = np.random.default_rng(self.seed)
        block = max(1, _BLOCK // max(self.n, 1))
        for start in range(0, resamples, block):
            size = min(block, resamples - start)
            picks = rng.integers(0, self.n, size=(size, self.n))
            picks += np.arange(size)[:, None] * self.n
            drawn = np.bincount(picks.ravel(), minlength=size * self.n)
            yield drawn.reshape(size, self.n).astype(np.float64)


def estimate(samples: Sample | Sequence[Sample], resamples: int = RESAMPLES) -> Estimate:
    """Estimate a statistic, or its mean over several samples, with its interval.

    The first, second, ... resamples of all samples are averaged. Resamples in which the statistic
    is not finite are left out. There is no interval where only one row can be drawn, or without
    resamples.
    """
    samples = [samples] if isinstance(samples, Sample) else list(samples)
    n = sum(sample.n for sample in samples)
    if reason := next((sample.undefined for sample in samples if sample.undefined), ""):
        return Estimate(None, None, None, n, reason)
    values = np.mean([sample.values(resamples) for sample in samples], axis=0)
    value, drawn = float(values[0]), values[1:][np.isfinite(values[1:])]
    if not np.isfinite(value):
        return Estimate(None, None, None, n, "the statistic is not finite")
    if not len(drawn) or all(sample.n < 2 for sample in samples):
        return Estimate(100 * value, None, None, n)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Estimate(100 * value, 100 * float(low), 100 * float(high), n)


def mean_of_rows(values: Floats) -> Statistic:
    """Return the statistic that is the mean of n values, such as the accuracies of questions."""

    def mean(counts: Floats) -> Floats:
        total = counts.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            means: Floats = np.where(total > 0, (counts @ values) / total, np.nan)
        return means

    return mean


def mean_of(statistics: Sequence[Statistic]) -> Statistic:
    """Return the mean of several statistics of the same rows, such as models of several seeds."""
    return lambda counts: np.mean([statistic(counts) for statistic in statistics], axis=0)


def difference_of(first: Statistic, second: Statistic) -> Statistic:
    """Return the first statistic minus the second on the same rows: a paired difference."""
    return lambda counts: first(counts) - second(counts)


def bootstrap_seed(seed: int, *names: str | int) -> int:
    """Return the seed of the resamples of what `names` name: a set, split, subset and metric.

    The model is not among the names, so that all models are measured on the same resamples.
    """
    return derive_seed(seed, "bootstrap", *names)
