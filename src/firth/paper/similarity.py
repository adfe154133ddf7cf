"""Comparing two sentences by their fits to the same contexts (Eq. 4)."""

import math

import numpy as np
import numpy.typing as npt

from firth.origin.settings import Measure

Vector = npt.NDArray[np.float64]


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


def influence(v1: Vector, v2: Vector, measure: Measure, groups: npt.NDArray[np.int64]) -> Vector:
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
