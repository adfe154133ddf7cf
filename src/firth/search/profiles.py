"""What texts of two lists have in common: words and characters, and which texts could match.

A text is a row of its stems, and a row of the character n-grams of its words. Both are weighted by
how rare they are in the two lists, and have length 1. Of all pairs only those are looked at in
which one text is among the nearest of the other. Where lists are long, texts meet by what is rare
in them: what most of them have says little, and costs most.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from firth.run.console import progress
from firth.run.executor import Executor
from firth.text.stems import word_grams
from firth.text.types import Ints, Singles
from firth.text.words import stemmer_for, stemmer_of, stems, words

if TYPE_CHECKING:
    from scipy import sparse

NEAREST, IN_ONE_LIST = 10, 30
"""Texts of the other side with which a text is compared, and of one list, which may be copies."""
_WORK = 2e9
"""Products of weights by which all texts of one side meet those of the other."""
_ROWS, _PAIRS = 1_000, 100_000
Rows = Any
"""Unit rows of texts: sparse, or vectors of an encoder."""


@dataclass(frozen=True)
class Tables:
    """Rows of n texts: words, stems and characters (n-grams of their words); all sparse.

    Attributes:
        words: 1 where a text has a word, (n, vocabulary).
        stems, characters: Unit rows.
    """

    words: "sparse.csr_matrix"
    stems: "sparse.csr_matrix"
    characters: "sparse.csr_matrix"


def tables(texts: Sequence[str], language: str) -> Tables:
    """Return the rows of some texts, of all lists together.

    Args:
        texts: At least one.
        language: ISO 639-1, or several, as `de+fr`.
    """
    stemmer = stemmer_of(language)
    numbers: dict[str, int] = {}
    stem_numbers: dict[str, int] = {}
    columns, stem_columns, lengths = list[int](), list[int](), list[int]()
    for text in texts:
        of_text = words(text)
        lengths.append(len(of_text))
        columns += [numbers.setdefault(word, len(numbers)) for word in of_text]
        stemmed = stems(of_text, stemmer_for(text, stemmer))
        stem_columns += [stem_numbers.setdefault(stem, len(stem_numbers)) for stem in stemmed]
    counts = _counted(columns, lengths, len(numbers))
    grams = (counts @ word_grams([*numbers]).astype(np.float32)).tocsr()
    grams.data = 1 + np.log(grams.data)
    stem_counts = _counted(stem_columns, lengths, len(stem_numbers))
    counts.data[:] = 1
    return Tables(counts, _weighted(stem_counts), _weighted(grams))


def _counted(columns: list[int], lengths: list[int], size: int) -> "sparse.csr_matrix":
    from scipy import sparse

    bounds = np.concatenate([[0], np.cumsum(lengths)])
    ones = np.ones(len(columns), np.float32)
    counts = sparse.csr_matrix((ones, np.array(columns, np.int32), bounds), (len(lengths), size))
    counts.sum_duplicates()
    return counts


def _weighted(counts: "sparse.csr_matrix") -> "sparse.csr_matrix":
    """Multiply counts, in place, by the rarity of their columns; rows have length 1, or 0."""
    texts = np.bincount(counts.indices, minlength=counts.shape[1])
    rarity = np.log((1 + counts.shape[0]) / (1 + texts)) + 1
    counts.data *= rarity.astype(np.float32)[counts.indices]
    counts.data **= 2  # in place: of long lists this is the largest array
    lengths = np.sqrt(counts @ np.ones(counts.shape[1], np.float32))
    np.sqrt(counts.data, out=counts.data)
    lengths[lengths == 0] = 1
    counts.data /= np.repeat(lengths, np.diff(counts.indptr))
    return counts


def candidates(left: Rows, right: Rows, apart: bool, executor: Executor) -> tuple[Ints, Ints]:
    """Return numbers of texts on the left and right that are compared, sorted, each pair once.

    Args:
        left, right: Unit rows, (n, d) and (m, d).
        apart: Whether both are the same list, where no text is compared with itself. There each
            pair comes in both orders.
        executor: What compares blocks of texts.
    """
    if not isinstance(left, np.ndarray):
        columns = _affordable(left, right)
        left, right = left[:, columns], right[:, columns]
    pairs = [_met(left, right, apart, executor)]
    pairs.append((pairs[0] if apart else _met(right, left, False, executor))[::-1])
    size = right.shape[0]
    keys = np.unique(np.concatenate([i.astype(np.int64) * size + j for i, j in pairs]))
    return keys // size, keys % size


def _affordable(left: "sparse.csr_matrix", right: "sparse.csr_matrix") -> Ints:
    """Return the columns by which texts meet, the rarest that cost `_WORK` together."""
    work = np.bincount(left.indices, minlength=left.shape[1]).astype(np.float64)
    work *= np.bincount(right.indices, minlength=left.shape[1])
    order = np.argsort(work, kind="stable")
    chosen = order[(np.cumsum(work[order]) <= _WORK) & (work[order] > 0)]
    return np.sort(chosen)


@dataclass(frozen=True)
class _Meeting:
    """Work for an executor: the number of a first text and a block of rows in; out come the
    numbers of the nearest of each among all rows, (block, count), or -1. With `apart`, row i is not
    compared with itself."""

    across: Rows
    count: int
    apart: bool

    def open(self) -> Callable[[tuple[int, Rows]], Ints]:
        return self._nearest

    def _nearest(self, item: tuple[int, Rows]) -> Ints:
        first, block = item
        products = block @ self.across
        nearest = np.full((block.shape[0], self.count), -1, np.int64)
        for i in range(len(nearest)):
            if not isinstance(products, np.ndarray):
                part = slice(products.indptr[i], products.indptr[i + 1])
                numbers, cosines = products.indices[part], products.data[part]
            else:
                numbers, cosines = np.arange(products.shape[1]), products[i]
            if self.apart:
                other = numbers != first + i
                numbers, cosines = numbers[other], cosines[other]
            if len(numbers) > self.count:
                numbers = numbers[np.argpartition(-cosines, self.count)[: self.count]]
            nearest[i, : len(numbers)] = numbers
        return nearest


def _met(left: Rows, right: Rows, apart: bool, executor: Executor) -> tuple[Ints, Ints]:
    across = right.T if isinstance(right, np.ndarray) else right.T.tocsr()
    work = _Meeting(across, IN_ONE_LIST if apart else NEAREST, apart)
    starts = range(0, left.shape[0], _ROWS)
    blocks = ((at, left[at : at + _ROWS]) for at in starts)
    parts = [*progress(executor.map(work, blocks), "Comparing texts", len(starts))]
    nearest = np.concatenate(parts)
    i, place = np.nonzero(nearest >= 0)
    return i, nearest[i, place]


def dot_products(left: Rows, right: Rows, pairs: tuple[Ints, Ints]) -> Singles:
    """Return the scalar product of each pair of rows, (pairs,): of unit rows the cosine."""
    values = np.zeros(len(pairs[0]), np.float32)
    for at in range(0, len(values), _PAIRS):
        block = slice(at, at + _PAIRS)
        a, b = left[pairs[0][block]], right[pairs[1][block]]
        both = a.multiply(b) if not isinstance(a, np.ndarray) else a * b
        values[block] = np.asarray(both.sum(axis=1)).ravel()
    return values


def opposed_words(rows: "sparse.csr_matrix", least: int = 1) -> frozenset[tuple[int, int]]:
    """Return pairs of words, the lower number first, that tell entries of a list apart.

    In a list without duplicates, entries that differ in one word each say that both words matter:
    *2008* and *2009*, *north* and *south*. Two such pairs of entries are needed.

    Args:
        rows: 1 where an entry has a word, (n, vocabulary).
        least: Opposites of each word at least; 2 where copies have words and their abbreviations.
    """
    rng = np.random.default_rng(13)
    digests = rng.integers(0, 2**63, rows.shape[1], np.uint64)
    entries = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    sums = np.zeros(rows.shape[0], np.uint64)
    np.add.at(sums, entries, digests[rows.indices])
    _, firsts = np.unique(sums, return_index=True)
    distinct = np.isin(entries, firsts) & (np.diff(rows.indptr)[entries] > 1)
    rest = (sums[entries] - digests[rows.indices])[distinct]
    order = np.argsort(rest, kind="stable")
    columns = rows.indices[distinct][order]
    bounds = [0, *(1 + np.flatnonzero(np.diff(rest[order]))).tolist(), len(columns)]
    met: dict[tuple[int, int], int] = {}
    for start, end in pairwise(bounds):
        if not 1 < end - start <= _MOST_OPPOSED:
            continue
        alike = sorted(set(columns[start:end].tolist()))
        for at, word in enumerate(alike):
            for other in alike[at + 1 :]:
                met[word, other] = met.get((word, other), 0) + 1
    pairs = [pair for pair, count in met.items() if count > 1]
    opposed = Counter(word for pair in pairs for word in pair)
    return frozenset(pair for pair in pairs if min(opposed[word] for word in pair) >= least)


_MOST_OPPOSED = 100
"""Entries that differ from one another in the same place, at most."""


def differ_in(
    left: "sparse.csr_matrix",
    right: "sparse.csr_matrix",
    pairs: tuple[Ints, Ints],
    opposed: frozenset[tuple[int, int]],
) -> npt.NDArray[np.bool_]:
    """Return for each pair whether the two texts differ in just two words that are opposed."""
    sizes = [np.diff(rows.indptr)[side] for rows, side in zip((left, right), pairs, strict=True)]
    shared = dot_products(left, right, pairs)
    near = np.flatnonzero((sizes[0] - shared == 1) & (sizes[1] - shared == 1))

    def of(rows: "sparse.csr_matrix", number: int) -> set[int]:
        return {*rows.indices[rows.indptr[number] : rows.indptr[number + 1]].tolist()}

    differ = np.zeros(len(shared), bool)
    for at in near.tolist():
        pair = of(left, pairs[0][at]) ^ of(right, pairs[1][at])
        differ[at] = (min(pair), max(pair)) in opposed
    return differ
