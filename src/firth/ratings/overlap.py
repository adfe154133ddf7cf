"""The overlap of words of two sentences, and of a sentence with all others."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np
from scipy.sparse import csr_array, diags_array

from firth.text.arrays import Floats, Ints


class Measure(StrEnum):
    """Overlap of the sets A and B of words of two sentences, in [0, 1]."""

    DICE = "dice"
    """2 |A ∩ B| / (|A| + |B|)."""
    IDF = "idf"
    """The same, each word weighted by its inverse document frequency among the sentences."""
    FIRST = "first"
    """|A ∩ B| / |A|, the share of the first sentence (Appendix A.1.1)."""


class Bags:
    """The distinct words of n sentences, as rows of a sparse matrix.

    A word may be replaced by another one that counts in its place, such as a synonym.
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
        self._measure = measure
        flat = np.array([number for bag in bags for number in bag], np.int64)
        bounds = np.cumsum([0, *map(len, bags)])
        rows = csr_array((np.ones(len(flat)), flat, bounds), shape=(len(bags), len(numbers)))
        self._sentences_of_word = rows.T.tocsr()
        weights = np.ones(len(numbers))
        if measure is Measure.IDF:
            weights = np.log((1 + len(bags)) / (1 + rows.sum(axis=0))) + 1
        self._rows, self._weighted = rows, (rows @ diags_array(weights)).tocsr()
        # Sums of ones are exact. Others are rounded, so that equal sets have equal weights.
        self._weight: Floats = np.round(self._weighted.sum(axis=1), 9)

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.lengths)

    def overlaps(self, left: Ints, right: Ints) -> Floats:
        """Return the overlap of sentences `left[k]` and `right[k]`, both (k,), in [0, 1]."""
        shared = self._weighted[left].multiply(self._rows[right]).sum(axis=1)
        return self._ratio(shared, self._weight[left], self._weight[right])

    def overlaps_with_all(self, sentence: int) -> Floats:
        """Return the overlap of a sentence with each sentence, (n,), in [0, 1]."""
        shared = (self._weighted[[sentence]] @ self._sentences_of_word).toarray()[0]
        return self._ratio(shared, np.full(len(self), self._weight[sentence]), self._weight)

    def _ratio(self, shared: Floats, left: Floats, right: Floats) -> Floats:
        if self._measure is not Measure.FIRST:
            shared, left = 2 * shared, left + right
        ratio = np.divide(shared, left, out=np.ones_like(left), where=left > 0)
        return np.clip(np.round(ratio, 9), 0.0, 1.0)
