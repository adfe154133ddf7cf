"""How well a Surrogate repeats Origin: L2, the constant predictor's L2, rank correlation."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm, rankdata

Values = npt.NDArray[np.float64]
ALL = "all"
ENOUGH = 200
"""Pairs below which a report says that its figures are rough."""


@dataclass(frozen=True)
class Figures:
    """Agreement of a model with Origin on some pairs.

    Attributes:
        n: Number of pairs.
        l2: Mean squared difference of the model's cosine and the calibrated label.
        constant_l2: The same for a model that always answers the mean training label. A Surrogate
            that is not below this has learned nothing that L2 can see.
        spearman: Rank correlation of cosine and raw Origin score; None where it is undefined.
        low: Lower end of its 95 % interval (Bonett & Wright 2000, Eq. 4); None below 10 pairs.
        high: Upper end of that interval.
    """

    n: int
    l2: float
    constant_l2: float
    spearman: float | None
    low: float | None
    high: float | None


def measure(cosines: Values, labels: Values, scores: Values, constant: float) -> Figures:
    """Compare cosines with labels and raw scores, all of shape (n,) with n ≥ 1."""
    n, spearman = len(cosines), rank_correlation(cosines, scores)
    low = high = None
    if spearman is not None and n >= 10:
        # Fisher's z, with Bonett and Wright's standard error for ranks.
        z = np.arctanh(np.clip(spearman, -0.999999, 0.999999))
        reach = norm.ppf(0.975) * np.sqrt((1 + spearman**2 / 2) / (n - 3))
        low, high = (round(float(np.tanh(z + side * reach)), 6) for side in (-1, 1))
    return Figures(
        n=n,
        l2=round(float(np.mean((cosines - labels) ** 2)), 6),
        constant_l2=round(float(np.mean((constant - labels) ** 2)), 6),
        spearman=None if spearman is None else round(spearman, 6),
        low=low,
        high=high,
    )


def measure_by_kind(
    cosines: Values, labels: Values, scores: Values, constant: float, kinds: Sequence[str]
) -> dict[str, Any]:
    """`measure` as plain values: kind of pair → figures, and all pairs under "all"."""
    named = np.asarray(kinds)
    chosen = {ALL: np.ones(len(named), bool)} | {
        str(kind): named == kind for kind in np.unique(named)
    }
    return {
        kind: asdict(measure(cosines[rows], labels[rows], scores[rows], constant))
        for kind, rows in chosen.items()
    }


def rank_correlation(one: Values, two: Values) -> float | None:
    """Spearman's ρ; None with fewer than 3 pairs or where one side is constant."""
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return None
    return float(np.corrcoef(rankdata(one), rankdata(two))[0, 1])


def cautions(sizes: Mapping[str, int], splits: Sequence[str]) -> list[str]:
    """What to keep in mind about figures of so few pairs; empty where there are enough."""
    return [
        f"{split} has {sizes[split]} pairs, fewer than {ENOUGH}: its figures are rough, see the "
        "intervals. Harvest more pairs for firmer ones."
        for split in splits
        if sizes[split] < ENOUGH
    ]
