"""The similarities that Origin takes the mean of, each with what it is the sum of."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from firth.context.encoder import ReadWords, SentenceEncoder, unit
from firth.lexical.arrays import Floats, Ints
from firth.lexical.scorer import CosineScorer, TextPair, numbered
from firth.lexical.spelling import alike, product, spelled
from firth.lexical.word_space import WordSpace
from firth.origin.gram import SHARP, aligned, summed


@dataclass(frozen=True, eq=False)
class Taken:
    """The similarity of a pair, taken apart.

    Attributes:
        vectors: Two whose product the similarity, or a part of it, is: what contexts explain.
        learned: That product, by a stem of the one and a stem of the other, (n, m), in the order of
            `WordSpace.stems`; None where vectors are not sums of words.
        words: What else stems add, (n, m): the similarity is the sum of both.
        matches: How far stems match, (n, m), in [0, 1]; None where that is not asked.
        summands: By stem, what sums to `vectors`: (n, d) and (m, d); None where nothing does.
    """

    vectors: tuple[Floats, Floats] | None = None
    learned: Floats | None = None
    words: Floats | None = None
    matches: Floats | None = None
    summands: tuple[Floats, Floats] | None = None


class Component(Protocol):
    """One of the similarities."""

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Similarities of `pairs`, shape (n,), in [-1, 1]; symmetric."""

    def gram(self, texts: Sequence[str]) -> Floats:
        """Similarities of all texts to each other, (n, n)."""

    def taken(self, pairs: Sequence[TextPair]) -> Iterator[Taken]:
        """What the similarity of each pair is the sum of."""


class EncodedSentences:
    """Cosine of a pretrained model's sentence vectors.

    Args:
        encoder: Gives the vectors.
    """

    def __init__(self, encoder: SentenceEncoder) -> None:
        self._encoder = encoder

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Cosines, shape (n,); each distinct text is encoded once."""
        return CosineScorer(self._encoder.name, self._encoder.encode).similarities(pairs)

    def gram(self, texts: Sequence[str]) -> Floats:
        """Cosines of all texts to each other, (n, n)."""
        vectors = unit(np.asarray(self._encoder.encode(texts), dtype=np.float64))
        return np.clip(vectors @ vectors.T, -1.0, 1.0)

    def taken(self, pairs: Sequence[TextPair]) -> Iterator[Taken]:
        """Contexts explain all of it."""
        texts, left, right = numbered(pairs)
        vectors = self._encoder.encode(texts) if texts else np.zeros((0, 0))
        for a, b in zip(left, right, strict=True):
            yield Taken((vectors[a], vectors[b]))


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

    def cosines(self, own: float | None) -> Floats:
        """Cosines, (n,), with own directions so long; 0 where a text has no word.

        None leaves out what was learned.
        """
        both, one, two = self.spelled if own is None else self.learned + own**2 * self.spelled
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
    """

    def __init__(self, space: WordSpace, own: float) -> None:
        self._space, self._own = space, own

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Cosines, shape (n,); 0 where a text has no word."""
        return WordProducts.of(self._space, pairs).cosines(self._own)

    def gram(self, texts: Sequence[str]) -> Floats:
        """Cosines of all texts to each other, (n, n)."""
        return summed(self._space, texts, self._own)

    def taken(self, pairs: Sequence[TextPair]) -> Iterator[Taken]:
        """Contexts explain what was learned; words, what own directions share."""
        texts, left, right = numbered(pairs)
        sums = [WordSum.of(self._space, text) for text in texts]
        lengths = [found.length(self._own) or 1.0 for found in sums]
        learned = [
            self._space.learned(found.stems) / n for found, n in zip(sums, lengths, strict=True)
        ]
        own = [
            self._own
            / n
            * np.array([self._space.rarity(stem) for stem in found.stems], dtype=float)
            for found, n in zip(sums, lengths, strict=True)
        ]
        for a, b in zip(left, right, strict=True):
            yield Taken(
                (sums[a].learned / lengths[a], sums[b].learned / lengths[b]),
                learned[a] @ learned[b].T,
                alike(sums[a].stems, sums[b].stems) * np.outer(own[a], own[b]),
                summands=(learned[a], learned[b]),
            )


@dataclass(frozen=True, eq=False)
class _Words:
    """The stems of a text, their directions, and their weights."""

    stems: list[str]
    directions: Floats
    weights: Floats
    sharp: float
    """Power of the cosine of two directions."""

    @classmethod
    def of(cls, space: WordSpace, text: str, states: Floats | None) -> "_Words":
        stems = space.stems(text)
        weights = np.array([space.rarity(stem) for stem in stems], dtype=float) ** 1.5
        if states is None:
            return cls(stems, space.directions(stems), weights, SHARP)
        return cls(stems, states, weights, 1.0)


class AlignedWords:
    """Which word of the one sentence meets which of the other: the mean of best matches.

    The match of two words is 1 where they have one stem; else how far their spelling agrees, or the
    positive cosine of their learned vectors, scaled by trust, to the power 1.5, whichever is more.
    An encoder that has a state for each word of a sentence tells more: then it is the positive
    cosine of these. Each word of both sentences takes its best match, weighted by its idf to the
    power 1.5. (Greedy alignment with idf weights: Mihalcea et al. 2006; by states: Zhang et al.
    2020.)

    Args:
        space: Vectors and spelling of words.
        states: An encoder's, if it has any.
    """

    def __init__(self, space: WordSpace, states: ReadWords | None = None) -> None:
        self._space, self._states = space, states

    def _read(self, texts: Sequence[str]) -> list[_Words]:
        states = self._states(texts) if self._states else [None] * len(texts)
        return [
            _Words.of(self._space, text, each) for text, each in zip(texts, states, strict=True)
        ]

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Means of matches, shape (n,), in [0, 1]; 0 where a text has no word."""
        texts, left, right = numbered(pairs)
        read = self._read(texts)
        found = [_aligned(read[a], read[b]) for a, b in zip(left, right, strict=True)]
        means: Floats = np.array([added.sum() for *_, added in found], dtype=float)
        return np.clip(means, 0.0, 1.0)  # rounding may exceed 1

    def gram(self, texts: Sequence[str]) -> Floats:
        """Means of matches of all texts to each other, (n, n)."""
        states = np.concatenate(self._states(texts)) if self._states and texts else None
        return aligned(self._space, texts, states)

    def taken(self, pairs: Sequence[TextPair]) -> Iterator[Taken]:
        """Each word with the one it meets."""
        texts, left, right = numbered(pairs)
        read = self._read(texts)
        for a, b in zip(left, right, strict=True):
            one, two = read[a], read[b]
            n, m = len(one.stems), len(two.stems)
            found, met = np.zeros((n, m)), _matches(one, two)
            best, _, added = _aligned(one, two)
            if len(best):
                np.add.at(found, (np.arange(n), best[:n]), added[:n])
                np.add.at(found, (best[n:], np.arange(m)), added[n:])
            yield Taken(words=found, matches=met)


def _matches(one: _Words, two: _Words) -> Floats:
    """How far stems match, (n, m), in [0, 1]."""
    learned: Floats = np.maximum(one.directions @ two.directions.T, 0.0) ** one.sharp
    return np.maximum(learned, alike(one.stems, two.stems))


def _aligned(one: _Words, two: _Words) -> tuple[Ints, Floats, Floats]:
    """Of each word of both, (n + m,): whom it meets, how far they match, and what that adds."""
    whole = float(one.weights.sum() + two.weights.sum())
    if not (one.stems and two.stems and whole):
        return np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
    matches = _matches(one, two)
    best = np.concatenate((matches.argmax(axis=1), matches.argmax(axis=0)))
    most = np.concatenate((matches.max(axis=1), matches.max(axis=0)))
    return best, most, most * np.concatenate((one.weights, two.weights)) / whole
