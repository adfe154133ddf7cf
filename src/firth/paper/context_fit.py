"""Context fit (Eq. 3): how well a sentence fits a context, from four terms."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.paper.coherence.coherence import Coherence
from firth.paper.generation.protocol import Generator
from firth.paper.settings import Weights

Indices = npt.NDArray[np.int64]
TERMS = ("coherence", "sentence", "left", "right")
"""The fields of `Terms` and of `Weights`."""


@dataclass(frozen=True)
class Terms:
    """The four terms of Eq. 3 for n (sentence, context) pairs; float32 arrays of shape (n,).

    Attributes:
        coherence: log p(y=1 | s, c), in nats, ≤ 0.
        sentence: log p(s | c) / |s|, in nats a token.
        left: log p(c_< | s, c_>) / |c_<|, in nats a token.
        right: log p(c_> | c_<, s) / |c_>|, in nats a token.
    """

    coherence: npt.NDArray[np.float32]
    sentence: npt.NDArray[np.float32]
    left: npt.NDArray[np.float32]
    right: npt.NDArray[np.float32]

    def __getitem__(self, index: Indices | slice) -> "Terms":
        """The terms of some of the pairs."""
        return Terms(*(getattr(self, name)[index] for name in TERMS))

    def __len__(self) -> int:
        return len(self.coherence)

    def fit(self, weights: Weights) -> npt.NDArray[np.float64]:
        """S(s, c), the weighted sum of the terms (Eq. 3); float64 of shape (n,)."""
        total = np.zeros(len(self), dtype=np.float64)
        for name in TERMS:
            if weight := getattr(weights, name):
                total += weight * getattr(self, name).astype(np.float64)
        return total

    @classmethod
    def concatenate(cls, parts: "Sequence[Terms]") -> "Terms":
        """Several runs of terms, one after the other."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in TERMS))


class ContextFit:
    """Computes the terms of Eq. 3.

    Args:
        corpus: Where contexts come from.
        coherence: First term.
        generator: The other three.
        weights: Where λ1 is 0, or the other three are, those terms are not computed, but 0.
        pmi: Subtract from each likelihood its baseline.
    """

    def __init__(
        self,
        corpus: Corpus,
        coherence: Coherence,
        generator: Generator,
        weights: Weights | None = None,
        pmi: bool = False,
    ) -> None:
        self.corpus = corpus
        self._coherence = coherence
        self._generator = generator
        self._weights = weights or Weights()
        self._pmi = pmi

    def terms(self, asked: Sequence[tuple[str, int]]) -> Terms:
        """The terms of each (sentence, position in the corpus), in the order asked."""
        texts = sorted({sentence for sentence, _ in asked})
        row = {sentence: i for i, sentence in enumerate(texts)}
        places, column = np.unique([place for _, place in asked], return_inverse=True)
        positions = places.astype(np.int64)
        rows = np.array([row[sentence] for sentence, _ in asked], np.int64)
        pairs = np.column_stack((rows, column.astype(np.int64)))
        weights, nothing = self._weights, np.zeros(len(pairs), np.float32)
        coherence = nothing
        if weights.coherence:
            coherence = self._coherence.log_probabilities_at(texts, positions, pairs)
        if not (weights.sentence or weights.left or weights.right):
            return Terms(coherence, nothing, nothing, nothing)
        contexts = self.corpus.contexts(positions)
        found = self._generator.likelihoods(texts, contexts, pairs)
        if self._pmi:
            found = found - self._generator.baseline(texts, contexts, pairs)
        return Terms(coherence, found.sentence, found.left, found.right)
