"""All pairs of vectors that are alike: exactly where they are few, by inverted lists where many.

A million vectors have half a billion of millions of pairs: too many to compare. So some vectors are
drawn as leaders, each vector is put into the list of its nearest leader, and compared with those
in the lists of its `PROBES` nearest leaders only (cluster pruning, Chierichetti et al. 2007). Two
alike vectors have nearly the same nearest leaders: the more alike they are, the surer they meet.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from firth.lexical.arrays import Ints, Singles
from firth.run.progress import bar
from firth.run.seeds import derive_seed

EXACT = 40_000
"""Vectors up to which all pairs are compared."""
PROBES = 8
"""Lists that each vector is compared with."""
LIMIT = 10_000_000
"""Pairs that are kept; of more, the most alike."""
_TILE = 4_096


class Rows(Protocol):
    """Vectors, (n, d), that need not be in memory: an array, or what can be asked like one."""

    def __len__(self) -> int:
        """Number of vectors."""

    def __getitem__(self, rows: "slice | npt.NDArray[Any]") -> "npt.NDArray[Any]":
        """Some of them."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of items, each once, by their numbers.

    Attributes:
        left, right: int64, (n,): numbers of each pair, left < right; sorted by left, then right.
        scores: float32, (n,): how alike they are.
        threshold: All pairs found have at least this score. It is above the one asked for where
            more than the limit were found.
    """

    left: Ints
    right: Ints
    scores: Singles
    threshold: float

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self.left)

    def of(self, numbers: Ints) -> "Pairs":
        """The same pairs where item i is called `numbers[i]`."""
        one, two = numbers[self.left], numbers[self.right]
        left, right = np.minimum(one, two), np.maximum(one, two)
        order = np.lexsort((right, left))
        return Pairs(left[order], right[order], self.scores[order], self.threshold)

    def above(self, threshold: float) -> "Pairs":
        """Those with at least this score."""
        return replace(self.where(self.scores >= threshold), threshold=threshold)

    def where(self, kept: npt.NDArray[np.bool_]) -> "Pairs":
        """Some of the pairs: `kept` is (n,)."""
        return Pairs(self.left[kept], self.right[kept], self.scores[kept], self.threshold)


_NUMBERS = np.empty(0, np.int64)
NONE = Pairs(_NUMBERS, _NUMBERS, np.empty(0, np.float32), 1.0)
"""No pair."""


def similar_pairs(
    vectors: Rows, threshold: float, seed: int, exact: int = EXACT, limit: int = LIMIT
) -> Pairs:
    """Pairs of vectors with a cosine of at least `threshold`.

    Memory holds the pairs, four bytes a vector and list, and a few tiles; vectors are read from
    where they are, so that they can be memory-mapped.

    Args:
        vectors: Unit vectors, (n, d), of any floating type; a zero vector is like none.
        threshold: Least cosine, in (0, 1].
        seed: Of the leaders.
        exact: Up to so many vectors all pairs are compared; beyond, some pairs are missed.
        limit: Most pairs; of more, the most alike are kept.
    """
    kept = _Kept(threshold, limit)
    found = _all(vectors, kept) if len(vectors) <= exact else _by_lists(vectors, kept, seed)
    with bar("Comparing sentences", len(vectors)) as shown:
        for done in found:
            shown.advance(done)
    return kept.pairs()


def _all(vectors: Rows, kept: "_Kept") -> Iterator[int]:
    n = len(vectors)
    for top in range(0, n, _TILE):
        rows = _single(vectors[top : top + _TILE])
        for left in range(top, n, _TILE):
            scores = rows @ _single(vectors[left : left + _TILE]).T
            i, j = np.nonzero(scores >= kept.threshold)
            later = i + top < j + left
            i, j = i[later], j[later]
            kept.add(i + top, j + left, scores[i, j])
        yield len(rows)


def _by_lists(vectors: Rows, kept: "_Kept", seed: int) -> Iterator[int]:
    n = len(vectors)
    rng = np.random.default_rng(derive_seed(seed, "leaders"))
    leaders = _single(vectors[np.sort(rng.choice(n, int(2 * np.sqrt(n)), replace=False))])
    nearest = np.empty((n, PROBES), np.int32)
    for start in range(0, n, _TILE):
        scores = _single(vectors[start : start + _TILE]) @ leaders.T
        best = np.argpartition(-scores, PROBES - 1, axis=1)[:, :PROBES]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
        nearest[start : start + _TILE] = np.take_along_axis(best, order, axis=1)
    lists = range(len(leaders) + 1)
    members = np.argsort(nearest[:, 0], kind="stable")
    member_bounds = np.searchsorted(nearest[members, 0], lists)
    visits = np.argsort(nearest.ravel(), kind="stable")
    visit_bounds = np.searchsorted(nearest.ravel()[visits], lists)
    for number in range(len(leaders)):
        inside = members[member_bounds[number] : member_bounds[number + 1]]
        visitors = visits[visit_bounds[number] : visit_bounds[number + 1]] // PROBES
        for left in range(0, len(inside), _TILE):
            columns = inside[left : left + _TILE]
            across = _single(vectors[columns]).T
            for top in range(0, len(visitors), _TILE):
                rows = visitors[top : top + _TILE]
                scores = _single(vectors[rows]) @ across
                i, j = np.nonzero(scores >= kept.threshold)
                one, two, alike = rows[i], columns[j], scores[i, j]
                other = one != two
                one, two = np.minimum(one, two)[other], np.maximum(one, two)[other]
                kept.add(one, two, alike[other])
        yield len(inside)


def _single(vectors: npt.NDArray[Any]) -> Singles:
    return np.ascontiguousarray(vectors, dtype=np.float32)


class _Kept:
    """Pairs found so far; where they grow over the limit the threshold rises."""

    def __init__(self, threshold: float, limit: int) -> None:
        self.threshold = threshold
        self._limit = limit
        self._parts: list[tuple[Ints, Ints, Singles]] = []
        self._held = 0

    def add(self, left: Ints, right: Ints, scores: Singles) -> None:
        if len(left):
            self._parts.append((left, right, scores))
            self._held += len(left)
        if self._held > 2 * self._limit:
            self._narrow()

    def _narrow(self) -> tuple[Ints, Ints, Singles]:
        """One part of distinct pairs, at most `limit` of them."""
        left = np.concatenate([np.empty(0, np.int64), *(part[0] for part in self._parts)])
        right = np.concatenate([np.empty(0, np.int64), *(part[1] for part in self._parts)])
        scores = np.concatenate([np.empty(0, np.float32), *(part[2] for part in self._parts)])
        order = np.lexsort((right, left))
        left, right, scores = left[order], right[order], scores[order]
        new = np.ones(len(left), bool)
        new[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
        if new.sum() > self._limit:
            # Strictly above the best that goes, so that all pairs of the threshold are kept.
            lost = np.partition(scores[new], -self._limit - 1)[-self._limit - 1]
            self.threshold = float(np.nextafter(lost, np.float32(2)))
            new &= scores > lost
        self._parts = [(left[new], right[new], scores[new])]
        self._held = int(new.sum())
        return self._parts[0]

    def pairs(self) -> Pairs:
        return Pairs(*self._narrow(), self.threshold)
