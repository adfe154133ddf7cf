"""Split-half reliability: how similar the scores of two halves of the answers are.

The answers to each tuple are divided into two bins, each bin gives scores by counting, and the two
rankings are correlated, many times (Abdalla et al., §4; Kiritchenko and Mohammad 2017).
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from firth.ratings.answers import Judgements, to_scores
from firth.run.console import progress
from firth.run.settings import derive_seed
from firth.text.types import Floats

SPLITS = 1_000


@dataclass(frozen=True)
class Spread:
    """A correlation over many splits: the mean, and the middle 95 % of the splits."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> "Spread":
        """Summarize the splits in which the correlation is defined."""
        defined = values[np.isfinite(values)]
        low, high = np.quantile(defined, [0.025, 0.975])
        return cls(float(defined.mean()), float(low), float(high))

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
    numbers = progress(range(splits), "Splits")
    correlations = [correlate_halves(judgements, draw_halves(judgements, rng)) for _ in numbers]
    by_rank, linear = np.array(correlations).T
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


def draw_halves(judgements: Judgements, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Divide the answers to each tuple into two bins of equal size, (A,).

    Of an odd number, a coin decides the bin of the last one, so that no bin is larger on average.
    """
    order = np.lexsort((rng.random(len(judgements)), judgements.asked))
    first = np.searchsorted(judgements.asked[order], judgements.asked[order])
    coins = rng.integers(2, size=len(judgements.tuples))
    halves = np.empty(len(judgements), np.bool_)
    places = np.arange(len(order)) - first
    halves[order] = (places + coins[judgements.asked[order]]) % 2 == 1
    return halves


def correlate_halves(judgements: Judgements, halves: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Correlate the scores of the two bins: rank and linear, over the items judged in both.

    They are NaN where all scores of a bin are equal, or fewer than three items are judged in both.
    """
    from scipy.stats import rankdata

    scores = []
    for half in (halves, ~halves):
        rows = judgements.asked[half], judgements.best[half], judgements.worst[half]
        times, best, worst = replace(judgements, asked=rows[0], best=rows[1], worst=rows[2]).count()
        scores.append(to_scores(best - worst, times))
    judged = np.isfinite(scores[0]) & np.isfinite(scores[1])
    first, second = (half[judged] for half in scores)
    if len(first) < 3 or not np.ptp(first) or not np.ptp(second):
        return np.nan, np.nan
    by_rank = np.corrcoef(rankdata(first), rankdata(second))[0, 1]
    return float(by_rank), float(np.corrcoef(first, second)[0, 1])
