"""The overlap of words of two sentences, and the partners of a sentence whose overlap fits."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from firth.text.arrays import Floats, Ints, ranges

_BLOCK = 1 << 16


class Measure(StrEnum):
    """Overlap of the sets A and B of words of two sentences, in [0, 1]."""

    DICE = "dice"
    """2 |A ∩ B| / (|A| + |B|)."""
    IDF = "idf"
    """The same, each word weighted by its inverse document frequency among the sentences."""
    FIRST = "first"
    """|A ∩ B| / |A|, the share of the first sentence (Appendix A.1.1)."""


class Bags:
    """The distinct words of n sentences as numbers, with their weights.

    Args:
        tokens: The words of each sentence.
        measure: How overlap is measured.
        replace: Word → the word that counts in its place, such as a synonym.
    """

    def __init__(
        self,
        tokens: Sequence[Sequence[str]],
        measure: Measure,
        replace: Mapping[str, str] | None = None,
    ) -> None:
        numbers: dict[str, int] = {}
        of = (replace or {}).get
        bags = [sorted({numbers.setdefault(of(w, w), len(numbers)) for w in one}) for one in tokens]
        self.lengths = np.array([len(one) for one in tokens], np.int64)
        """Number of words, repeated ones included, (n,)."""
        self.measure = measure
        self._sizes = np.array([len(bag) for bag in bags], np.int64)
        self._first = np.cumsum(self._sizes) - self._sizes
        self._flat = np.array([number for bag in bags for number in bag], np.int64)
        frequencies = np.bincount(self._flat, minlength=len(numbers))
        self._weights = np.ones(len(numbers))
        if measure is Measure.IDF:
            self._weights = np.log((1 + len(bags)) / (1 + frequencies)) + 1
        owner = np.repeat(np.arange(len(bags)), self._sizes)
        # Sums of ones are exact. Others are rounded, so that equal sets have equal weights.
        self._weight: Floats = np.round(_sums(owner, self._weights[self._flat], len(bags)), 9)
        order = np.argsort(self._flat, kind="stable")
        self._postings, self._frequencies = owner[order], frequencies
        self._posting = np.cumsum(frequencies) - frequencies

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.lengths)

    def overlaps(self, left: Ints, right: Ints) -> Floats:
        """Return the overlap of sentences `left[k]` and `right[k]`, both (k,), in [0, 1]."""
        blocks = [
            self._overlaps(left[low : low + _BLOCK], right[low : low + _BLOCK])
            for low in range(0, len(left), _BLOCK)
        ]
        return np.concatenate([np.empty(0), *blocks])

    def _overlaps(self, left: Ints, right: Ints) -> Floats:
        keys = []
        for side in (left, right):
            rows = np.repeat(np.arange(len(side)), self._sizes[side])
            words = self._flat[ranges(self._first[side], self._sizes[side])]
            keys.append(rows * np.int64(len(self._weights)) + words)
        both = np.intersect1d(keys[0], keys[1], assume_unique=True)
        rows, words = np.divmod(both, max(len(self._weights), 1))
        shared = _sums(rows, self._weights[words], len(left))
        return self._ratio(shared, self._weight[left], self._weight[right])

    def overlaps_with_all(self, sentence: int) -> Floats:
        """Return the overlap of a sentence with each sentence, (n,), in [0, 1]."""
        start = self._first[sentence]
        words = self._flat[start : start + self._sizes[sentence]]
        counts = self._frequencies[words]
        places = self._postings[ranges(self._posting[words], counts)]
        shared = _sums(places, np.repeat(self._weights[words], counts), len(self))
        return self._ratio(shared, np.full(len(self), self._weight[sentence]), self._weight)

    def _ratio(self, shared: Floats, left: Floats, right: Floats) -> Floats:
        if self.measure is not Measure.FIRST:
            shared, left = 2 * shared, left + right
        ratio = np.divide(shared, left, out=np.ones_like(left), where=left > 0)
        return np.clip(np.round(ratio, 9), 0.0, 1.0)


def _sums(places: Ints, weights: Floats, count: int) -> Floats:
    return np.bincount(places, weights, minlength=count).astype(np.float64)


def close_in_length(
    left: npt.ArrayLike, right: npt.ArrayLike, tolerance: float
) -> npt.NDArray[np.bool_]:
    """Return whether two lengths differ by at most `tolerance` of the larger one."""
    a, b = np.asarray(left), np.asarray(right)
    return np.asarray(np.abs(a - b) <= tolerance * np.maximum(a, b) + 1e-9)
