"""The two vectors of a pair: both sentences' terms over C_{s1} + C_{s2} (Eq. 4)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.origin.settings import Measure, Weights
from firth.paper.similarity import Vector, compare
from firth.paper.terms import Terms


@dataclass(frozen=True)
class ContextSet:
    """C_s: the contexts into which a sentence fits, best first.

    Attributes:
        sentence: s.
        slots: Corpus sentences whose neighbours are the contexts, int64 of shape (|C_s|,).
        terms: The four terms of S(s, c) for these contexts.
    """

    sentence: str
    slots: npt.NDArray[np.int64]
    terms: Terms


@dataclass(frozen=True)
class PairProfile:
    """Everything the similarity of one pair is computed from.

    Attributes:
        set1: C_{s1} with the terms of s1.
        set2: C_{s2} with the terms of s2.
        cross1: Terms of s1 in the contexts of s2.
        cross2: Terms of s2 in the contexts of s1.
    """

    set1: ContextSet
    set2: ContextSet
    cross1: Terms
    cross2: Terms

    @property
    def slots(self) -> npt.NDArray[np.int64]:
        """Slots of C_{s1} + C_{s2}; a slot in both sets stands twice, as in the paper."""
        return np.concatenate((self.set1.slots, self.set2.slots))

    @property
    def terms1(self) -> Terms:
        """Terms of s1 over C_{s1} + C_{s2}."""
        return Terms.concatenate([self.set1.terms, self.cross1])

    @property
    def terms2(self) -> Terms:
        """Terms of s2 over C_{s1} + C_{s2}."""
        return Terms.concatenate([self.cross2, self.set2.terms])

    def vectors(self, weights: Weights) -> tuple[Vector, Vector]:
        """v_{s1} and v_{s2}, float64 of shape (|C_{s1}| + |C_{s2}|,)."""
        return self.terms1.fit(weights), self.terms2.fit(weights)

    def similarity(self, weights: Weights, measure: Measure) -> float:
        """sim(s1, s2) of Eq. 4, in [-1, 1]."""
        return compare(*self.vectors(weights), measure)
