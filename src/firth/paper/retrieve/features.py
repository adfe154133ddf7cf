"""Texts as sparse rows of hashed, TF-IDF-weighted uni- and bi-grams."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import HashingVectorizer

from firth.lexical.words import words

Idf = npt.NDArray[np.float64]


class Features:
    """Counts of uni- and bi-grams of `firth.lexical.words.words`, hashed to a fixed number of features.

    Args:
        log2: The number of features is 2 to this power. N-grams that collide count as one.
    """

    def __init__(self, log2: int) -> None:
        self.number = 1 << log2
        self._vectorizer = HashingVectorizer(
            tokenizer=words,
            token_pattern=None,
            lowercase=False,
            ngram_range=(1, 2),
            n_features=self.number,
            alternate_sign=False,
            norm=None,
            dtype=np.float32,
        )

    def counts(self, texts: Sequence[str]) -> csr_matrix:
        """Float32 counts of shape (len(texts), number), column numbers ascending in each row."""
        counts = csr_matrix(self._vectorizer.transform(texts))
        counts.sum_duplicates()
        return counts


def smooth_idf(document_frequency: npt.NDArray[np.int64], n: int) -> Idf:
    """ln((1 + n) / (1 + df)) + 1: as if one more chunk held every feature once."""
    idf: Idf = np.log((1.0 + n) / (1.0 + document_frequency)) + 1.0
    return idf


def weigh(counts: csr_matrix, idf: Idf) -> csr_matrix:
    """Rows of (1 + ln tf) · idf, divided by their Euclidean length; float32, a row of 0 stays 0.

    Weights are computed in float64 and rounded once, so that a row's weights do not depend on the
    rows around it.
    """
    weights = (1.0 + np.log(counts.data.astype(np.float64))) * idf[counts.indices]
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    squares = np.bincount(row, weights * weights, minlength=counts.shape[0])
    weights /= np.sqrt(squares)[row]
    return csr_matrix((weights.astype(np.float32), counts.indices, counts.indptr), counts.shape)
