"""What everything that compares sentences answers: one number a pair."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from firth.lexical.arrays import Floats

TextPair = tuple[str, str]
"""Two texts to compare."""
Encode = Callable[[Sequence[str]], npt.NDArray[np.floating]]
"""Vectors of some texts, shape (n, d); a vector must not depend on the other texts."""


class Scorer(Protocol):
    """Compares pairs of texts; the only thing an evaluation asks of a model.

    Scores must be finite, the same whichever text comes first, and the same whatever else is in
    the batch (one exception says so in its `name`: tf-idf that learns from the evaluated set).
    Their scale is free; larger means more similar.
    """

    @property
    def name(self) -> str:
        """What it is, for people: shown beside its figures."""

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Similarities of `pairs`, shape (n,), in their order; n may be 0."""


class CosineScorer:
    """Cosine of the two texts' vectors, in [-1, 1].

    Each distinct text is encoded once. A zero vector (no known word) has similarity 0 with
    everything.

    Args:
        name: What it is, for people.
        encode: Gives the vectors.
    """

    def __init__(self, name: str, encode: Encode) -> None:
        self.name = name
        self._encode = encode

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Cosines of `pairs`, shape (n,)."""
        texts, left, right = numbered(pairs)
        if not texts:
            return np.empty(0)
        vectors = np.asarray(self._encode(texts), dtype=np.float64)
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        cosines: Floats = np.einsum("nd,nd->n", vectors[left], vectors[right])
        return np.clip(cosines, -1.0, 1.0)


def numbered(pairs: Sequence[TextPair]) -> tuple[list[str], list[int], list[int]]:
    """The distinct texts in order, and the numbers among them of each pair's first and second."""
    index = {text: i for i, text in enumerate(dict.fromkeys(t for pair in pairs for t in pair))}
    return list(index), [index[one] for one, _ in pairs], [index[two] for _, two in pairs]
