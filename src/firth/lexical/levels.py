"""Where the scores of drawn pairs stand: which share is lower, and what a given share reaches."""

from dataclasses import dataclass
from functools import cached_property
from math import floor, log10
from typing import Literal

import numpy as np
import numpy.typing as npt

from firth.lexical.arrays import Floats, Ints
from firth.run.errors import InputError

_TAIL, _KNOTS = 2_000, 1_000
"""The highest scores are kept one by one, the others at this many quantiles."""
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_ALL = 3.0
"""Of n pairs all are below: with 95 % confidence at most 3/n of all pairs are not."""


@dataclass(frozen=True)
class Levels:
    """Scores of n pairs, ascending, the highest one by one and the others in steps.

    Attributes:
        n: Pairs that were drawn.
        scores: Of some of them, ascending.
        below: How many of the n score lower than each; ascending.
        through: How many score as high at most.
    """

    n: int
    scores: tuple[float, ...]
    below: tuple[int, ...]
    through: tuple[int, ...]

    @classmethod
    def of(cls, scores: npt.ArrayLike) -> "Levels":
        """Of drawn scores, shape (n,), n ≥ 1."""
        ordered = np.sort(np.asarray(scores, np.float64))
        n = len(ordered)
        low = np.linspace(0, max(0, n - _TAIL - 1), min(_KNOTS, max(1, n - _TAIL))).astype(int)
        kept = np.unique(ordered[np.concatenate((low, np.arange(max(0, n - _TAIL), n)))])
        below, through = (np.searchsorted(ordered, kept, side=side) for side in _SIDES)
        scores_kept = tuple(kept.round(6).tolist())
        return cls(n, scores_kept, tuple(below.tolist()), tuple(through.tolist()))

    @cached_property
    def _arrays(self) -> tuple[Floats, Ints, Ints]:
        # A hit of a search asks several times; thousands of Python's numbers are slow to turn.
        return np.asarray(self.scores), np.asarray(self.below), np.asarray(self.through)

    def share_below(self, scores: npt.ArrayLike) -> Floats:
        """Share of the pairs that score lower, in [0, 1]; never falls as scores rise.

        Between two scores that are kept, the lower one decides: it is never too high a share.
        """
        asked = np.asarray(scores, np.float64)
        kept, below, through = self._arrays
        place = np.searchsorted(kept, asked, side="right") - 1
        at = np.maximum(place, 0)
        below = np.where(asked > kept[at], through[at], below[at])
        found: Floats = np.where(place < 0, 0.0, below / self.n)
        return found

    def threshold(self, rate: float) -> float:
        """The lowest score that a share of at most `rate` of pairs as these reach.

        It is the k-th highest of the n drawn scores with k / (n + 1) at most `rate`, so that the
        rate is kept on average over draws, however few they were.

        Raises:
            InputError: `rate` is not between 1 / (n + 1) and 1: so few pairs cannot tell.
        """
        allowed = floor(rate * (self.n + 1) + 1e-9)
        if not 0 < rate < 1 or allowed < 1:
            raise InputError(
                f"a rate of {rate:g}: expected one from {1 / (self.n + 1):.2g} to 1, for "
                f"{self.n:,} pairs were drawn. More can be: --set scale.pairs=N"
            )
        reached = self.n - self._arrays[1]  # pairs at or above each score that is kept
        fitting = np.flatnonzero(reached <= allowed)
        if not len(fitting):  # not even the highest: only what is above it
            return float(np.nextafter(self.scores[-1], np.inf))
        return float(self.scores[int(fitting[0])])


def percent(share: float, n: int) -> str:
    """A share of n pairs that are lower, as it can be said: never rounded up, never "100 %".

    Example:
        >>> percent(0.99719, 200_000), percent(0.999995, 200_000), percent(0.5, 200_000)
        ('99.7 % of', '99.9995 % of', '50 % of')
        >>> percent(1.0, 3_000)
        'all 3,000 (at least 99.9 %) of the'
    """
    if share >= 1.0:
        return f"all {n:,} (at least {_floored(1 - _ALL / max(n, 4))} %) of the"
    return f"{_floored(share)} % of"


def _floored(share: float) -> str:
    """In per cent, rounded down to as many digits as tell it from 100."""
    if share < 0.99:
        return f"{floor(100 * share + 1e-9)}"
    digits = max(0, -floor(log10(100 * (1 - share)) + 1e-9))
    return f"{floor(100 * share * 10**digits + 1e-6) / 10**digits:.{digits}f}"
