"""Pairs of texts that are nearly the same by their words.

Two texts are *near copies* where the sets of their bigrams (pairs of consecutive words) have a
Jaccard similarity of at least 0.7. No pair is missed. If the bigrams of each text are ordered from
the rarest to the most frequent, near copies x and y share one of the first |x| - ceil(0.7 |x|) + 1
of x (prefix filtering, Chaudhuri et al. 2006), and only texts that share one are compared.
"""

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from firth.text.types import Ints, Singles
from firth.text.words import normal_form

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

NEAR = 0.7
"""One word of 14 changed in the middle, or three words of ten added at an end."""
_WORK = 20_000_000
"""Candidates of a block of near copies: 240 MB."""
_VERIFIED = 200_000
_SLACK = 1e-9


class Kind(StrEnum):
    """How near two texts that say the same are, by their words."""

    EXACT = "exact"
    """The same words in the same order, up to case and punctuation."""
    NEAR = "near"
    """Most of the same bigrams: a Jaccard similarity of at least 0.7."""
    SIMILAR = "similar"
    """Similar by a model; a cosine does not prove that both say the same."""
    RELATED = "related"
    """Near or similar, but differing in what matters, such as a number: no duplicate."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of items, each once, by their numbers.

    Attributes:
        left, right: int64, (n,): left < right; sorted by left, then right.
        scores: float32, (n,): similarities, in [threshold, 1].
        threshold: Least score. It is above the one that was asked for if more than the limit of
            pairs reached that.
    """

    left: Ints
    right: Ints
    scores: Singles
    threshold: float

    def __len__(self) -> int:
        return len(self.left)

    def renumbered(self, numbers: Ints) -> "Pairs":
        """Return the same pairs where item i has the number `numbers[i]`."""
        first, second = numbers[self.left], numbers[self.right]
        left, right = np.minimum(first, second), np.maximum(first, second)
        order = np.lexsort((right, left))
        return replace(self, left=left[order], right=right[order], scores=self.scores[order])

    def where(self, mask: npt.NDArray[np.bool_]) -> "Pairs":
        """Return some of the pairs; `mask` is (n,)."""
        return replace(self, left=self.left[mask], right=self.right[mask], scores=self.scores[mask])


def are_near(a: Sequence[str], b: Sequence[str]) -> bool:
    """Return whether two texts, as words of their normal form, are near copies."""
    bigrams = set(pairwise(a)), set(pairwise(b))
    return len(bigrams[0] & bigrams[1]) >= NEAR * len(bigrams[0] | bigrams[1]) - _SLACK > 0


class WordTable:
    """The words of many texts as numbers, in 12 bytes a word.

    Texts with fewer than `min_words` words, at least 2, match nothing.

    Attributes:
        first: int64, (n,): number of the first text with the same words, mostly the text itself.
        long: bool, (n,): whether a text has `min_words`.
    """

    def __init__(self, batches: Iterable[Iterable[str]], min_words: int) -> None:
        vocabulary: dict[str, int] = {}
        digests, numbers, lengths = bytearray(), array("I"), array("I")
        for text in (text for batch in batches for text in batch):
            normal = normal_form(text)
            digests += hashlib.blake2b(normal.encode(), digest_size=16).digest()
            words = normal.split(" ") if normal else []
            numbers.extend([vocabulary.setdefault(word, len(vocabulary)) for word in words])
            lengths.append(len(words))
        keys = np.frombuffer(bytes(digests), dtype="V16")
        _, firsts, inverse = np.unique(keys, return_index=True, return_inverse=True)
        self.first: Ints = firsts[inverse].astype(np.int64)
        self._words = np.frombuffer(numbers, dtype=np.uint32) if numbers else np.empty(0, np.uint32)
        self._lengths = np.frombuffer(lengths, dtype=np.uint32).astype(np.int64)
        self.long = self._lengths >= min_words

    def __len__(self) -> int:
        return len(self._lengths)

    def distinct(self) -> Ints:
        """Return the ascending numbers of the long texts whose words no earlier text has."""
        return np.flatnonzero(self.long & (self.first == np.arange(len(self))))

    def repeats(self) -> dict[int, list[int]]:
        """Return, for each long text with later copies, the numbers of these."""
        return self._copies(self.long)

    def _copies(self, chosen: npt.NDArray[np.bool_]) -> dict[int, list[int]]:
        later: dict[int, list[int]] = {}
        for number in np.flatnonzero(chosen & (self.first < np.arange(len(self)))).tolist():
            later.setdefault(int(self.first[number]), []).append(number)
        return later

    def boilerplate(self, owners: Ints, least: float) -> dict[int, list[int]]:
        """Return the short texts that at least so many documents have: the first → its copies.

        `owners` has the document of each text, (n,).
        """
        size = int(owners.max(initial=0)) + 1
        spread = np.bincount(np.unique(self.first * size + owners) // size, minlength=len(self))
        short = ~self.long & (self._lengths > 1) & (spread[self.first] >= least)
        return self._copies(short)

    def near(self, before: int | None = None) -> Pairs:
        """Return all pairs of `distinct` texts that are near copies.

        With `before`, only those whose left text has a lower number.
        """
        chosen = self.distinct()
        end = len(chosen) if before is None else int(np.searchsorted(chosen, before))
        bigrams = self._bigrams(chosen)
        sizes = np.diff(bigrams.indptr).astype(np.int64)
        least = np.ceil(NEAR * sizes - _SLACK).astype(np.int64)
        prefix = _prefixes(bigrams, sizes - least + 1)
        across = prefix.T.tocsr()
        work = np.concatenate([[0], np.cumsum(prefix @ np.diff(across.indptr))])
        left, right, scores = [], [], []
        start = 0
        while start < end:
            most = int(np.searchsorted(work, work[start] + _WORK, side="right")) - 1
            stop = min(max(start + 1, most), end)
            met = (prefix[start:stop] @ across).tocoo()
            i, j = met.row.astype(np.int64) + start, met.col.astype(np.int64)
            small, large = np.minimum(sizes[i], sizes[j]), np.maximum(sizes[i], sizes[j])
            likely = (i < j) & (small >= NEAR * large - _SLACK)
            i, j = i[likely], j[likely]
            for at in range(0, len(i), _VERIFIED):
                rows, columns = i[at : at + _VERIFIED], j[at : at + _VERIFIED]
                shared = np.asarray(bigrams[rows].multiply(bigrams[columns]).sum(axis=1)).ravel()
                jaccard = shared / np.maximum(sizes[rows] + sizes[columns] - shared, 1)
                near = jaccard >= NEAR - _SLACK
                left.append(rows[near])
                right.append(columns[near])
                scores.append(jaccard[near])
            start = stop
        i, j, s = (np.concatenate([np.empty(0), *parts]) for parts in (left, right, scores))
        i, j = i.astype(np.int64), j.astype(np.int64)
        order = np.lexsort((j, i))
        return Pairs(chosen[i[order]], chosen[j[order]], s[order].astype(np.float32), NEAR)

    def _bigrams(self, chosen: Ints) -> "csr_matrix":
        """Return a matrix (chosen texts, bigrams): 1 where a text has one. The columns are ordered
        by frequency, the rarest first."""
        from scipy.sparse import csr_matrix

        rows = np.repeat(np.arange(len(self)), self._lengths)
        inner = np.flatnonzero(rows[1:] == rows[:-1])
        place = np.full(len(self), -1, np.int64)
        place[chosen] = np.arange(len(chosen))
        inner = inner[place[rows[inner]] >= 0]
        keys = (self._words[inner].astype(np.uint64) << np.uint64(32)) | self._words[inner + 1]
        _, columns = np.unique(keys, return_inverse=True)
        matrix = csr_matrix(
            (np.ones(len(inner), np.int32), (place[rows[inner]], columns)),
            shape=(len(chosen), int(columns.max(initial=-1)) + 1),
        )
        matrix.sum_duplicates()
        matrix.data[:] = 1
        frequency = np.bincount(matrix.indices, minlength=matrix.shape[1])
        rank = np.empty(matrix.shape[1], np.int64)
        rank[np.argsort(frequency, kind="stable")] = np.arange(matrix.shape[1])
        matrix.indices = rank[matrix.indices].astype(matrix.indices.dtype)
        matrix.has_sorted_indices = False
        matrix.sort_indices()
        return matrix


def _prefixes(bigrams: "csr_matrix", lengths: Ints) -> "csr_matrix":
    """Keep the first so many columns of each row, without those that no other row has."""
    from scipy.sparse import csr_matrix

    rows = np.repeat(np.arange(bigrams.shape[0]), np.diff(bigrams.indptr))
    rank = np.arange(len(bigrams.indices)) - bigrams.indptr[rows]
    frequency = np.bincount(bigrams.indices, minlength=bigrams.shape[1])
    mask = (rank < lengths[rows]) & (frequency[bigrams.indices] > 1)
    return csr_matrix(
        (bigrams.data[mask], (rows[mask], bigrams.indices[mask])), shape=bigrams.shape
    )
