"""The similarities that Origin takes the mean of, each with the contributions it is the sum of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from firth.context.contexts import Contexts
from firth.context.encoder import SentenceEncoder
from firth.context.settings import Encoder
from firth.corpus.corpus import Corpus
from firth.lexical.arrays import Floats
from firth.lexical.scorer import TextPair, numbered
from firth.lexical.tfidf import Idf, TfIdf
from firth.lexical.word_vectors import WordBag
from firth.lexical.words import stems, words


@dataclass(frozen=True)
class Contribution:
    """One piece of evidence, and what it adds to a similarity.

    Attributes:
        component: `sentences`, `words` or `terms`.
        evidence: A corpus sentence next to which s1 and s2 would stand, or a word.
        document: Name of the sentence's document; None for a word.
        position: Number of the corpus sentence; None for a word.
        fit1: How well s1 fits there.
        fit2: How well s2 fits there.
        contribution: What it adds.
    """

    component: str
    evidence: str
    document: str | None
    position: int | None
    fit1: float
    fit2: float
    contribution: float


class Component(Protocol):
    """One of the similarities."""

    known_words_only: bool
    """Whether it sees nothing of a text but the words that the corpus has."""

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Similarities of `pairs`, shape (n,), in [-1, 1]; symmetric."""

    def contributions(self, one: str, two: str, top: int) -> tuple[list[Contribution], float]:
        """The `top` largest contributions by size, and the sum of all, the similarity."""


class SentenceComponent:
    """Cosine of two sentence vectors: Eq. 4 with decorrelated fits into all contexts.

    Args:
        encoder: Gives the vectors.
        contexts: Corpus sentences that the cosine is explained by.
        corpus: Their texts and documents.
    """

    def __init__(self, encoder: SentenceEncoder, contexts: Contexts, corpus: Corpus) -> None:
        self._encoder, self._contexts, self._corpus = encoder, contexts, corpus
        self._decorrelated: Floats | None = None
        self.known_words_only = encoder.kind is Encoder.BAG

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Cosines, shape (n,); each distinct text is encoded once."""
        texts, left, right = numbered(pairs)
        if not texts:
            return np.empty(0)
        vectors = self._encoder.encode(texts, "Origin: sentence vectors")
        cosines: Floats = np.einsum("nd,nd->n", vectors[left], vectors[right])
        return np.clip(cosines, -1.0, 1.0)

    def contributions(self, one: str, two: str, top: int) -> tuple[list[Contribution], float]:
        """The corpus sentences next to which both fit, or only one of them does."""
        if self._decorrelated is None:
            self._decorrelated = self._contexts.decorrelated()
        vectors = self._encoder.encode([one, two], "Origin: sentence vectors")
        fits1, fits2 = self._decorrelated @ vectors.T[:, :1], self._decorrelated @ vectors.T[:, 1:]
        added = (fits1 * fits2)[:, 0] / len(fits1)
        chosen = np.lexsort((self._contexts.positions, -np.abs(added)))[:top]
        positions = self._contexts.positions[chosen]
        documents = self._corpus.document_of(positions).tolist()
        found = [
            Contribution(
                "sentences",
                text,
                self._corpus.document_id(document),
                position,
                float(fits1[c, 0]),
                float(fits2[c, 0]),
                float(added[c]),
            )
            for text, document, position, c in zip(
                self._corpus.texts(positions), documents, positions.tolist(), chosen, strict=True
            )
        ]
        return found, float(vectors[0] @ vectors[1])


class WordComponent:
    """Overlap of fits, Σ min / Σ max, over the contexts that the words of both sentences are.

    A word v fits into the context w by their vectors' product; a sentence fits as its best word
    does, at least 0. A word of both sentences counts as a context twice, as contexts of both sets
    do in Eq. 4. (Fuzzy Jaccard similarity of max-pooled vectors: Zhelezniak et al. 2019.)

    Args:
        bag: Vectors of words.
    """

    known_words_only = True

    def __init__(self, bag: WordBag) -> None:
        self._bag = bag

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Overlaps, shape (n,), in [0, 1]; 0 where a sentence has no known word."""
        texts, left, right = numbered(pairs)
        known = [self._bag.known(text)[1] for text in texts]
        found = [_overlap(known[a], known[b])[0] for a, b in zip(left, right, strict=True)]
        return np.array(found, dtype=float)

    def contributions(self, one: str, two: str, top: int) -> tuple[list[Contribution], float]:
        """The words in which the sentences meet, and those in which they do not."""
        (words1, vectors1), (words2, vectors2) = self._bag.known(one), self._bag.known(two)
        whole, fits1, fits2, added = _overlap(vectors1, vectors2)
        sums: dict[str, tuple[float, float, float]] = {}
        for word, fit1, fit2, more in zip(
            [*words1, *words2], fits1.tolist(), fits2.tolist(), added.tolist(), strict=True
        ):
            sums[word] = (fit1, fit2, more + (sums[word][2] if word in sums else 0.0))
        return _ranked("words", sums)[:top], whole


class TermComponent:
    """tf-idf cosine: the stems that two sentences share, rare ones counting more.

    Args:
        tfidf: With the idf of the corpus.
    """

    known_words_only = True

    def __init__(self, tfidf: TfIdf) -> None:
        self._tfidf = tfidf

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Cosines, shape (n,), in [0, 1]."""
        return self._tfidf.similarities(pairs)

    def contributions(self, one: str, two: str, top: int) -> tuple[list[Contribution], float]:
        """The shared stems; a stem's fit is its weight in the sentence."""
        weights1, weights2 = self._tfidf.weights(one), self._tfidf.weights(two)
        shared = {
            word: (fit, weights2[word], fit * weights2[word])
            for word, fit in weights1.items()
            if word in weights2
        }
        return _ranked("terms", shared)[:top], float(self._tfidf.similarities([(one, two)])[0])


class KnownWords:
    """Which words of a text the corpus has, and what a likeness by these alone is worth.

    Args:
        idf: Of the corpus.
        bag: Of the corpus.
    """

    def __init__(self, idf: Idf, bag: WordBag) -> None:
        self._idf, self._stemmer = idf, bag.stemmer
        self._stems = frozenset(bag.vocabulary)
        self._tfidf = TfIdf(idf)

    def unknown(self, text: str) -> list[str]:
        """The distinct words of `text`, in order, that the corpus has not, nor their stems."""
        unseen = self._idf.unknown(text)
        kept = zip(unseen, stems(unseen, self._stemmer), strict=True)
        return [word for word, stem in kept if stem not in self._stems]

    def worth(self, pairs: Sequence[TextPair]) -> Floats:
        """What to multiply likenesses by known words alone by, shape (n,), in [0, 1].

        It is 1, but for texts that have the same known words and differ in unknown ones. By their
        known words these would be one text, of which as much is seen as the cosine of their tf-idf
        vectors says, in which unknown words count as the rarest.
        """
        unseen = {text: self._idf.unknown(text) for pair in pairs for text in pair}
        found, blind = np.ones(len(pairs)), []
        for i, (one, two) in enumerate(pairs):
            if unseen[one] != unseen[two]:  # which is rare, and cheap to see
                (known1, unknown1), (known2, unknown2) = self._split(one), self._split(two)
                if known1 == known2 and unknown1 != unknown2:
                    blind.append(i)
        if blind:
            found[blind] = self._tfidf.similarities([pairs[i] for i in blind])
        return found

    def _split(self, text: str) -> tuple[frozenset[str], frozenset[str]]:
        unknown = frozenset(self.unknown(text))
        known = [word for word in words(text) if word not in unknown]
        return frozenset(stems(known, self._stemmer)), unknown


def _ranked(component: str, found: dict[str, tuple[float, float, float]]) -> list[Contribution]:
    """Word → (fit1, fit2, what it adds), the largest first."""
    items = sorted(found.items(), key=lambda item: (-item[1][2], item[0]))
    return [Contribution(component, word, None, None, *values) for word, values in items]


def _overlap(one: Floats, two: Floats) -> tuple[float, Floats, Floats, Floats]:
    """Σ min / Σ max, both sentences' fits into the words of both, and what each word adds."""
    contexts = np.vstack((one, two))
    if not (len(one) and len(two)):
        nothing = np.zeros(len(contexts))
        return 0.0, nothing, nothing, nothing
    fits1 = np.maximum((contexts @ one.T).max(axis=1), 0.0)
    fits2 = np.maximum((contexts @ two.T).max(axis=1), 0.0)
    whole = float(np.maximum(fits1, fits2).sum())
    added = np.minimum(fits1, fits2) / (whole or 1.0)
    return float(added.sum()), fits1, fits2, added
