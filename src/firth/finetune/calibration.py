"""What a cosine of a fine-tuned model means: the score, or the chance, that it stands for."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter

from firth.evaluate.rows import EvaluationSet
from firth.evaluate.task import Kind as Shape
from firth.lexical.arrays import Floats
from firth.run.errors import InputError
from firth.run.files import read_json
from firth.scale.build import fit_probability
from firth.scale.scale import Probability

FILE = "calibration.json"
_SCORE, _PROBABILITY = "score", "probability"


@dataclass(frozen=True)
class Line:
    """score = slope · cosine + intercept, between the lowest and the highest there is.

    Attributes:
        slope: Least squares'.
        intercept: Of the line.
        low: Lowest score there is.
        high: Highest.
        n: Pairs it was fitted on.
        error: Root of the mean squared error on pairs left out one at a time.
        constant_error: The same of their mean score: what must be undercut.
    """

    slope: float
    intercept: float
    low: float
    high: float
    n: int
    error: float
    constant_error: float

    @classmethod
    def fit(cls, cosines: Floats, scores: Floats, low: float, high: float) -> "Line":
        """Of n ≥ 3 pairs whose cosines differ."""
        n, centred = len(scores), cosines - cosines.mean()
        squares = float(centred @ centred)
        slope = float(centred @ scores) / squares
        intercept = float(scores.mean() - slope * cosines.mean())
        # What a pair is off by a line fitted without it, in one step (Allen 1974, PRESS).
        left = 1 - 1 / n - centred**2 / squares
        off = (scores - slope * cosines - intercept) / np.maximum(left, 1e-9)
        constant = (scores - scores.mean()) * n / (n - 1)
        error, constant_error = (float(np.sqrt(np.mean(one**2))) for one in (off, constant))
        return cls(round(slope, 6), round(intercept, 6), low, high, n, round(error, 6),
                   round(constant_error, 6))  # fmt: skip

    def of(self, cosines: npt.ArrayLike) -> Floats:
        """Scores of cosines, same shape."""
        asked = np.asarray(cosines, np.float64)
        found: Floats = np.clip(self.slope * asked + self.intercept, self.low, self.high)
        return found

    def text(self) -> str:
        """In words."""
        return (
            f"score = {self.slope:.2f} · cosine {self.intercept:+.2f}, from {self.low:g} to "
            f"{self.high:g}; off by {self.error:.2f} on dev (a constant: {self.constant_error:.2f})"
        )


Calibration = Line | Probability


def calibrated(data: EvaluationSet, similarities: Floats, seed: int) -> Calibration | None:
    """What cosines mean by a set: of scored pairs a line; of triplets, and of scores that are 0
    and 1, the probability of a match; None where the set tells nothing.

    Args:
        data: Whose scores count.
        similarities: Of `data.pairs`.
        seed: Of the folds behind the probability's error.
    """
    x, y = data.columns(similarities)
    scored = data.task.kind is Shape.PAIRS
    if scored and not set(x.tolist()) <= {0.0, 1.0}:
        if np.ptp(y) == 0 or len(y) < 3:
            return None
        return Line.fit(y, x, *data.task.score_range)
    cosines = y if scored else np.concatenate((x, y))
    matches = x.astype(np.int64) if scored else np.repeat([1, 0], len(x))
    try:
        return fit_probability(cosines, matches, seed)
    except (InputError, ValueError):  # positives are no nearer, or fewer than two
        return None


def as_dict(found: Calibration) -> dict[str, Any]:
    """Plain values for `calibration.json`."""
    kind = _SCORE if isinstance(found, Line) else _PROBABILITY
    return {"kind": kind, **asdict(found)}


def read_calibration(folder: str | Path) -> Calibration:
    """That of a fine-tuned model; `of(cosines)` gives scores, or probabilities.

    Raises:
        InputError: The folder has none, or another's.
    """
    known = read_json(Path(folder) / FILE)
    kinds = {_SCORE: Line, _PROBABILITY: Probability}
    try:
        found: Calibration = TypeAdapter(kinds[known.pop("kind")]).validate_python(known)
    except (AttributeError, LookupError, TypeError, ValueError):
        raise InputError(f"{folder}: its {FILE} is not that of firth finetune") from None
    return found
