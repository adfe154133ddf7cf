"""tf-idf of how words are spelled: the strongest lexical baseline known here."""

import math
from collections.abc import Sequence

import numpy as np

from firth.lexical.arrays import Floats
from firth.lexical.scorer import TextPair, numbered
from firth.lexical.spelling import product, spelled
from firth.lexical.tfidf import OWN, Idf, fit_idf


class NgramTfIdf:
    """As tf-idf over stems, but stems that are spelled alike meet half way, in [0, 1].

    A text is the sum of its distinct stems' directions (`firth.lexical.spelling`), each as long as
    its idf. It is what Origin's sums of words are where nothing was learned. A text without a word
    has similarity 0, except to itself: 1.

    Args:
        idf: Learned beforehand (`fit_idf`), or None: learned from the distinct texts of the pairs
            in each call, so that scores depend on the set they are part of.

    Example:
        >>> ngrams = NgramTfIdf(fit_idf(["A ship sailed.", "A storm came."], source="here"))
        >>> near, far = ngrams.similarities([("Israel", "Israeli"), ("Israel", "a storm")])
        >>> bool(near > far)
        True
    """

    def __init__(self, idf: Idf | None = None) -> None:
        self._idf = idf

    @property
    def name(self) -> str:
        """What it is, and where its idf comes from."""
        return f"tf-idf of n-grams of stems, idf from {self._idf.source if self._idf else OWN}"

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Cosines of `pairs`, shape (n,)."""
        texts, left, right = numbered(pairs)
        idf = self._idf or fit_idf(texts, source=OWN)
        sums = [
            spelled((term, idf.weight(term)) for term in dict.fromkeys(idf.terms(text)))
            for text in texts
        ]
        lengths = [math.sqrt(product(one, one)) or 1.0 for one in sums]
        found = [
            1.0 if a == b else product(sums[a], sums[b]) / (lengths[a] * lengths[b])
            for a, b in zip(left, right, strict=True)
        ]
        cosines: Floats = np.clip(np.array(found, dtype=float), 0.0, 1.0)
        return cosines
