"""Texts as numbers of their stems: what pairs of them need is worked out once a stem."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from scipy import sparse

from firth.lexical.arrays import Floats, Ints, apart, ranges, starts
from firth.lexical.spelling import gram_table
from firth.lexical.word_space import WordSpace
from firth.lexical.words import stems, words

_PAIRS, _CELLS = 1 << 10, 1 << 14
"""Of texts whose n-grams are multiplied, and of stems that are compared at once, about: of more,
most stems stand in different pairs."""
_UNITS = 2.0**-30, 2.0**-70, 2.0**-110
"""What is below one, in multiples of the next: thousands of them sum to what a float holds."""


@dataclass(frozen=True, eq=False)
class StemTable:
    """Texts as numbers of their stems.

    Whatever is worked out for a pair of texts is the same to the last bit, whatever other texts
    there are, and whichever of the two comes first.

    Attributes:
        space: What is known of words.
        stems: The distinct stems of all texts, u of them.
        numbers: Of each text's distinct stems, one text's after the other's.
        bounds: Text i has numbers[bounds[i]:bounds[i+1]], (n + 1,).
    """

    space: WordSpace
    stems: list[str]
    numbers: Ints
    bounds: Ints

    @classmethod
    def of(cls, space: WordSpace, texts: Sequence[str]) -> "StemTable":
        """Read `texts`; the last ones are kept, for components read the same, one by one."""
        return _read(space, tuple(texts))

    @cached_property
    def counts(self) -> Ints:
        """Stems of each text, (n,)."""
        return np.diff(self.bounds)

    def of_texts(self, texts: Ints) -> Ints:
        """Numbers of the stems of some texts, one text's after the other's."""
        return self.numbers[ranges(self.bounds[texts], self.counts[texts])]

    @cached_property
    def by_text(self) -> list[Ints]:
        """Numbers of each text's stems."""
        return [self.numbers[start:end] for start, end in pairwise(self.bounds.tolist())]

    @cached_property
    def rarities(self) -> Floats:
        """Length of each stem's own direction, (u,)."""
        return np.array([self.space.rarity(stem) for stem in self.stems], dtype=float)

    def weighted(self, weights: Floats) -> sparse.csr_matrix:
        """A row a text, a column a stem, (n, u): the weight of each stem that the text has."""
        shape = (len(self.bounds) - 1, len(self.stems))
        return sparse.csr_matrix((weights[self.numbers], self.numbers, self.bounds), shape=shape)

    @cached_property
    def learned(self) -> Floats:
        """The sum of the learned vectors of each text's stems, (n, d)."""
        found: Floats = self.weighted(np.ones(len(self.stems))) @ self.space.learned(self.stems)
        return found

    @cached_property
    def grams(self) -> sparse.csr_matrix:
        """A row a stem, a column a character n-gram: 1 where the stem has it."""
        return gram_table(self.stems)

    @cached_property
    def sizes(self) -> Floats:
        """N-grams of each stem, (u,)."""
        found: Floats = np.diff(self.grams.indptr).astype(float)
        return found

    @cached_property
    def own(self) -> sparse.csr_matrix:
        """A row a text, a column a stem, (n, u): times `grams`, the sum of own directions."""
        return self.weighted(self.rarities / np.sqrt(self.sizes))

    def products(self, left: Sequence[int], right: Sequence[int]) -> tuple[Floats, Floats]:
        """Inner products of the sums of words of texts, (len(left),) each: of what was learned, and
        of own directions."""
        learned, spelled = np.zeros(len(left)), np.zeros(len(left))
        for start in range(0, len(left), _PAIRS):
            block = slice(start, start + _PAIRS)
            sides = left[block], right[block]
            learned[block] = np.vecdot(*(self.learned[side] for side in sides))
            one, two = (self.own[side] @ self.grams for side in sides)
            spelled[block] = _sums(one.multiply(two))
        return learned, spelled

    def squares(self) -> tuple[Floats, Floats]:
        """`products` of each text with itself, (n,) each."""
        spelled = np.zeros(len(self.learned))
        for start in range(0, len(spelled), _PAIRS):
            block = slice(start, start + _PAIRS)
            parts = self.own[block] @ self.grams
            parts.data **= 2
            spelled[block] = _sums(parts)
        return np.vecdot(self.learned, self.learned), spelled

    def alike(self, left: Sequence[int], right: Sequence[int]) -> Iterator["Cells"]:
        """How far the spelling of the stems of two texts agrees, for each text of `left` and that
        of `right` beside it, some pairs at a time."""
        one, two = np.array(left, np.int64), np.array(right, np.int64)
        heights, widths = self.counts[one], self.counts[two]
        blocks = np.flatnonzero(np.diff(np.cumsum(heights * widths) // _CELLS)) + 1
        for some in np.split(np.arange(len(one)), blocks):
            n, m = heights[some], widths[some]
            yield Cells(one[some], two[some], n, m, self._alike(one[some], two[some], n, m))

    def _alike(self, one: Ints, two: Ints, n: Ints, m: Ints) -> Floats:
        """Every stem that stands in a text of `one` with every one in a text of `two`, then what of
        that each pair of texts needs."""
        wide = np.repeat(m, n)
        rows = np.repeat(self.of_texts(one), wide)
        columns = self.numbers[ranges(np.repeat(self.bounds[two], n), wide)]
        places, grams = [], []
        for numbers in (rows, columns):
            used = np.zeros(len(self.stems), bool)
            used[numbers] = True
            places.append((np.cumsum(used) - 1)[numbers])
            grams.append(self.grams[used])
        shared = (grams[0] @ grams[1].T).toarray()[places[0], places[1]]
        found: Floats = shared / np.sqrt(self.sizes[rows] * self.sizes[columns])
        return found


@dataclass(frozen=True, eq=False)
class Cells:
    """Every stem of one text with every stem of another, for some pairs of texts.

    Attributes:
        one, two: Numbers of the texts, k pairs.
        heights, widths: How many stems each of them has, (k,).
        alike: How far their spelling agrees, in [0, 1]: a row a stem of the one, row after row and
            pair after pair.
    """

    one: Ints
    two: Ints
    heights: Ints
    widths: Ints
    alike: Floats

    def by_pair(self, values: Floats) -> Iterator[Floats]:
        """Of each pair its part of some values a cell, (height, width)."""
        shapes = zip(self.heights.tolist(), self.widths.tolist(), strict=True)
        for part, shape in zip(apart(values, self.heights * self.widths), shapes, strict=True):
            yield part.reshape(shape)

    def turned(self, values: Floats) -> Floats:
        """Some values a cell, where the stems of the second text make the rows."""
        sizes = self.heights * self.widths
        columns = ranges(starts(sizes), self.widths)
        high, wide = (np.repeat(side, self.widths) for side in (self.heights, self.widths))
        first = np.repeat(columns - starts(high) * wide, high)
        turned: Floats = values[first + np.arange(len(values)) * np.repeat(wide, high)]
        return turned


def _sums(rows: sparse.csr_matrix) -> Floats:
    """Of each row, in multiples of ever smaller units, which sum exactly: the order of n-grams,
    which other texts decide, is no matter."""
    filled, rest, sums = np.flatnonzero(np.diff(rows.indptr)), rows.data, []
    for unit in _UNITS:
        whole = np.rint(rest / unit) * unit
        sums.append(np.add.reduceat(whole, rows.indptr[filled]))
        rest = rest - whole
    found = np.zeros(rows.shape[0])
    found[filled] = sums[0] + (sums[1] + sums[2])
    return found


@lru_cache(maxsize=1)
def _read(space: WordSpace, texts: tuple[str, ...]) -> StemTable:
    said, numbers, bounds = _numbered(map(words, texts))
    found, stem_of, _ = _numbered([stems(said, space.bag.stemmer)])
    numbers = stem_of[numbers]
    owners = np.repeat(np.arange(len(texts)), np.diff(bounds))
    _, first = np.unique(owners * len(found) + numbers, return_index=True)  # each once in a text
    first.sort()
    return StemTable(space, found, numbers[first], np.searchsorted(first, bounds))


def _numbered(each: Iterable[Sequence[str]]) -> tuple[list[str], Ints, Ints]:
    """The distinct ones of all lists, the number of each one in a list, list after list, and where
    the lists end."""
    known: defaultdict[str, int] = defaultdict()
    known.default_factory = known.__len__
    numbers, bounds = array("q"), array("q", [0])
    for one in each:
        numbers.extend(map(known.__getitem__, one))
        bounds.append(len(numbers))
    return list(known), np.array(numbers), np.array(bounds)
