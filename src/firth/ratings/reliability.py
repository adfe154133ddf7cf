"""Split-half reliability: how similar the scores of two halves of the answers are.

The answers to each tuple are divided into two bins, each bin gives scores by counting, and the two
rankings are correlated, many times (Abdalla et al., §4; Kiritchenko and Mohammad 2017). A split is
a column of weights, and counting is a sparse product, so all splits are computed together.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.ratings.answers import Judgements, to_scores
from firth.run.console import Progress
from firth.run.settings import derive_seed
from firth.text.types import Floats

SPLITS = 1_000
Halves = npt.NDArray[np.int8]
FIRST, SECOND = 0, 1
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Spread:
    """A correlation over many splits: the mean, and the middle 95 % of the splits."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> "Spread":
        """Summarize the splits in which the correlation is defined."""
        known = values[np.isfinite(values)]
        low, high = np.quantile(known, [0.025, 0.975])
        return cls(float(known.mean()), float(low), float(high))

    def __str__(self) -> str:
        """Return text such as `0.840 [0.836, 0.844]`."""
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Reliability:
    """Split-half reliability of a set of answers: the correlations of the two halves' scores.

    Splits without a correlation are `undefined` and left out. `stepped_up` is Spearman-Brown's
    2r / (1 + r) of the mean rank correlation: the reliability of halves as large as the whole.
    """

    splits: int
    undefined: int
    spearman: Spread
    pearson: Spread
    stepped_up: float

    def text(self) -> str:
        """Return lines for a screen."""
        return "\n".join(
            [
                f"split-half reliability, mean and middle 95 % of {self.splits:,} random splits:",
                f"  Spearman {self.spearman} (Spearman-Brown: {self.stepped_up:.3f})",
                f"  Pearson  {self.pearson}",
                *([f"  {self.undefined:,} undefined splits left out"] if self.undefined else []),
            ]
        )


def measure_reliability(
    judgements: Judgements, *, seed: int = 13, splits: int = SPLITS
) -> Reliability | None:
    """Measure split-half reliability; the seed decides the splits.

    It is None where no split has three items with different scores that both halves judge.
    """
    rng = np.random.default_rng(derive_seed(seed, "bws", "split", 0))
    parts = []
    step = max(1, _BLOCK // (len(judgements) + 2 * len(judgements.items)))
    with Progress(splits, "Splits") as bar:
        for start in range(0, splits, step):
            size = min(step, splits - start)
            parts.append(correlate_halves(judgements, draw_halves(judgements, rng, size)))
            bar.advance(size)
    by_rank, linear = (np.concatenate(side) for side in zip(*parts, strict=True))
    if not np.isfinite(by_rank).any():
        return None
    spearman = Spread.of(by_rank)
    return Reliability(
        splits=splits,
        undefined=int((~np.isfinite(by_rank)).sum()),
        spearman=spearman,
        pearson=Spread.of(linear),
        stepped_up=2 * spearman.mean / (1 + spearman.mean),
    )


def draw_halves(judgements: Judgements, rng: np.random.Generator, splits: int) -> Halves:
    """Divide the answers to each tuple into two bins of equal size: 0 or 1, (splits, A).

    Of an odd number, a coin decides the bin of the last one, so that no bin is larger on average.
    """
    halves = np.empty((splits, len(judgements)), dtype=np.int8)
    order = np.argsort(judgements.asked, kind="stable")
    numbers = judgements.answered
    first = np.cumsum(numbers) - numbers
    for number in np.unique(numbers[numbers > 0]):
        members = np.flatnonzero(numbers == number)
        at = order[first[members][:, None] + np.arange(number)]
        coins = rng.integers(2, size=(splits, len(members), 1), dtype=np.int8)
        turned = np.arange(number, dtype=np.int8) % 2 ^ coins
        halves[:, at] = turned if number <= 2 else rng.permuted(turned, axis=2)
    return halves


def correlate_halves(judgements: Judgements, halves: Halves) -> tuple[Floats, Floats]:
    """Correlate the scores of the two bins in each split of `draw_halves`, (splits, A).

    Rank and linear correlations are over the items judged in both bins, (splits,) each. They are
    NaN where all scores of a bin are equal.
    """
    from scipy.sparse import csr_array
    from scipy.stats import rankdata

    shape = (len(judgements.items), len(judgements))
    answers, size = np.arange(shape[1]), judgements.tuples.shape[1]
    signs = np.repeat([1.0, -1.0], len(answers)).astype(np.float32)
    places = (np.concatenate([judgements.best, judgements.worst]), np.tile(answers, 2))
    difference = csr_array((signs, places), shape=shape)
    members = judgements.tuples[judgements.asked].ravel()
    ones = np.ones(len(members), dtype=np.float32)
    shown = csr_array((ones, (members, np.repeat(answers, size))), shape=shape)
    scores = []
    for half in (FIRST, SECOND):
        weights = np.ascontiguousarray((halves == half).T, dtype=np.float32)  # exact in 24 bits
        scores.append(to_scores((difference @ weights).T, (shown @ weights).T))
    judged = np.isfinite(scores[0]) & np.isfinite(scores[1])
    scores = [np.where(judged, half, np.nan) for half in scores]
    ranks = [rankdata(half, axis=1, nan_policy="omit") for half in scores]
    return _pearson(*ranks), _pearson(*scores)


def _pearson(x: Floats, y: Floats) -> Floats:
    """Return the correlation of each row of x with that of y, (rows,); both have the same NaN."""
    known = np.isfinite(x)
    n = known.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        x, y = (side - np.where(known, side, 0).sum(axis=1, keepdims=True) / n for side in (x, y))
        x, y = (np.where(known, side, 0) for side in (x, y))
        r = (x * y).sum(axis=1) / np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    return np.where(n[:, 0] < 3, np.nan, r)
