"""The similarities that a score is the weighted mean of, of which two are built in.

A component gives similarities of pairs, and the named parts that the similarity of a pair is the
sum of. Packages add components by the entry-point group `firth.components`: a function from a run
to a component.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from firth.encoders.words import WordSpace
from firth.scorer.contexts import TopicFits
from firth.scorer.parts import TOPICS, WORDS, Part
from firth.scorer.stem_table import Cells, StemTable
from firth.text.types import (
    CosineScorer,
    Encode,
    Floats,
    Ints,
    Singles,
    TextPair,
    numbered,
    split_runs,
    starts,
    unit,
)

RARITY_POWER = 1.5
"""A word weighs its idf to this power in the alignment."""
COSINE_POWER = 1.5
"""A cosine of learned vectors counts to this power, because many words are slightly similar."""


class Component(Protocol):
    """One of the similarities of a score."""

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return symmetric similarities of n pairs, (n,), in [-1, 1]; no pair decides another's."""

    def evidence(self, pairs: Sequence[TextPair]) -> Iterator[tuple[Part, ...]]:
        """Yield the parts that the similarity of each pair is the sum of."""


@runtime_checkable
class WeighsWords(Protocol):
    """A component in which rare words count more."""

    def weighing(self, space: WordSpace) -> "Component":
        """Return the same component with the rarities of another space."""


class TextReader:
    """Reads texts once for all components of a score: what it read last is kept.

    The function gives vectors of n texts, (n, d), and directions of each text's distinct stems.
    """

    def __init__(self, read: Callable[[Sequence[str]], tuple[Singles, list[Floats]]]) -> None:
        self._read = read
        self._last: dict[str, tuple[Singles, Floats]] = {}

    def vectors(self, texts: Sequence[str]) -> Singles:
        """Return the vectors of texts, (n, d)."""
        rows = self._of(texts)
        return np.array([rows[text][0] for text in texts], np.float32)

    def states(self, texts: Sequence[str]) -> list[Floats]:
        """Return the directions of the stems of each text."""
        rows = self._of(texts)
        return [rows[text][1] for text in texts]

    def _of(self, texts: Sequence[str]) -> dict[str, tuple[Singles, Floats]]:
        last = self._last
        if not all(text in last for text in texts):
            distinct = list(dict.fromkeys(texts))
            vectors, states = self._read(distinct)
            self._last = last = dict(zip(distinct, zip(vectors, states, strict=True), strict=True))
        return last


class EncodedSentences:
    """The cosine of sentence vectors, which a function encodes.

    `open_topics` opens what explains products of these vectors; None leaves topics out.
    """

    def __init__(self, encode: Encode, open_topics: Callable[[], TopicFits] | None = None) -> None:
        self._encode, self._open_topics = encode, open_topics

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return cosines, (n,). Each distinct text is encoded once."""
        return CosineScorer("sentences", self._encode).similarities(pairs)

    def evidence(self, pairs: Sequence[TextPair]) -> Iterator[tuple[Part, ...]]:
        """Yield one part for each pair: topics explain the whole cosine."""
        texts, left, right = numbered(pairs)
        if not texts:
            return
        vectors = unit(np.asarray(self._encode(texts), dtype=np.float64))
        for part in _products(self._open_topics, pairs, vectors[left], vectors[right]):
            yield (part,)


class SummedWords:
    """The cosine of sums of words: each stem's learned vector and spelling direction.

    The learned part is Eq. 4 of Sun et al. with decorrelated fits into all contexts. The spelled
    part is a tf-idf in which words that are spelled alike share something. The spelling weight is
    the length of a direction with an idf of 6; a typical learned vector has length 1. Topics that
    `open_topics` opens explain the learned part.
    """

    def __init__(
        self,
        space: WordSpace,
        spelling_weight: float,
        open_topics: Callable[[], TopicFits] | None = None,
    ) -> None:
        self._space, self._weight, self._open_topics = space, spelling_weight, open_topics

    def weighing(self, space: WordSpace) -> "SummedWords":
        """Return the same component with the rarities of another space."""
        return SummedWords(space, self._weight, self._open_topics)

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return cosines, (n,); 0 where a text has no word. Each distinct text is read once."""
        texts, left, right = numbered(pairs)
        table = StemTable.read(self._space, texts)
        both, alone = (
            learned + self._weight**2 * spelled
            for learned, spelled in (table.products(left, right), table.squares())
        )
        lengths = np.sqrt(alone[left] * alone[right])
        cosines: Floats = both / np.where(lengths > 0, lengths, 1.0)
        return np.clip(cosines, -1.0, 1.0)

    def evidence(self, pairs: Sequence[TextPair]) -> Iterator[tuple[Part, ...]]:
        """Yield what topics explain (learned vectors) and what words add by their spelling."""
        texts, left, right = numbered(pairs)
        table = StemTable.read(self._space, texts)
        vectors, directions = table.squares()
        lengths = np.sqrt(vectors + self._weight**2 * directions)
        lengths = np.where(lengths > 0, lengths, 1.0)
        learned, spelled = self._space.learned(table.stems), self._weight * table.rarities
        alike = (part for cells in table.cells(left, right) for part in cells.by_pair(cells.alike))
        sums = table.learned / lengths[:, None]
        products = _products(self._open_topics, pairs, sums[left], sums[right])
        for a, b, shared, product in zip(left, right, alike, products, strict=True):
            i, j = table.by_text[a], table.by_text[b]
            products_of_stems = (learned[i] / lengths[a]) @ (learned[j] / lengths[b]).T
            cells = shared * np.outer(spelled[i] / lengths[a], spelled[j] / lengths[b])
            yield (
                Part(name=WORDS, contribution=float(cells.sum()), cells=cells),
                replace(product, cells=products_of_stems),
            )


class AlignedWords:
    """The alignment of words: the mean of each word's best match in the other text.

    Two words with one stem match to a degree of 1. Others match as far as their spelling agrees, or
    by the positive cosine of their learned vectors to the power 1.5, whichever is larger. An
    encoder gives `states`, a direction for each stem of a text (`WordDirections`). Then their
    cosine counts, above a floor, the cosine of unrelated words. Every word of both texts weighs its
    idf to the power 1.5.
    (Greedy alignment with idf weights: Mihalcea et al. 2006; with states: Zhang et al. 2020.)
    """

    def __init__(
        self,
        space: WordSpace,
        states: Callable[[Sequence[str]], list[Floats]] | None = None,
        floor: float = 0.0,
    ) -> None:
        self._space, self._states, self._floor = space, states, floor

    def weighing(self, space: WordSpace) -> "AlignedWords":
        """Return the same component with the rarities of another space."""
        return AlignedWords(space, self._states, self._floor)

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return mean matches, (n,), in [0, 1]; 0 where a text has no word."""
        table, blocks = self._match(pairs)
        weights = table.rarities**RARITY_POWER
        of_blocks = [_means(table, cells, matches, weights) for cells, matches in blocks]
        means: Floats = np.concatenate([np.zeros(0), *of_blocks])
        return np.clip(means, 0.0, 1.0)  # rounding may exceed 1

    def evidence(self, pairs: Sequence[TextPair]) -> Iterator[tuple[Part, ...]]:
        """Yield one part for each pair: what each word adds with its best match."""
        table, blocks = self._match(pairs)
        weights = table.rarities**RARITY_POWER
        for cells, flat in blocks:
            sides = zip(cells.left.tolist(), cells.right.tolist(), cells.by_pair(flat), strict=True)
            for a, b, matches in sides:
                rows, columns = (weights[table.by_text[text]] for text in (a, b))
                words, (n, m) = np.zeros(matches.shape), matches.shape
                total = float(rows.sum() + columns.sum())
                if matches.size and total:
                    by_row, by_column = matches.max(axis=1) * rows, matches.max(axis=0) * columns
                    np.add.at(words, (np.arange(n), matches.argmax(axis=1)), by_row / total)
                    np.add.at(words, (matches.argmax(axis=0), np.arange(m)), by_column / total)
                amount = float(words.sum())
                yield (Part(name=WORDS, contribution=amount, cells=words, matches=matches),)

    def _match(self, pairs: Sequence[TextPair]) -> tuple[StemTable, Iterator[tuple[Cells, Floats]]]:
        """Return the stems of pairs, and blocks of the degrees to which each two match."""
        texts, left, right = numbered(pairs)
        table = StemTable.read(self._space, texts)
        blocks = table.cells(left, right)
        if self._states is not None:
            states = self._states(texts)
            return table, _matches(
                blocks, lambda numbers: [states[text] for text in numbers], 1.0, self._floor
            )
        learned = self._space.directions(table.stems)

        def directions(texts: Ints) -> list[Floats]:
            return split_runs(learned[table.of_texts(texts)], table.counts[texts])

        return table, _matches(blocks, directions, COSINE_POWER)


def _products(
    open_topics: Callable[[], TopicFits] | None,
    pairs: Sequence[TextPair],
    ones: Floats,
    twos: Floats,
) -> Iterator[Part]:
    """Yield the part `topics` of each pair: the product of two vectors, (n, d) each."""
    if open_topics is None:
        for product in np.vecdot(ones, twos).tolist():
            yield Part(name=TOPICS, contribution=product)
        return
    for product, topics, contexts in open_topics().explain(pairs, ones, twos):
        yield Part(name=TOPICS, contribution=product, topics=topics, contexts=contexts)


def _matches(
    blocks: Iterator[Cells],
    directions: Callable[[Ints], list[Floats]],
    power: float,
    floor: float = 0.0,
) -> Iterator[tuple[Cells, Floats]]:
    """Yield how far stems match: by cosine above a floor, to a power, or by spelling if more."""
    for cells in blocks:
        sides = zip(directions(cells.left), directions(cells.right), strict=True)
        cosines = np.concatenate([np.zeros(0), *((a @ b.T).ravel() for a, b in sides)])
        above = np.maximum((cosines - floor) / (1 - floor), 0.0, out=cosines)
        yield cells, np.maximum(above**power, cells.alike, out=above)


def _means(table: StemTable, cells: Cells, matches: Floats, weights: Floats) -> Floats:
    """Return the weighted mean of the best matches of the words of each pair, (k,)."""
    means, filled = np.zeros(len(cells.left)), np.flatnonzero(cells.heights * cells.widths)
    if not len(filled):
        return means
    n, m = cells.heights[filled], cells.widths[filled]
    sums, totals = np.zeros(len(filled)), np.zeros(len(filled))
    for text, high, wide, rows in (
        (cells.left, n, m, matches),
        (cells.right, m, n, cells.transposed(matches)),
    ):
        of_stems = weights[table.of_texts(text[filled])]
        best = np.maximum.reduceat(rows, starts(np.repeat(wide, high)))
        sums += np.add.reduceat(of_stems * best, starts(high))
        totals += np.add.reduceat(of_stems, starts(high))
    means[filled] = sums / np.where(totals > 0, totals, 1.0)
    return means
