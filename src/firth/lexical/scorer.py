"""What everything that compares sentences answers: one number a pair."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

TextPair = tuple[str, str]
"""Two texts to compare."""


class Scorer(Protocol):
    """Compares pairs of texts; the only thing an evaluation asks of a model.

    Scores must be finite, the same whichever text comes first, and the same whatever else is in
    the batch (one exception says so in its `name`: tf-idf that learns from the evaluated set).
    Their scale is free; larger means more similar.
    """

    @property
    def name(self) -> str:
        """What it is, for people: shown beside its figures."""

    def similarities(self, pairs: Sequence[TextPair]) -> npt.NDArray[np.float64]:
        """Similarities of `pairs`, shape (n,), in their order; n may be 0."""
