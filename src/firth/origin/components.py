"""The similarities that Origin takes the mean of, each with the contributions it is the sum of."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from firth.context.contexts import Contexts
from firth.context.encoder import SentenceEncoder
from firth.corpus.corpus import Corpus
from firth.lexical.arrays import Floats, Ints
from firth.lexical.scorer import CosineScorer, TextPair, numbered
from firth.lexical.spelling import alike, product, spelled
from firth.lexical.word_space import WordSpace


@dataclass(frozen=True)
class Contribution:
    """One piece of evidence, and what it adds to a similarity.

    Attributes:
        part: `sentences`, `terms` or `words`.
        evidence: A corpus sentence next to which s1 and s2 would stand, or a word or two of them.
        document: Name of the sentence's document; None for words.
        position: Number of the corpus sentence; None for words.
        fit1: How well s1 fits there.
        fit2: How well s2 fits there.
        contribution: What it adds.
    """

    part: str
    evidence: str
    document: str | None
    position: int | None
    fit1: float
    fit2: float
    contribution: float


Parts = dict[str, tuple[list[Contribution], float]]
"""Part of a similarity → its largest contributions, by size, and the sum of all of them."""


class Component(Protocol):
    """One of the similarities."""

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Similarities of `pairs`, shape (n,), in [-1, 1]; symmetric."""

    def parts(self, one: str, two: str, top: int) -> Parts:
        """What the similarity is the sum of: at most `top` contributions of each part."""


class ContextFits:
    """The part of a cosine that corpus sentences explain: Eq. 4 with decorrelated fits.

    Args:
        contexts: Corpus sentences, in the space of the vectors.
        corpus: Their texts and documents.
    """

    def __init__(self, contexts: Contexts, corpus: Corpus) -> None:
        self._contexts, self._corpus = contexts, corpus
        self._decorrelated: Floats | None = None

    def parts(self, one: Floats, two: Floats, top: int) -> tuple[list[Contribution], float]:
        """The corpus sentences next to which both fit, or only one of them does: of x · y."""
        if self._decorrelated is None:
            self._decorrelated = self._contexts.decorrelated()
        fits1, fits2 = self._decorrelated @ one, self._decorrelated @ two
        added = fits1 * fits2 / len(fits1)
        chosen = np.lexsort((self._contexts.positions, -np.abs(added)))[:top]
        chosen = chosen[added[chosen] != 0]
        positions = self._contexts.positions[chosen]
        documents = self._corpus.document_of(positions).tolist()
        found = [
            Contribution(
                "sentences",
                text,
                self._corpus.document_id(document),
                position,
                float(fits1[c]),
                float(fits2[c]),
                float(added[c]),
            )
            for text, document, position, c in zip(
                self._corpus.texts(positions), documents, positions.tolist(), chosen, strict=True
            )
        ]
        return found, float(one @ two)


class EncodedSentences:
    """Cosine of a pretrained model's sentence vectors.

    Args:
        encoder: Gives the vectors.
        fits: Explains their products.
    """

    def __init__(self, encoder: SentenceEncoder, fits: ContextFits) -> None:
        self._encoder, self._fits = encoder, fits

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Cosines, shape (n,); each distinct text is encoded once."""
        return CosineScorer(self._encoder.name, self._encoder.encode).similarities(pairs)

    def parts(self, one: str, two: str, top: int) -> Parts:
        """The corpus sentences behind the cosine."""
        vectors = self._encoder.encode([one, two])
        return {"sentences": self._fits.parts(vectors[0], vectors[1], top)}


@dataclass(frozen=True, eq=False)
class WordSum:
    """A text as the sum of its words.

    Attributes:
        stems: Its distinct stems.
        learned: Sum of their learned vectors, (d,).
        spelled: N-gram → its part in the sum of their own directions, as long as they are rare.
    """

    stems: list[str]
    learned: Floats
    spelled: dict[str, float]

    @classmethod
    def of(cls, space: WordSpace, text: str) -> "WordSum":
        """The sum of a text."""
        stems = space.stems(text)
        own = spelled((stem, space.rarity(stem)) for stem in stems)
        return cls(stems, space.learned(stems).sum(axis=0), own)

    def products(self, other: "WordSum") -> tuple[float, float]:
        """Inner products with another: of what was learned, and of own directions."""
        return float(self.learned @ other.learned), product(self.spelled, other.spelled)

    def length(self, own: float) -> float:
        """Length of the whole, with own directions so long."""
        learned, directions = self.products(self)
        return math.sqrt(learned + own**2 * directions)


@dataclass(frozen=True, eq=False)
class WordProducts:
    """Inner products of the sums of words of n pairs of texts.

    Attributes:
        learned: Of learned vectors, (3, n): of both texts, of the first with itself, of the second.
        spelled: Likewise of own directions.
    """

    learned: Floats
    spelled: Floats

    @classmethod
    def of(cls, space: WordSpace, pairs: Sequence[TextPair]) -> "WordProducts":
        """The products of `pairs`; each distinct text is summed once."""
        texts, left, right = numbered(pairs)
        sums = [WordSum.of(space, text) for text in texts]
        alone = np.array([found.products(found) for found in sums]).reshape(-1, 2)
        both = [sums[a].products(sums[b]) for a, b in zip(left, right, strict=True)]
        learned, directions = np.stack(
            (np.array(both).reshape(-1, 2), alone[left], alone[right])
        ).transpose(2, 0, 1)
        return cls(learned, directions)

    def cosines(self, own: float) -> Floats:
        """Cosines, (n,), with own directions so long; 0 where a text has no word."""
        both, one, two = self.learned + own**2 * self.spelled
        lengths = np.sqrt(one * two)
        cosines: Floats = both / np.where(lengths > 0, lengths, 1.0)
        return np.clip(cosines, -1.0, 1.0)


class SummedWords:
    """Cosine of sums of words: learned vectors, and each stem's own direction.

    The first part is Eq. 4 with decorrelated fits into all contexts, the second a tf-idf in which
    words that are spelled alike meet too.

    Args:
        space: Vectors and directions of words.
        own: Length of own directions; a typical learned vector has length 1, and a stem's direction
            this one where its idf is 6.
        fits: Explains products of learned vectors.
    """

    def __init__(self, space: WordSpace, own: float, fits: ContextFits) -> None:
        self._space, self._own, self._fits = space, own, fits

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Cosines, shape (n,); 0 where a text has no word."""
        return WordProducts.of(self._space, pairs).cosines(self._own)

    def parts(self, one: str, two: str, top: int) -> Parts:
        """The corpus sentences behind what was learned, and the words that both have."""
        a, b = WordSum.of(self._space, one), WordSum.of(self._space, two)
        length1, length2 = (found.length(self._own) or 1.0 for found in (a, b))
        _, directions = a.products(b)
        fits1 = [self._own * self._space.rarity(stem) / length1 for stem in a.stems]
        fits2 = [self._own * self._space.rarity(stem) / length2 for stem in b.stems]
        meeting = alike(a.stems, b.stems).tolist()
        terms = [
            Contribution("terms", _both(s, t), None, None, fit1, fit2, meeting[i][j] * fit1 * fit2)
            for i, (s, fit1) in enumerate(zip(a.stems, fits1, strict=True))
            for j, (t, fit2) in enumerate(zip(b.stems, fits2, strict=True))
        ]
        return {
            "sentences": self._fits.parts(a.learned / length1, b.learned / length2, top),
            "terms": (_largest(terms, top), self._own**2 * directions / (length1 * length2)),
        }


@dataclass(frozen=True, eq=False)
class _Words:
    """The stems of a text, their learned directions scaled by trust, and their weights."""

    stems: list[str]
    directions: Floats
    weights: Floats

    @classmethod
    def of(cls, space: WordSpace, text: str) -> "_Words":
        stems = space.stems(text)
        weights = np.array([space.rarity(stem) for stem in stems], dtype=float) ** 1.5
        return cls(stems, space.directions(stems), weights)


class AlignedWords:
    """Which word of the one sentence meets which of the other: the mean of best matches.

    The match of two words is 1 where they have one stem; else how far their spelling agrees, or the
    positive cosine of their learned vectors, scaled by trust, to the power 1.5, whichever is more.
    Each word of both sentences takes its best match, weighted by its idf to the power 1.5. (Greedy
    alignment with idf weights: Mihalcea et al. 2006.)

    Args:
        space: Vectors and spelling of words.
    """

    def __init__(self, space: WordSpace) -> None:
        self._space = space

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Means of matches, shape (n,), in [0, 1]; 0 where a text has no word."""
        texts, left, right = numbered(pairs)
        read = [_Words.of(self._space, text) for text in texts]
        found = [_aligned(read[a], read[b]) for a, b in zip(left, right, strict=True)]
        means: Floats = np.array([added.sum() for *_, added in found], dtype=float)
        return np.clip(means, 0.0, 1.0)  # rounding may exceed 1

    def parts(self, one: str, two: str, top: int) -> Parts:
        """Each word with the one it meets."""
        a, b = _Words.of(self._space, one), _Words.of(self._space, two)
        best, matches, added = _aligned(a, b)
        met: dict[tuple[int, int], tuple[float, float]] = {}
        for n, place in enumerate(best.tolist()):
            pair = (n, place) if n < len(a.stems) else (place, n - len(a.stems))
            met[pair] = float(matches[n]), float(added[n]) + met.get(pair, (0.0, 0.0))[1]
        found = [
            Contribution("words", _both(a.stems[i], b.stems[j]), None, None, fit, fit, more)
            for (i, j), (fit, more) in met.items()
        ]
        return {"words": (_largest(found, top), float(added.sum()))}


def _aligned(one: _Words, two: _Words) -> tuple[Ints, Floats, Floats]:
    """Of each word of both, (n + m,): whom it meets, how far they match, and what that adds."""
    whole = float(one.weights.sum() + two.weights.sum())
    if not (one.stems and two.stems and whole):
        return np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
    learned = np.maximum(one.directions @ two.directions.T, 0.0) ** 1.5
    matches = np.maximum(learned, alike(one.stems, two.stems))
    best = np.concatenate((matches.argmax(axis=1), matches.argmax(axis=0)))
    most = np.concatenate((matches.max(axis=1), matches.max(axis=0)))
    return best, most, most * np.concatenate((one.weights, two.weights)) / whole


def _both(one: str, two: str) -> str:
    return one if one == two else f"{one} ~ {two}"


def _largest(found: list[Contribution], top: int) -> list[Contribution]:
    """The `top` contributions that add most or take most away; none that adds nothing."""
    found = [item for item in found if item.contribution]
    return sorted(found, key=lambda item: (-abs(item.contribution), item.evidence))[:top]
