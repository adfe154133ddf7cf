"""Comparing two sentences by their fits to the same contexts (Eq. 4)."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.paper.context_fit import Indices, Terms
from firth.paper.context_set import ContextSet
from firth.paper.settings import Measure, Weights

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PairProfile:
    """Everything the similarity of one pair is computed from: all terms over C_{s1} + C_{s2}.

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
    def positions(self) -> Indices:
        """Positions of C_{s1} + C_{s2}; one in both sets stands twice, as in the paper."""
        return np.concatenate((self.set1.positions, self.set2.positions))

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


def compare(v1: Vector, v2: Vector, measure: Measure) -> float:
    """sim(s1, s2) from v_{s1} and v_{s2}, both of shape (|C|,): Eq. 4, or its centred form.

    Raw fits are negative log-probabilities of similar size, so that all cosines lie near 1;
    centring takes the common level away. A vector without variation (centred) or of zeros
    (cosine) tells nothing: the similarity is 0, unless the two vectors are equal, when it is 1.
    Sums are correctly rounded, so that neither the order of the two sentences nor that of the
    contexts changes the result.

    Returns:
        A number in [-1, 1].
    """
    if np.array_equal(v1, v2):
        return 1.0
    x, y = _prepared(v1, measure), _prepared(v2, measure)
    norm = math.sqrt(math.fsum(x * x)) * math.sqrt(math.fsum(y * y))
    if norm == 0.0:
        return 0.0
    return max(-1.0, min(1.0, math.fsum(x * y) / norm))


def influence(v1: Vector, v2: Vector, measure: Measure, groups: Indices) -> Vector:
    """How much each context moved the score: sim over all contexts − sim without that one.

    Args:
        v1: v_{s1}, shape (|C|,).
        v2: v_{s2}, shape (|C|,).
        measure: Which form of Eq. 4.
        groups: Which context each column is, 0 … n − 1, shape (|C|,). A context that stands in
            several columns is taken out of all of them at once.

    Returns:
        float64 of shape (n,): positive where the context raised the similarity. With a single
        context there is nothing to compare with, and its influence is the whole similarity.
    """
    whole = compare(v1, v2, measure)
    n = int(groups.max()) + 1
    if n == 1:
        return np.array([whole])
    kept = (groups != group for group in range(n))
    return whole - np.array([compare(v1[keep], v2[keep], measure) for keep in kept])


def _prepared(v: Vector, measure: Measure) -> Vector:
    match measure:
        case Measure.COSINE:
            return v
        case Measure.CENTRED:
            centred = v - math.fsum(v) / len(v)
            # Where all entries are equal, rounding leaves a residue that is no variation.
            residue = 1e-12 * np.abs(v).max()
            return np.where(np.abs(centred) <= residue, 0.0, centred)
