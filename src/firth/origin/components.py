"""The similarities that Origin takes the mean of, each with what it is the sum of."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from firth.context.encoder import ReadWords, SentenceEncoder, unit
from firth.lexical.arrays import Floats, Ints, apart, starts
from firth.lexical.scorer import CosineScorer, TextPair, numbered
from firth.lexical.word_space import WordSpace
from firth.origin.gram import SHARP, aligned, summed
from firth.origin.stem_table import Cells, StemTable


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
        """The products of `pairs`; each distinct text is read once."""
        texts, left, right = numbered(pairs)
        table = StemTable.of(space, texts)
        found = zip(table.products(left, right), table.squares(), strict=True)
        learned, spelled = (np.stack((both, alone[left], alone[right])) for both, alone in found)
        return cls(learned, spelled)

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
        table = StemTable.of(self._space, texts)
        vectors, directions = table.squares()
        lengths = np.sqrt(vectors + self._own**2 * directions)
        lengths = np.where(lengths > 0, lengths, 1.0)
        learned, own = self._space.learned(table.stems), self._own * table.rarities
        alike = (part for cells in table.alike(left, right) for part in cells.by_pair(cells.alike))
        for a, b, shared in zip(left, right, alike, strict=True):
            one, two = table.by_text[a], table.by_text[b]
            summands = learned[one] / lengths[a], learned[two] / lengths[b]
            yield Taken(
                (table.learned[a] / lengths[a], table.learned[b] / lengths[b]),
                summands[0] @ summands[1].T,
                shared * np.outer(own[one] / lengths[a], own[two] / lengths[b]),
                summands=summands,
            )


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

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Means of matches, shape (n,), in [0, 1]; 0 where a text has no word."""
        table, met = self._meet(pairs)
        weights = table.rarities**1.5
        each = [_means(table, cells, matches, weights) for cells, matches in met]
        means: Floats = np.concatenate([np.zeros(0), *each])
        return np.clip(means, 0.0, 1.0)  # rounding may exceed 1

    def gram(self, texts: Sequence[str]) -> Floats:
        """Means of matches of all texts to each other, (n, n)."""
        states = np.concatenate(self._states(texts)) if self._states and texts else None
        return aligned(self._space, texts, states)

    def taken(self, pairs: Sequence[TextPair]) -> Iterator[Taken]:
        """Each word with the one it meets."""
        table, met = self._meet(pairs)
        weights = table.rarities**1.5
        for cells, flat in met:
            sides = zip(cells.one.tolist(), cells.two.tolist(), cells.by_pair(flat), strict=True)
            for a, b, matches in sides:
                added = _added(matches, *(weights[table.by_text[text]] for text in (a, b)))
                found, (n, m) = np.zeros(matches.shape), matches.shape
                if len(added):
                    np.add.at(found, (np.arange(n), matches.argmax(axis=1)), added[:n])
                    np.add.at(found, (matches.argmax(axis=0), np.arange(m)), added[n:])
                yield Taken(words=found, matches=matches)

    def _meet(self, pairs: Sequence[TextPair]) -> tuple[StemTable, Iterator[tuple[Cells, Floats]]]:
        """The stems of `pairs`, and how far each two of a pair match, in [0, 1], (cells,)."""
        texts, left, right = numbered(pairs)
        table = StemTable.of(self._space, texts)
        cells = table.alike(left, right)
        if self._states is not None:
            states = self._states(texts)
            return table, _matches(cells, lambda some: [states[text] for text in some], 1.0)
        learned = self._space.directions(table.stems)

        def known(some: Ints) -> list[Floats]:
            return apart(learned[table.of_texts(some)], table.counts[some])

        return table, _matches(cells, known, SHARP)


def _matches(
    blocks: Iterator[Cells], known: Callable[[Ints], list[Floats]], power: float
) -> Iterator[tuple[Cells, Floats]]:
    """How far stems match: by what is known of the stems of each of some texts, or by spelling."""
    for cells in blocks:
        sides = zip(known(cells.one), known(cells.two), strict=True)
        each = [(one @ two.T).ravel() for one, two in sides]
        cosines = np.concatenate([np.zeros(0), *each])
        yield cells, np.maximum(np.maximum(cosines, 0.0) ** power, cells.alike)


def _means(table: StemTable, cells: Cells, matches: Floats, weights: Floats) -> Floats:
    """`_added`, summed, of each pair, (k,)."""
    means, kept = np.zeros(len(cells.one)), np.flatnonzero(cells.heights * cells.widths)
    if not len(kept):
        return means
    n, m = cells.heights[kept], cells.widths[kept]
    added, whole = np.zeros(len(kept)), np.zeros(len(kept))
    for text, high, wide, rows in (
        (cells.one, n, m, matches),
        (cells.two, m, n, cells.turned(matches)),
    ):
        each = weights[table.of_texts(text[kept])]
        most = np.maximum.reduceat(rows, starts(np.repeat(wide, high)))
        added += np.add.reduceat(each * most, starts(high))
        whole += np.add.reduceat(each, starts(high))
    means[kept] = added / np.where(whole > 0, whole, 1.0)
    return means


def _added(matches: Floats, one: Floats, two: Floats) -> Floats:
    """What each word of both adds with its best match, (n + m,); nothing where none weighs."""
    whole = float(one.sum() + two.sum())
    if not (matches.size and whole):
        return np.zeros(0)
    most = np.concatenate((matches.max(axis=1), matches.max(axis=0)))
    added: Floats = most * np.concatenate((one, two)) / whole
    return added
