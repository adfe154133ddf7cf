"""The similarities that Origin blends, each with the evidence it is the sum of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from firth.context.decorrelated import Contexts
from firth.context.encoder import Floats, SentenceEncoder, WordVectors
from firth.corpus.corpus import Corpus
from firth.lexical.scorer import TextPair
from firth.lexical.tfidf import TfIdf


@dataclass(frozen=True)
class Share:
    """One piece of evidence, and what it adds to a similarity.

    Attributes:
        evidence: A word, or a sentence of the corpus.
        slot: Number of the corpus sentence; None for a word.
        fit1: How well s1 fits there.
        fit2: How well s2 fits there.
        share: What it adds.
    """

    evidence: str
    slot: int | None
    fit1: float
    fit2: float
    share: float


class Part(Protocol):
    """One of the blended similarities."""

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Similarities of `pairs`, shape (n,), in [-1, 1]; symmetric."""

    def shares(self, one: str, two: str, top: int) -> tuple[list[Share], float]:
        """The `top` largest pieces of evidence by size, and the sum of all, the similarity."""


class SentenceComponent:
    """Cosine of two sentence vectors: Eq. 4 with decorrelated fits into all contexts.

    Args:
        encoder: Gives the vectors.
        contexts: Corpus sentences that the cosine is explained by.
        corpus: Their texts.
    """

    def __init__(self, encoder: SentenceEncoder, contexts: Contexts, corpus: Corpus) -> None:
        self._encoder, self._contexts, self._corpus = encoder, contexts, corpus
        self._decorrelated: Floats | None = None

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Cosines, shape (n,); each distinct text is encoded once."""
        index = {text: i for i, text in enumerate(dict.fromkeys(t for pair in pairs for t in pair))}
        if not index:
            return np.empty(0)
        vectors = self._encoder.encode(list(index), "Origin: sentence vectors")
        left, right = ([index[pair[side]] for pair in pairs] for side in (0, 1))
        cosines: Floats = np.einsum("nd,nd->n", vectors[left], vectors[right])
        return np.clip(cosines, -1.0, 1.0)

    def shares(self, one: str, two: str, top: int) -> tuple[list[Share], float]:
        """The corpus sentences next to which both fit, or only one of them does."""
        if self._decorrelated is None:
            self._decorrelated = self._contexts.decorrelated()
        vectors = self._encoder.encode([one, two], "Origin: sentence vectors")
        fits1, fits2 = self._decorrelated @ vectors.T[:, :1], self._decorrelated @ vectors.T[:, 1:]
        added = (fits1 * fits2)[:, 0] / len(fits1)
        chosen = np.lexsort((self._contexts.slots, -np.abs(added)))[:top]
        slots = self._contexts.slots[chosen]
        texts = self._corpus.texts(slots)
        found = [
            Share(text, int(slot), float(fits1[c, 0]), float(fits2[c, 0]), float(added[c]))
            for text, slot, c in zip(texts, slots, chosen, strict=True)
        ]
        return found, float(vectors[0] @ vectors[1])


class WordComponent:
    """Overlap of fits, Σ min / Σ max, over the contexts that the words of both sentences are.

    A word v fits into the context w by their vectors' product; a sentence fits as its best word
    does, at least 0. A word of both sentences counts as a context twice, as contexts of both sets
    do in Eq. 4. (Fuzzy Jaccard similarity of max-pooled vectors: Zhelezniak et al. 2019.)

    Args:
        vectors: Of words.
    """

    def __init__(self, vectors: WordVectors) -> None:
        self._vectors = vectors

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Overlaps, shape (n,), in [0, 1]; 0 where a sentence has no known word."""
        known: dict[str, tuple[list[str], Floats]] = {}
        for pair in pairs:
            for text in pair:
                if text not in known:
                    known[text] = self._vectors(text)
        return np.array([_overlap(known[a][1], known[b][1])[0] for a, b in pairs], dtype=float)

    def shares(self, one: str, two: str, top: int) -> tuple[list[Share], float]:
        """The words in which the sentences meet, and those in which they do not."""
        (words1, vectors1), (words2, vectors2) = self._vectors(one), self._vectors(two)
        whole, fits1, fits2, added = _overlap(vectors1, vectors2)
        found: dict[str, Share] = {}
        for word, fit1, fit2, more in zip([*words1, *words2], fits1, fits2, added, strict=True):
            before = found[word].share if word in found else 0.0
            found[word] = Share(word, None, float(fit1), float(fit2), before + float(more))
        ranked = sorted(found.values(), key=lambda item: (-item.share, item.evidence))
        return ranked[:top], whole


class TermComponent:
    """tf-idf cosine: the words that two sentences share, rare ones counting more.

    Args:
        tfidf: With the idf of the corpus.
    """

    def __init__(self, tfidf: TfIdf) -> None:
        self._tfidf = tfidf

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Cosines, shape (n,), in [0, 1]."""
        return self._tfidf.similarities(pairs)

    def shares(self, one: str, two: str, top: int) -> tuple[list[Share], float]:
        """The shared words; a word's fit is its weight in the sentence."""
        weights1, weights2 = self._tfidf.weights(one), self._tfidf.weights(two)
        found = [
            Share(word, None, fit, weights2[word], fit * weights2[word])
            for word, fit in weights1.items()
            if word in weights2
        ]
        ranked = sorted(found, key=lambda item: (-item.share, item.evidence))
        return ranked[:top], float(self._tfidf.similarities([(one, two)])[0])


def _overlap(one: Floats, two: Floats) -> tuple[float, Floats, Floats, Floats]:
    """Σ min / Σ max, both sentences' fits into the words of both, and each word's share."""
    contexts = np.vstack((one, two))
    if not (len(one) and len(two)):
        nothing = np.zeros(len(contexts))
        return 0.0, nothing, nothing, nothing
    fits1 = np.maximum((contexts @ one.T).max(axis=1), 0.0)
    fits2 = np.maximum((contexts @ two.T).max(axis=1), 0.0)
    whole = float(np.maximum(fits1, fits2).sum())
    added = np.minimum(fits1, fits2) / (whole or 1.0)
    return float(added.sum()), fits1, fits2, added
