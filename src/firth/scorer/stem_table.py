"""Texts as numbers of their stems, so that each stem of many pairs of texts is read once.

Every value of a pair is the same to the last bit, whatever other texts there are and whichever of
the two texts comes first.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from firth.encoders.words import WordSpace
from firth.text.stems import gram_table
from firth.text.types import Floats, Ints, ranges, split_runs, starts

if TYPE_CHECKING:
    from scipy import sparse

_PAIRS, _CELLS = 1 << 10, 1 << 13
"""Pairs of texts, and pairs of stems, that are computed together. With more of them, most products
of two stems belong to no pair of texts."""


@dataclass(frozen=True, eq=False)
class StemTable:
    """Texts as numbers of their distinct stems, of which there are u.

    Text i has the stems numbers[bounds[i]:bounds[i+1]]. The space knows their vectors and rarity.
    """

    space: WordSpace
    stems: list[str]
    numbers: Ints
    bounds: Ints

    @classmethod
    def read(cls, space: WordSpace, texts: Sequence[str]) -> "StemTable":
        """Read texts; the last table is cached, because the parts of a score read the same."""
        return _read(space, tuple(texts))

    @cached_property
    def counts(self) -> Ints:
        """Number of stems of each text, (n,)."""
        return np.diff(self.bounds)

    def of_texts(self, texts: Ints) -> Ints:
        """Return the numbers of the stems of some texts, text after text."""
        return self.numbers[ranges(self.bounds[texts], self.counts[texts])]

    @cached_property
    def by_text(self) -> list[Ints]:
        """Numbers of each text's stems."""
        return [self.numbers[start:end] for start, end in pairwise(self.bounds.tolist())]

    @cached_property
    def rarities(self) -> Floats:
        """Length of each stem's spelling direction, (u,)."""
        return np.array([self.space.rarity(stem) for stem in self.stems], dtype=float)

    def weighted(self, weights: Floats) -> "sparse.csr_matrix":
        """Return the weight (u,) of each stem (column) that a text (row) has, (n, u)."""
        from scipy import sparse

        shape = (len(self.bounds) - 1, len(self.stems))
        return sparse.csr_matrix((weights[self.numbers], self.numbers, self.bounds), shape=shape)

    @cached_property
    def learned(self) -> Floats:
        """Sum of the learned vectors of each text's stems, (n, d)."""
        sums: Floats = self.weighted(np.ones(len(self.stems))) @ self.space.learned(self.stems)
        return sums

    @cached_property
    def grams(self) -> "sparse.csr_matrix":
        """Weight of a character n-gram (column) that a stem (row) has."""
        return gram_table(self.stems, self.space.idf.common_grams)

    @cached_property
    def sizes(self) -> Floats:
        """Sum of the squared weights of the n-grams of each stem, (u,)."""
        sizes: Floats = np.asarray(self.grams.multiply(self.grams).sum(axis=1)).ravel()
        return sizes

    @cached_property
    def spelled(self) -> "sparse.csr_matrix":
        """(n, u); times `grams`, it is the sum of the spelling directions of each text."""
        return self.weighted(self.rarities / np.sqrt(self.sizes))

    def products(self, left: Sequence[int], right: Sequence[int]) -> tuple[Floats, Floats]:
        """Return inner products of sums of learned vectors and of spelling directions, (k,) each.

        Text `left[i]` is multiplied with text `right[i]`.
        """
        learned, spelled = np.zeros(len(left)), np.zeros(len(left))
        for start in range(0, len(left), _PAIRS):
            block = slice(start, start + _PAIRS)
            sides = left[block], right[block]
            learned[block] = np.vecdot(*(self.learned[side] for side in sides))
            a, b = (self.spelled[side] @ self.grams for side in sides)
            spelled[block] = _sums(a.multiply(b))
        return learned, spelled

    def squares(self) -> tuple[Floats, Floats]:
        """Return `products` of each text with itself, (n,) each."""
        spelled = np.zeros(len(self.learned))
        for start in range(0, len(spelled), _PAIRS):
            block = slice(start, start + _PAIRS)
            parts = self.spelled[block] @ self.grams
            parts.data **= 2
            spelled[block] = _sums(parts)
        return np.vecdot(self.learned, self.learned), spelled

    def cells(self, left: Sequence[int], right: Sequence[int]) -> Iterator["Cells"]:
        """Yield the spelling cosines of the stems of pairs of texts, some pairs at a time."""
        all_left, all_right = np.array(left, np.int64), np.array(right, np.int64)
        sizes = self.counts[all_left] * self.counts[all_right]
        blocks = np.flatnonzero(np.diff(np.cumsum(sizes) // _CELLS)) + 1
        for pairs in np.split(np.arange(len(sizes)), blocks):
            a, b = all_left[pairs], all_right[pairs]
            n, m = self.counts[a], self.counts[b]
            yield Cells(a, b, n, m, self._alike(a, b, n, m))

    def _alike(self, left: Ints, right: Ints, n: Ints, m: Ints) -> Floats:
        """Compare all stems of both sides, then pick what each pair needs."""
        wide = np.repeat(m, n)
        rows = np.repeat(self.of_texts(left), wide)
        columns = self.numbers[ranges(np.repeat(self.bounds[right], n), wide)]
        places, grams = [], []
        for numbers in (rows, columns):
            used = np.zeros(len(self.stems), bool)
            used[numbers] = True
            places.append((np.cumsum(used) - 1)[numbers])
            grams.append(self.grams[used])
        shared = (grams[0] @ grams[1].T).toarray()[places[0], places[1]]
        cosines: Floats = shared / np.sqrt(self.sizes[rows] * self.sizes[columns])
        return cosines


@dataclass(frozen=True, eq=False)
class Cells:
    """All stems of one text against all stems of another, for k pairs of texts.

    Attributes:
        left, right: Numbers of the first and of the second texts, (k,) each.
        heights, widths: Number of stems of each first and of each second text, (k,) each.
        alike: Spelling cosines in [0, 1], pair after pair, each row after row.
    """

    left: Ints
    right: Ints
    heights: Ints
    widths: Ints
    alike: Floats

    def by_pair(self, values: Floats) -> Iterator[Floats]:
        """Yield each pair's values of all cells, (height, width)."""
        shapes = zip(self.heights.tolist(), self.widths.tolist(), strict=True)
        parts = split_runs(values, self.heights * self.widths)
        for part, shape in zip(parts, shapes, strict=True):
            yield part.reshape(shape)

    def transposed(self, values: Floats) -> Floats:
        """Return values of all cells with each pair's matrix transposed."""
        sizes = self.heights * self.widths
        columns = ranges(starts(sizes), self.widths)
        high, wide = (np.repeat(side, self.widths) for side in (self.heights, self.widths))
        first = np.repeat(columns - starts(high) * wide, high)
        transposed: Floats = values[first + np.arange(len(values)) * np.repeat(wide, high)]
        return transposed


def _sums(rows: "sparse.csr_matrix") -> Floats:
    """Return the sum of each row, exactly rounded: other texts decide the order of n-grams."""
    values = rows.data.tolist()
    return np.array([fsum(values[start:end]) for start, end in pairwise(rows.indptr.tolist())])


@lru_cache(maxsize=1)
def _read(space: WordSpace, texts: tuple[str, ...]) -> StemTable:
    stemmed, numbers, bounds = _numbered(map(space.idf.terms, texts))
    owners = np.repeat(np.arange(len(texts)), np.diff(bounds))
    _, first = np.unique(owners * len(stemmed) + numbers, return_index=True)  # once in each text
    first.sort()
    return StemTable(space, stemmed, numbers[first], np.searchsorted(first, bounds))


def _numbered(lists: Iterable[Sequence[str]]) -> tuple[list[str], Ints, Ints]:
    """Return the distinct items of all lists, each item's number, and the bounds of the lists."""
    number_of: defaultdict[str, int] = defaultdict()
    number_of.default_factory = number_of.__len__
    numbers, bounds = array("q"), array("q", [0])
    for items in lists:
        numbers.extend(map(number_of.__getitem__, items))
        bounds.append(len(numbers))
    return list(number_of), np.array(numbers), np.array(bounds)
