"""Context fits (Eq. 3) of sentences, and the similarity of two vectors of them (Eq. 4)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from firth.paper.settings import Measure, Weights
from firth.run.errors import InputError
from firth.text.types import Floats, Ints, Singles

TERMS = ("coherence", "sentence", "left", "right")
"""The fields of `Weights`, and the columns of terms."""
Terms = Singles
"""The four terms of Eq. 3 of n (sentence, context) pairs, (n, 4): log p(y=1 | s, c) in nats, and
the log-likelihoods of s, c_< and c_> in nats a token."""


def fit(terms: Terms, weights: Weights) -> Floats:
    """Return S(s, c), the weighted sum of the terms (Eq. 3), (n,)."""
    factors = [getattr(weights, name) for name in TERMS]
    total: Floats = (terms.T.astype(np.float64) * np.array(factors)[:, None]).sum(axis=0)
    return total


def resolved(
    weights: Weights, learned: Mapping[str, bool], deviations: Mapping[str, float]
) -> Weights:
    """Return weights for terms as they are, from those of settings, of terms of deviation 1.

    What is not set is 1, and 0 for a term whose model did not learn. A term without a deviation, or
    with none to speak of, is not scaled.

    Raises:
        InputError: No term is left.
    """
    factors = {
        name: float(learned.get(name, True)) if weight is None else weight
        for name, weight in weights
    }
    if not any(factors.values()):
        raise InputError(
            "no term of Eq. 3 is left: its models did not learn (firth paper build says what they "
            "lack). Use them all the same: --set paper.fits.weights.sentence=1"
        )
    scaled = {name: factor / (deviations.get(name) or 1.0) for name, factor in factors.items()}
    return Weights(**scaled)


EQUAL = Weights(coherence=1, sentence=1, left=1, right=1)
"""Weights by which all terms are computed."""


@dataclass(frozen=True)
class ContextSet:
    """C_s: the contexts into which a sentence fits, best first.

    `positions` are the corpus sentences whose neighbors are the contexts; `terms` are those of s.
    """

    sentence: str
    positions: Ints
    terms: Terms


@dataclass(frozen=True)
class PairProfile:
    """All terms over C_{s1} + C_{s2}, from which the similarity of a pair is computed.

    `cross1` are the terms of s1 in the contexts of s2, and `cross2` those of s2 in the contexts of
    s1.
    """

    set1: ContextSet
    set2: ContextSet
    cross1: Terms
    cross2: Terms

    @property
    def positions(self) -> Ints:
        """Positions of C_{s1} + C_{s2}; one that is in both sets occurs twice, as in the paper."""
        return np.concatenate((self.set1.positions, self.set2.positions))

    @property
    def terms(self) -> tuple[Terms, Terms]:
        """Terms of s1, and of s2, over C_{s1} + C_{s2}."""
        first = np.concatenate([self.set1.terms, self.cross1])
        return first, np.concatenate([self.cross2, self.set2.terms])

    def cut(self, kept1: Ints, kept2: Ints) -> "PairProfile":
        """Return the profile over some contexts of each set, given by their indices."""
        sets = [
            ContextSet(one.sentence, one.positions[kept], one.terms[kept])
            for one, kept in ((self.set1, kept1), (self.set2, kept2))
        ]
        return PairProfile(sets[0], sets[1], self.cross1[kept2], self.cross2[kept1])

    def vectors(self, weights: Weights) -> tuple[Floats, Floats]:
        """Return v_{s1} and v_{s2}, (|C_{s1}| + |C_{s2}|,) each."""
        first, second = self.terms
        return fit(first, weights), fit(second, weights)

    def similarity(self, weights: Weights, measure: Measure) -> float:
        """Return sim(s1, s2) of Eq. 4, in [-1, 1]."""
        return compare(*self.vectors(weights), measure)


def compare(v1: Floats, v2: Floats, measure: Measure) -> float:
    """Return sim(s1, s2) from v_{s1} and v_{s2}, (|C|,) each: Eq. 4, or its centered form.

    Raw fits are log-probabilities of similar size, so that all cosines are near 1. Centering
    removes the common level. A vector without variation gives 0, and equal vectors 1. Sums are
    correctly rounded, so that no order changes the result.
    """
    if np.array_equal(v1, v2):
        return 1.0
    products, norm = _products(v1, v2, measure)
    return max(-1.0, min(1.0, math.fsum(products) / norm)) if norm else 0.0


def contributions(v1: Floats, v2: Floats, measure: Measure) -> Floats:
    """Return the amount that each context adds to the similarity, (|C|,); its sum is `compare`."""
    products, norm = _products(v1, v2, measure)
    if norm:
        return products / norm
    return np.full(len(v1), compare(v1, v2, measure) / max(1, len(v1)))


def _products(v1: Floats, v2: Floats, measure: Measure) -> tuple[Floats, float]:
    """Return the products of both vectors' entries, and the product of their lengths."""
    x, y = _prepared(v1, measure), _prepared(v2, measure)
    return x * y, math.sqrt(math.fsum(x * x)) * math.sqrt(math.fsum(y * y))


def _prepared(v: Floats, measure: Measure) -> Floats:
    if measure == "cosine":
        return v
    centered = v - math.fsum(v) / len(v)
    # Where all entries are equal, rounding leaves a residue that is no variation.
    residue = 1e-12 * np.abs(v).max()
    return np.where(np.abs(centered) <= residue, 0.0, centered)
