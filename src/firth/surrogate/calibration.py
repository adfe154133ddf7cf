"""Origin scores as labels: a monotonic map onto a cosine's range, fitted on training pairs alone.

Raw similarities of Eq. 4 lie close together, so that a constant predictor already has a tiny L2
and a cosine can hardly be off. Spread over [0, 1], an error means something. Where the start is a
good copy already, only the order of scores is worth teaching: on the scale of its own cosines, no
label asks for another level.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from firth.run.errors import InputError
from firth.surrogate.settings import Calibration

Values = npt.NDArray[np.float64]
KNOTS = 1001
"""Points kept of the quantile function: no label is off by more than 1 / (KNOTS - 1)."""


@dataclass(frozen=True)
class LabelMap:
    """How a raw Origin score becomes a label, in [0, 1] or (match) in [-1, 1], and back.

    Attributes:
        calibration: The kind of map.
        mean: Mean of the training scores.
        deviation: Their standard deviation, above 0.
        scores: quantile only: strictly ascending scores, at most `KNOTS`.
        labels: quantile only: their labels, strictly ascending, in (0, 1).
        centre: match only: mean of the start's cosines.
        spread: match only: their standard deviation, above 0.

    Example:
        >>> fitted = LabelMap.fit([-0.2, 0.1, 0.3, 0.9], Calibration.QUANTILE)
        >>> fitted.apply([-5.0, 0.1, 0.2]).tolist()
        [0.125, 0.375, 0.5]
        >>> fitted.invert([0.375]).tolist()
        [0.1]
    """

    calibration: Calibration
    mean: float
    deviation: float
    scores: tuple[float, ...] = ()
    labels: tuple[float, ...] = ()
    centre: float = 0.0
    spread: float = 1.0

    @classmethod
    def fit(
        cls,
        scores: npt.ArrayLike,
        calibration: Calibration,
        cosines: npt.ArrayLike | None = None,
    ) -> "LabelMap":
        """Fit the map on training scores.

        Args:
            scores: Of training pairs.
            calibration: The kind of map.
            cosines: match only, and needed there: the start's, of training pairs.

        Raises:
            InputError: There are none, some are not finite, or all are the same.
        """
        values = np.asarray(scores, np.float64).ravel()
        if bad := int(np.count_nonzero(~np.isfinite(values))):
            raise InputError(f"{bad} of {len(values)} training scores are not finite numbers")
        distinct, counts = np.unique(values, return_counts=True)
        if len(distinct) < 2:
            got = "all training scores are equal" if len(values) else "no training pair"
            raise InputError(f"{got}: nothing to distil. Harvest more: firth harvest --run RUN")
        mean, deviation = float(values.mean()), float(values.std())
        if calibration is Calibration.MATCH:
            centre, spread = _scale(cosines)
            return cls(calibration, mean, deviation, centre=centre, spread=spread)
        if calibration is not Calibration.QUANTILE:
            return cls(calibration, mean, deviation)
        # Equal scores share the middle of their ranks.
        ranks = (np.cumsum(counts) - counts / 2) / len(values)
        kept = np.arange(len(distinct))
        if len(distinct) > KNOTS:
            places = np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], KNOTS))
            kept = np.unique(np.minimum(places, len(distinct) - 1))
        knots = tuple(distinct[kept].tolist()), tuple(ranks[kept].tolist())
        return cls(calibration, mean, deviation, *knots)

    def apply(self, scores: npt.ArrayLike) -> Values:
        """Labels of raw scores, same shape, in [-1, 1]; not decreasing."""
        values = np.asarray(scores, np.float64)
        match self.calibration:
            case Calibration.QUANTILE:
                return np.asarray(np.interp(values, self.scores, self.labels))
            case Calibration.ZSCORE:
                return np.asarray(ndtr((values - self.mean) / self.deviation))
            case Calibration.MATCH:
                standard = (values - self.mean) / self.deviation
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
                inner = np.clip(values, 1e-9, 1 - 1e-9)
                return np.asarray(self.mean + self.deviation * ndtri(inner))
            case Calibration.MATCH:
                standard = (values - self.centre) / self.spread
                return np.asarray(self.mean + self.deviation * standard)
            case Calibration.NONE:
                return np.clip(values, 0.0, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "LabelMap":
        """The map that `to_dict` described."""
        return cls(
            Calibration(values["calibration"]),
            values["mean"],
            values["deviation"],
            tuple(values["scores"]),
            tuple(values["labels"]),
            values.get("centre", 0.0),
            values.get("spread", 1.0),
        )


def _scale(cosines: npt.ArrayLike | None) -> tuple[float, float]:
    values = np.asarray([] if cosines is None else cosines, np.float64).ravel()
    centre = float(values.mean()) if len(values) else 0.0
    spread = float(values.std()) if len(values) else 0.0
    if not (np.isfinite(spread) and spread > 0):
        raise InputError(
            "surrogate.calibration: got match, which takes the scale of the start's cosines, and "
            f"{'they are all alike' if len(values) else 'there are none'}; expected quantile, "
            "zscore or none"
        )
    return centre, spread
