"""Pairs of texts that are nearly the same: by their words, or by their vectors.

Two texts are *near copies* where the sets of their bigrams (pairs of consecutive words) have a
Jaccard similarity of at least 0.7. No pair is missed. If the bigrams of each text are ordered from
the rarest to the most frequent, near copies x and y share one of the first |x| - ceil(0.7 |x|) + 1
of x (prefix filtering, Chaudhuri et al. 2006), and only texts that share one are compared.

Two texts are *similar* where the cosine of their vectors reaches a threshold. All vectors are
compared up to a number of them. Beyond, some vectors are drawn as leaders, each vector joins the
list of its nearest leader, and is compared with the lists of its `PROBES` nearest leaders (cluster
pruning, Chierichetti et al. 2007). The more similar two vectors are, the more surely they meet.
"""

import hashlib
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from firth.run.console import progress
from firth.run.settings import derive_seed
from firth.text.types import Ints, Singles
from firth.text.words import normal_form

NEAR = 0.7
"""One word of 14 changed in the middle, or three words of ten added at an end."""
EXACT = 40_000
"""Vectors up to which all pairs are compared."""
PROBES = 8
"""Lists that each vector is compared with."""
LIMIT = 10_000_000
"""Pairs that are kept; of more, the most similar."""
_TILE = 4_096
_WORK = 20_000_000
"""Candidates of a block of near copies: 240 MB."""
_VERIFIED = 200_000
SLACK = 1e-9


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
        one, two = numbers[self.left], numbers[self.right]
        left, right = np.minimum(one, two), np.maximum(one, two)
        order = np.lexsort((right, left))
        return replace(self, left=left[order], right=right[order], scores=self.scores[order])

    def where(self, kept: npt.NDArray[np.bool_]) -> "Pairs":
        """Return some of the pairs; `kept` is (n,)."""
        return replace(self, left=self.left[kept], right=self.right[kept], scores=self.scores[kept])


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

    def near(self) -> Pairs:
        """Return all pairs of `distinct` texts whose bigrams have a Jaccard similarity of `NEAR`
        at least."""
        chosen = self.distinct()
        bigrams = self._bigrams(chosen)
        sizes = np.diff(bigrams.indptr).astype(np.int64)
        least = np.ceil(NEAR * sizes - SLACK).astype(np.int64)
        prefix = _prefixes(bigrams, sizes - least + 1)
        across = prefix.T.tocsr()
        work = np.concatenate([[0], np.cumsum(prefix @ np.diff(across.indptr))])
        left, right, scores = [], [], []
        start = 0
        while start < len(chosen):
            most = int(np.searchsorted(work, work[start] + _WORK, side="right")) - 1
            stop = max(start + 1, most)
            met = (prefix[start:stop] @ across).tocoo()
            i, j = met.row.astype(np.int64) + start, met.col.astype(np.int64)
            small, large = np.minimum(sizes[i], sizes[j]), np.maximum(sizes[i], sizes[j])
            likely = (i < j) & (small >= NEAR * large - SLACK)
            i, j = i[likely], j[likely]
            for at in range(0, len(i), _VERIFIED):
                one, two = i[at : at + _VERIFIED], j[at : at + _VERIFIED]
                shared = np.asarray(bigrams[one].multiply(bigrams[two]).sum(axis=1)).ravel()
                jaccard = shared / np.maximum(sizes[one] + sizes[two] - shared, 1)
                near = jaccard >= NEAR - SLACK
                left.append(one[near])
                right.append(two[near])
                scores.append(jaccard[near])
            start = stop
        i, j, s = (np.concatenate([np.empty(0), *parts]) for parts in (left, right, scores))
        i, j = i.astype(np.int64), j.astype(np.int64)
        order = np.lexsort((j, i))
        return Pairs(chosen[i[order]], chosen[j[order]], s[order].astype(np.float32), NEAR)

    def _bigrams(self, chosen: Ints) -> csr_matrix:
        """Return a matrix (chosen texts, bigrams): 1 where a text has one. The columns are ordered
        by frequency, the rarest first."""
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


def _prefixes(bigrams: csr_matrix, lengths: Ints) -> csr_matrix:
    """Keep the first so many columns of each row, without those that no other row has."""
    rows = np.repeat(np.arange(bigrams.shape[0]), np.diff(bigrams.indptr))
    rank = np.arange(len(bigrams.indices)) - bigrams.indptr[rows]
    frequency = np.bincount(bigrams.indices, minlength=bigrams.shape[1])
    kept = (rank < lengths[rows]) & (frequency[bigrams.indices] > 1)
    return csr_matrix(
        (bigrams.data[kept], (rows[kept], bigrams.indices[kept])), shape=bigrams.shape
    )


def similar_pairs(read: Callable[[Ints], Singles], n: int, threshold: float, seed: int) -> Pairs:
    """Return the pairs of n vectors with a cosine of at least `threshold`, in (0, 1].

    `read` returns the unit vectors of some numbers, (k, d); a zero vector is similar to none. So
    memory holds the pairs, the nearest leaders of each vector, and a few tiles of vectors.
    """
    kept = _Kept(threshold)
    for rows, columns in progress(_tiles(read, n, seed), "Comparing sentences"):
        across = read(columns).T
        for top in range(0, len(rows), _TILE):
            some = rows[top : top + _TILE]
            scores = read(some) @ across
            i, j = np.nonzero(scores >= kept.threshold)
            kept.add(some[i], columns[j], scores[i, j])
    return kept.pairs()


def _tiles(read: Callable[[Ints], Singles], n: int, seed: int) -> list[tuple[Ints, Ints]]:
    """Return groups of rows and columns to compare; a column group has at most `_TILE` items."""
    if n <= EXACT:
        # A pair of two tiles is compared once: rows from the column's tile on.
        return [(np.arange(at, n), np.arange(at, min(at + _TILE, n))) for at in range(0, n, _TILE)]
    rng = np.random.default_rng(derive_seed(seed, "leaders"))
    leaders = read(np.sort(rng.choice(n, int(2 * np.sqrt(n)), replace=False)))
    nearest = np.empty((n, PROBES), np.int32)
    for start in range(0, n, _TILE):
        scores = read(np.arange(start, min(start + _TILE, n))) @ leaders.T
        best = np.argpartition(-scores, PROBES - 1, axis=1)[:, :PROBES]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
        nearest[start : start + _TILE] = np.take_along_axis(best, order, axis=1)
    numbers = np.arange(len(leaders) + 1)
    members = np.argsort(nearest[:, 0], kind="stable")
    member_bounds = np.searchsorted(nearest[members, 0], numbers).tolist()
    visits = np.argsort(nearest.ravel(), kind="stable")
    visit_bounds = np.searchsorted(nearest.ravel()[visits], numbers).tolist()
    return [
        (visits[visit_bounds[i] : visit_bounds[i + 1]] // PROBES, members[at : at + _TILE])
        for i in range(len(leaders))
        for end in (member_bounds[i + 1],)
        for at in range(member_bounds[i], end, _TILE)
    ]


class _Kept:
    """The pairs so far; where they exceed the limit the threshold rises."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._parts: list[tuple[Ints, Ints, Singles]] = []
        self._held = 0

    def add(self, one: Ints, two: Ints, scores: Singles) -> None:
        differ = one != two
        if differ.any():
            one, two = one[differ], two[differ]
            self._parts.append((np.minimum(one, two), np.maximum(one, two), scores[differ]))
            self._held += len(one)
        if self._held > 2 * LIMIT:
            self._narrow()

    def _narrow(self) -> tuple[Ints, Ints, Singles]:
        """Merge all parts into distinct pairs, at most `LIMIT` of them."""
        left = np.concatenate([np.empty(0, np.int64), *(part[0] for part in self._parts)])
        right = np.concatenate([np.empty(0, np.int64), *(part[1] for part in self._parts)])
        scores = np.concatenate([np.empty(0, np.float32), *(part[2] for part in self._parts)])
        order = np.lexsort((right, left))
        left, right, scores = left[order], right[order], scores[order]
        new = np.ones(len(left), bool)
        new[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
        if new.sum() > LIMIT:
            # Strictly above the best that goes, so that all pairs of the threshold are kept.
            lost = np.partition(scores[new], -LIMIT - 1)[-LIMIT - 1]
            self.threshold = float(np.nextafter(lost, np.float32(2)))
            new &= scores > lost
        self._parts = [(left[new], right[new], scores[new])]
        self._held = int(new.sum())
        return self._parts[0]

    def pairs(self) -> Pairs:
        return Pairs(*self._narrow(), self.threshold)
