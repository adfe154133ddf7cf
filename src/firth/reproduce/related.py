"""Similarities from the related work of Sun et al.: BM25, whitening and BERTScore."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from firth.encoders.encoder import TokenStates
from firth.encoders.words import WordSpace
from firth.search.bm25 import rarity, saturated
from firth.text.stems import Idf
from firth.text.types import Encode, Floats, TextPair, numbered, unit

States = Callable[[Sequence[str]], list[Floats]]
"""A function from n texts to unit vectors of each text's words or tokens, (words, d)."""
_LEAST = 1e-6
"""Directions with a smaller share of the largest variance are noise, and are left out."""
_PAIRS = 512
"""Pairs whose tokens are held at once."""


@dataclass(frozen=True)
class Bm25Pairs:
    """BM25 over stems (Robertson et al. 1995), the mean of both directions; at least 0.

    Each text is the query once, and the other one is the document. What a query scores is divided
    by what it scores with itself, so that scores of different queries can be compared. A stem that
    the counts lack is as rare as can be. A text without any stem has 0.

    Attributes:
        idf: How many sentences of a corpus have each stem.
        mean_words: Words of a sentence of the corpus, on average.
    """

    name: str
    idf: Idf
    mean_words: float

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the scores of n pairs, (n,)."""
        texts, left, right = numbered(pairs)
        queries = [Counter(self.idf.terms(text)) for text in texts]
        documents = [self._weights(counts) for counts in queries]

        def directed(query: int, document: int) -> float:
            weights = documents[document]
            return sum(n * weights.get(stem, 0.0) for stem, n in queries[query].items())

        alone = [directed(text, text) or 1.0 for text in range(len(texts))]
        return np.array(
            [
                (directed(a, b) / alone[a] + directed(b, a) / alone[b]) / 2
                for a, b in zip(left, right, strict=True)
            ],
            dtype=np.float64,
        )

    def _weights(self, counts: Counter[str]) -> dict[str, float]:
        times = np.array([*counts.values()], np.float64)
        having = np.array([self.idf.frequencies.get(stem, 0) for stem in counts], np.int64)
        parts = saturated(times, counts.total() / self.mean_words)
        weights = rarity(self.idf.sentences, having) * parts
        return dict(zip(counts, weights.tolist(), strict=True))


def whitened(encode: Encode, sentences: Sequence[str]) -> Encode:
    """Return an encoder whose dimensions have mean 0, variance 1 and no correlation.

    They are those of the vectors of some sentences (Su et al. 2021). A vector of zeros stays one.
    """
    vectors = np.asarray(encode(sentences), np.float64)
    mean = vectors.mean(axis=0)
    variances, axes = np.linalg.eigh(np.cov(vectors, rowvar=False))
    kept = variances > _LEAST * variances.max()
    matrix = axes[:, kept] / np.sqrt(variances[kept])

    def encode_white(texts: Sequence[str]) -> Floats:
        rows = np.asarray(encode(texts), np.float64)
        white: Floats = np.where(rows.any(axis=1, keepdims=True), (rows - mean) @ matrix, 0.0)
        return white

    return encode_white


@dataclass(frozen=True)
class GreedyMatches:
    """BERTScore (Zhang et al. 2020) without idf: F1 of the best matches of tokens, in [0, 1].

    Precision and recall are the means, over the tokens of one text, of the largest cosine with a
    token of the other, where negative ones count 0. A text without tokens has 0.
    """

    name: str
    states: States

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return F1 of n pairs, (n,)."""
        scores = [self._block(pairs[n : n + _PAIRS]) for n in range(0, len(pairs), _PAIRS)]
        return np.concatenate([np.zeros(0), *scores])

    def _block(self, pairs: Sequence[TextPair]) -> Floats:
        texts, left, right = numbered(pairs)
        states, scores = self.states(texts), np.zeros(len(pairs))
        for row, (a, b) in enumerate(zip(left, right, strict=True)):
            if len(states[a]) and len(states[b]):
                cosines = np.clip(states[a] @ states[b].T, 0.0, 1.0)
                means = cosines.max(axis=0).mean(), cosines.max(axis=1).mean()
                scores[row] = 2 * means[0] * means[1] / max(sum(means), 1e-12)
        return scores


def states_of_stems(space: WordSpace) -> States:
    """Return a function from texts to the learned vectors of their stems; zero for unknown ones."""
    return lambda texts: [unit(space.learned(space.stems(text))) for text in texts]


def states_of_tokens(token_states: TokenStates) -> States:
    """Return a function from texts to the last states of their tokens, without special ones."""
    return lambda texts: [
        unit(np.asarray(states[ends[:, 1] > ends[:, 0]], np.float64))
        for states, ends in token_states(texts)
    ]
