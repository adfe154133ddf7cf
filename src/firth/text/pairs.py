"""Pairs of texts, and the one interface of everything that scores them."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Protocol

import numpy as np
import numpy.typing as npt

from firth.run.errors import InputError
from firth.text.arrays import Floats

TextPair = tuple[str, str]
"""Two texts to compare."""
Encode = Callable[[Sequence[str]], npt.NDArray[np.floating]]
"""A function from n texts to their vectors, (n, d). No vector depends on the other texts."""


class PairScorer(Protocol):
    """Scores pairs of texts; an evaluation asks nothing else of a model.

    Scores are finite. They depend neither on the order of the two texts (except for a
    cross-encoder) nor on the other pairs. Their scale is free, and larger means more similar.
    """

    @property
    def name(self) -> str:
        """A name for tables."""

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the scores of n pairs, (n,); n may be 0."""


class CosineScorer:
    """Scores a pair by the cosine of its vectors, in [-1, 1].

    Each distinct text is encoded once. A zero vector has cosine 0 with every vector.

    Args:
        name: A name for tables.
        encode: Gives the vectors of texts.
    """

    def __init__(self, name: str, encode: Encode) -> None:
        self.name = name
        self._encode = encode

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the cosines of n pairs, (n,)."""
        texts, left, right = numbered(pairs)
        if not texts:
            return np.empty(0)
        vectors = np.asarray(self._encode(texts), dtype=np.float64)
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        cosines: Floats = np.einsum("nd,nd->n", vectors[left], vectors[right])
        return np.clip(cosines, -1.0, 1.0)


def numbered(pairs: Sequence[TextPair]) -> tuple[list[str], list[int], list[int]]:
    """Return the distinct texts in order, and the number of each pair's first and second text."""
    index = {text: i for i, text in enumerate(dict.fromkeys(chain.from_iterable(pairs)))}
    return list(index), [index[one] for one, _ in pairs], [index[two] for _, two in pairs]


def checked(pairs: Sequence[TextPair]) -> Sequence[TextPair]:
    """Return the pairs unchanged.

    Raises:
        InputError: An item is not two texts; the message names the first.
    """
    for number, pair in enumerate(pairs):
        # A string is a sequence of strings too, so it is refused by type.
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(s, str) for s in pair):
            raise InputError(f"pair {number}: got {pair!r:.80}; expected two texts")
    return pairs
