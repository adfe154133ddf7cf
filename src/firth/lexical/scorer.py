"""What everything that compares sentences answers: one number a pair."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from firth.lexical.arrays import Floats
from firth.run.errors import InputError

TextPair = tuple[str, str]
"""Two texts to compare."""
Encode = Callable[[Sequence[str]], npt.NDArray[np.floating]]
"""Vectors of some texts, shape (n, d); a vector must not depend on the other texts."""


class Scorer(Protocol):
    """Compares pairs of texts; the only thing an evaluation asks of a model.

    Scores must be finite, the same whichever text comes first (to a cross-encoder it matters), and
    the same whatever else is in the batch (one exception says so in its `name`: tf-idf that learns
    from the evaluated set).
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
    index = {text: i for i, text in enumerate(dict.fromkeys(chain.from_iterable(pairs)))}
    return list(index), [index[one] for one, _ in pairs], [index[two] for _, two in pairs]


@dataclass(frozen=True)
class Shown:
    """A piece of evidence as a reader sees it.

    Attributes:
        amount: What it adds to the score, or how far it moved it.
        note: How the two sentences fit there, and what it is.
        text: A context, or a word.
    """

    amount: float
    note: str
    text: str


class Explanation(Protocol):
    """A score and what it comes from."""

    @property
    def sentence1(self) -> str:
        """s1."""

    @property
    def sentence2(self) -> str:
        """s2."""

    @property
    def similarity(self) -> float:
        """The score."""

    @property
    def summary(self) -> str:
        """The score and what it is made of, in a line."""

    def shown(self, top: int) -> list[Shown]:
        """The `top` weightiest pieces of evidence (of each component, where there are any)."""

    def as_dict(self) -> Mapping[str, Any]:
        """Everything as plain values, for JSON."""


class Explainer(ABC):
    """A scorer that takes its scores apart into what they come from."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is, for people: shown beside figures, where it is evaluated."""

    def similarity(self, a: str, b: str) -> float:
        """sim(s1, s2), in [-1, 1]; symmetric. Raise `InputError` for what is no text."""
        return float(self.similarities([(a, b)])[0])

    @abstractmethod
    def similarities(self, pairs: Sequence[TextPair], title: str = "Origin") -> Floats:
        """sim(s1, s2) of each pair, shape (n,), in [-1, 1].

        Args:
            pairs: The two sentences of each pair; their order does not matter.
            title: Shown beside the progress bar.

        Raises:
            InputError: An item of `pairs` is not two texts.
        """

    def unknown(self, text: str) -> list[str]:
        """The distinct words of `text` that the corpus never had, in order.

        Nothing was learned of them. None are named by a kind that keeps no list of words.
        """
        return []

    @abstractmethod
    def explain(self, a: str, b: str) -> Explanation:
        """The score of a pair and what it comes from."""

    def explanations(self, pairs: Sequence[TextPair]) -> Iterator[Explanation]:
        """The scores of many pairs and what they come from, in order."""
        return (self.explain(a, b) for a, b in checked(pairs))


def checked(pairs: Sequence[TextPair]) -> Sequence[TextPair]:
    """`pairs` as they are; raise `InputError` naming the first that is not two texts."""
    for number, pair in enumerate(pairs):
        # A text is a sequence of texts too: of its letters.
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(s, str) for s in pair):
            raise InputError(f"pair {number}: got {pair!r:.80}; expected two texts")
    return pairs
