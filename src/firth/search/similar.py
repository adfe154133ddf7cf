"""Pairs of texts that are similar by their vectors.

Two texts are *similar* where the cosine of their vectors reaches a threshold. All vectors are
compared up to a number of them. Beyond, some vectors are drawn as leaders, each vector joins the
list of its nearest leader, and is compared with the lists of its `PROBES` nearest leaders (cluster
pruning, Chierichetti et al. 2007). The more similar two vectors are, the more surely they meet.
"""

from collections.abc import Callable

import numpy as np

from firth.run.console import progress
from firth.run.settings import derive_seed
from firth.text.near import Pairs
from firth.text.types import Ints, Singles

EXACT = 40_000
"""Vectors up to which all pairs are compared."""
PROBES = 8
"""Lists that each vector is compared with."""
LIMIT = 10_000_000
"""Pairs that are kept; of more, the most similar."""
_TILE = 4_096


def similar_pairs(read: Callable[[Ints], Singles], n: int, threshold: float, seed: int) -> Pairs:
    """Return the pairs of n vectors with a cosine of at least `threshold`, in (0, 1].

    `read` returns the unit vectors of some numbers, (k, d); a zero vector is similar to none. So
    memory holds the pairs, the nearest leaders of each vector, and a few tiles of vectors.
    """
    kept = _Kept(threshold)
    for rows, columns in progress(_tiles(read, n, seed), "Comparing sentences"):
        across = read(columns).T
        for top in range(0, len(rows), _TILE):
            tile = rows[top : top + _TILE]
            scores = read(tile) @ across
            i, j = np.nonzero(scores >= kept.threshold)
            kept.add(tile[i], columns[j], scores[i, j])
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

    def add(self, first: Ints, second: Ints, scores: Singles) -> None:
        differ = first != second
        if differ.any():
            first, second = first[differ], second[differ]
            self._parts.append(
                (np.minimum(first, second), np.maximum(first, second), scores[differ])
            )
            self._held += len(first)
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
