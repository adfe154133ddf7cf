"""Origin scores as labels: a monotonic map onto a cosine's range, fitted on training pairs alone.

Raw similarities of Eq. 4 lie close together, so that a constant predictor already has a tiny L2
and a cosine can hardly be off. Spread over [0, 1], an error means something. Where the start is a
good copy already, only the order of scores is worth teaching: on the scale of its own cosines, no
label asks for another level.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from firth.run.errors import InputError
from firth.run.section import Section
from firth.surrogate.settings import Calibration

Values = npt.NDArray[np.float64]
KNOTS = 1001
"""Points kept of the quantile function: no label is off by more than 1 / (KNOTS - 1)."""


class LabelMap(Section):
    """How a raw Origin score becomes a label, in [0, 1] or (match) in [-1, 1], and back.

    Example:
        >>> fitted = LabelMap.fit([-0.2, 0.1, 0.3, 0.9], Calibration.QUANTILE)
        >>> fitted.apply([-5.0, 0.1, 0.2]).tolist()
        [0.125, 0.375, 0.5]
        >>> fitted.invert([0.375]).tolist()
        [0.1]
    """

    calibration: Calibration
    mean: float
    """Mean of the training scores."""
    deviation: float
    """Their standard deviation, above 0."""
    scores: tuple[float, ...] = ()
    """quantile: strictly ascending scores, at most `KNOTS`."""
    labels: tuple[float, ...] = ()
    """quantile: their labels, strictly ascending, in (0, 1)."""
    centre: float = 0.0
    """match: mean of the start's cosines."""
    spread: float = 1.0
    """match: their standard deviation, above 0."""

    @classmethod
    def fit(
        cls, scores: npt.ArrayLike, calibration: Calibration, cosines: npt.ArrayLike = ()
    ) -> "LabelMap":
        """Fit the map on training scores.

        Args:
            scores: Of training pairs.
            calibration: The kind of map.
            cosines: match only, and needed there: the start's, of training pairs.

        Raises:
            InputError: There are none, some are not finite, or all are the same.
        """
        values = checked_scores(scores)
        known: dict[str, Any] = {"mean": values.mean(), "deviation": values.std()}
        if calibration is Calibration.MATCH:
            known["centre"], known["spread"] = _scale(np.asarray(cosines, np.float64))
        if calibration is Calibration.QUANTILE:
            scores, ranks = _quantiles(values)
            known |= {"scores": scores.tolist(), "labels": ranks.tolist()}
        return cls(calibration=calibration, **known)

    def apply(self, scores: npt.ArrayLike) -> Values:
        """Labels of raw scores, same shape, in [-1, 1]; not decreasing."""
        values = np.asarray(scores, np.float64)
        standard = (values - self.mean) / self.deviation
        match self.calibration:
            case Calibration.QUANTILE:
                return np.asarray(np.interp(values, self.scores, self.labels))
            case Calibration.ZSCORE:
                return np.asarray(ndtr(standard))
            case Calibration.MATCH:
                return np.clip(self.centre + self.spread * standard, -1.0, 1.0)
            case Calibration.NONE:
                return np.clip(values, 0.0, 1.0)

    def invert(self, labels: npt.ArrayLike) -> Values:
        """Raw scores of labels, same shape; outside what was seen, the nearest score seen."""
        values = np.asarray(labels, np.float64)
        match self.calibration:
            case Calibration.QUANTILE:
                return np.asarray(np.interp(values, self.labels, self.scores))
            case Calibration.ZSCORE:
                standard = ndtri(np.clip(values, 1e-9, 1 - 1e-9))
            case Calibration.MATCH:
                standard = (values - self.centre) / self.spread
            case Calibration.NONE:
                return np.clip(values, 0.0, 1.0)
        return np.asarray(self.mean + self.deviation * standard)


def checked_scores(scores: npt.ArrayLike) -> Values:
    """Training scores, shape (n,); raise `InputError` where nothing can be learned from them."""
    values = np.asarray(scores, np.float64).ravel()
    if bad := int(np.count_nonzero(~np.isfinite(values))):
        raise InputError(f"{bad} of {len(values)} training scores are not finite numbers")
    if not len(values) or np.ptp(values) == 0:
        got = "all training scores are equal" if len(values) else "no training pair"
        raise InputError(f"{got}: nothing to distil. Harvest more: firth harvest --run RUN")
    return values


def _quantiles(values: Values) -> tuple[Values, Values]:
    """Distinct values, at most `KNOTS` and about evenly spaced in rank, and the share of values
    below each, equal ones sharing the middle of their ranks. Memory holds a sorted copy."""
    ordered = np.sort(values)
    n = len(ordered)
    if 1 + np.count_nonzero(ordered[1:] != ordered[:-1]) <= KNOTS:
        distinct, counts = np.unique(ordered, return_counts=True)
        return distinct, (np.cumsum(counts) - counts / 2) / n

    def ranks(of: Values) -> Values:
        first, last = np.searchsorted(ordered, of), np.searchsorted(ordered, of, "right")
        found: Values = (first + last) / (2 * n)
        return found

    low, high = ranks(ordered[[0, -1]])
    wanted = np.linspace(low, high, KNOTS)
    # The first value whose rank reaches what is wanted: the one that stands there, or the next.
    reached = ordered[np.minimum((wanted * n).astype(np.int64), n - 1)]
    after = np.searchsorted(ordered, reached, "right")
    below = ranks(reached) < wanted
    reached[below] = ordered[np.minimum(after[below], n - 1)]
    kept = np.unique(reached)
    return kept, ranks(kept)


def _scale(cosines: Values) -> tuple[float, float]:
    if len(cosines) and np.isfinite(spread := float(cosines.std())) and spread > 0:
        return float(cosines.mean()), spread
    raise InputError(
        "surrogate.calibration: got match, which takes the scale of the start's cosines, and "
        f"{'they are all alike' if len(cosines) else 'there are none'}; expected quantile, "
        "zscore or none"
    )
