"""Cosine of two sentence vectors, however they are made."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from firth.lexical.scorer import TextPair

Encode = Callable[[Sequence[str]], npt.NDArray[np.floating]]
"""Vectors of some texts, shape (n, d); a vector must not depend on the other texts."""


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

    def similarities(self, pairs: Sequence[TextPair]) -> npt.NDArray[np.float64]:
        """Cosines of `pairs`, shape (n,)."""
        index = {text: i for i, text in enumerate(dict.fromkeys(t for pair in pairs for t in pair))}
        if not index:
            return np.empty(0, dtype=np.float64)
        vectors = np.asarray(self._encode(list(index)), dtype=np.float64)
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        left, right = ([index[pair[side]] for pair in pairs] for side in (0, 1))
        cosines: npt.NDArray[np.float64] = np.einsum("nd,nd->n", vectors[left], vectors[right])
        return np.clip(cosines, -1.0, 1.0)
