"""Comparing two sentences by their fits to the same contexts (Eq. 4)."""

import math

import numpy as np
import numpy.typing as npt

from firth.settings import Measure

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


def influence(v1: Vector, v2: Vector, measure: Measure) -> Vector:
    """How much each context moved the score: sim over all contexts − sim without that one.

    Returns:
        float64 of shape (|C|,): positive where the context raised the similarity. With a single
        context there is nothing to compare with, and its influence is the whole similarity.
    """
    whole = compare(v1, v2, measure)
    if len(v1) == 1:
        return np.array([whole])
    without = [compare(np.delete(v1, c), np.delete(v2, c), measure) for c in range(len(v1))]
    return whole - np.array(without)


def _prepared(v: Vector, measure: Measure) -> Vector:
    match measure:
        case Measure.COSINE:
            return v
        case Measure.CENTRED:
            centred = v - math.fsum(v) / len(v)
            # Where all entries are equal, rounding leaves a residue that is no variation.
            residue = 1e-12 * np.abs(v).max()
            return np.where(np.abs(centred) <= residue, 0.0, centred)
