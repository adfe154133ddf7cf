"""Metrics as functions of counts, so that a thousand resamples are a few array operations.

A resample is a row of *counts*: how often each observation was drawn. Ranks are recomputed in each
resample without sorting again: the order of the values never changes, only how often each one
counts.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""Counts of shape (resamples, n) → the metric in each resample, shape (resamples,)."""

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


def resample(
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


def prepare(metric: Metric, x: Floats, y: Floats) -> Statistic:
    """The metric of two columns of shape (n,) under changing counts."""
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
