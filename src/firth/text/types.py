"""Types that all of firth speaks in: arrays, pairs of texts, and what scores pairs."""

from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
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


@runtime_checkable
class SetScorer(PairScorer, Protocol):
    """A scorer that scores a set of pairs better where it knows the whole set."""

    def among(self, pairs: Sequence[TextPair]) -> PairScorer:
        """Return a scorer for a set of pairs: what is frequent among them counts less."""


def scored_as_set(scorer: PairScorer, pairs: Sequence[TextPair]) -> Floats:
    """Return the scores of n pairs that are compared as a set, (n,), each by all, if it can."""
    return (scorer.among(pairs) if isinstance(scorer, SetScorer) else scorer).similarities(pairs)


class CosineScorer:
    """Scores a pair by the cosine of its vectors, in [-1, 1].

    Each distinct text is encoded once. A zero vector has cosine 0 with every vector.
    """

    def __init__(self, name: str, encode: Encode) -> None:
        self.name = name
        self._encode = encode

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the cosines of n pairs, (n,)."""
        texts, first, second = numbered(pairs)
        if not texts:
            return np.empty(0)
        vectors = unit(np.asarray(self._encode(texts), dtype=np.float64))
        cosines: Floats = np.einsum("nd,nd->n", vectors[first], vectors[second])
        return np.clip(cosines, -1.0, 1.0)


def numbered(pairs: Sequence[TextPair]) -> tuple[list[str], list[int], list[int]]:
    """Return the distinct texts in order, and the number of each pair's first and second text."""
    index = {text: i for i, text in enumerate(dict.fromkeys(chain.from_iterable(pairs)))}
    return list(index), [index[a] for a, _ in pairs], [index[b] for _, b in pairs]


# --- Arrays ------------------------------------------------------------------------------------


def unit(rows: Floats) -> Floats:
    """Divide each row of an (n, d) array by its length; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Floats = rows / np.where(lengths > 0, lengths, 1.0)
    return scaled


def starts(lengths: Ints) -> Ints:
    """Return the first position of each of several consecutive runs, (len(lengths),)."""
    first: Ints = np.cumsum(lengths) - lengths
    return first


def ranges(first: Ints, lengths: Ints) -> Ints:
    """Concatenate `range(first[i], first[i] + lengths[i])` of all i, (sum of lengths,).

    Example:
        >>> ranges(np.array([7, 2]), np.array([3, 2])).tolist()
        [7, 8, 9, 2, 3]
    """
    numbers: Ints = np.arange(int(lengths.sum())) + np.repeat(first - starts(lengths), lengths)
    return numbers


def places(groups: Ints) -> Ints:
    """Count, for each item, the earlier items of the same group, (len(groups),).

    Example:
        >>> places(np.array([7, 2, 7, 7, 2])).tolist()
        [0, 0, 1, 2, 1]
    """
    order = np.argsort(groups, kind="stable")
    sizes = np.unique(groups, return_counts=True)[1]
    counts = np.empty(len(groups), np.int64)
    counts[order] = ranges(np.zeros_like(sizes), sizes)
    return counts


def by_budget(lengths: Ints, budget: int, most: int | None = None) -> list[Ints]:
    """Return rows in batches of similar length, the longest first, of `budget` padded tokens.

    A batch has at most so many rows, too. A row that is longer than the budget is a batch by
    itself. Of equal lengths the first row comes first.
    """
    order, batches, start = np.argsort(-lengths, kind="stable"), [], 0
    while start < len(order):
        size = max(1, budget // max(1, int(lengths[order[start]])))
        batches.append(order[start : start + min(size, most or size)])
        start += len(batches[-1])
    return batches


def split_runs(values: Floats, lengths: Ints) -> list[Floats]:
    """Cut an array into consecutive runs of the given lengths."""
    return [values[start:end] for start, end in pairwise([0, *np.cumsum(lengths).tolist()])]
