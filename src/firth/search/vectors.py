"""Many vectors: those nearest to a query by codes of one bit a dimension, and all similar pairs.

Vectors are centred and rotated at random, so that every bit of a code carries as much as any other.
Of two vectors at an angle θ a share θ/π of the bits differ (Charikar, STOC 2002, §3). Codes need no
training and grow by appending. They select the vectors that are worth an exact comparison.

Two texts are *similar* where the cosine of their vectors reaches a threshold. All pairs are
compared up to a number of vectors. Beyond, some are drawn as leaders, each vector joins the list of
its nearest leader, and is compared with the lists of its `PROBES` nearest leaders (cluster pruning,
Chierichetti et al. 2007). The more similar two vectors are, the more surely they meet.
"""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from firth.run.console import progress
from firth.run.settings import derive_seed
from firth.text.near import Pairs
from firth.text.types import Ints, Singles, starts

Codes = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.uint16]
_WORD = 64
_TIES = 10
_SHARE = 1 << 18
"""Codes that a thread compares before it takes the next."""


@dataclass(frozen=True)
class Rotation:
    """A mean, (d,), and a rotation, (d, d); the signs of a centred, rotated vector are its code."""

    mean: Singles
    matrix: Singles

    @classmethod
    def fit(cls, sample: Singles, seed: int) -> "Rotation":
        """Centre on the mean of a sample (n, d), and draw a rotation."""
        d = sample.shape[1]
        with threadpool_limits(1, "blas"):  # Threads that wait for one another cost more.
            matrix, upper = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))
        matrix *= np.sign(np.diag(upper))  # Without it the signs depend on the linear algebra used.
        mean = sample.mean(axis=0) if len(sample) else np.zeros(d)
        return cls(mean.astype(np.float32), matrix.astype(np.float32))

    def codes(self, vectors: npt.NDArray[Any]) -> Codes:
        """Return the codes of vectors (n, d), 64 signs to a number, (n, ceil(d / 64))."""
        return _packed((np.asarray(vectors, np.float32) - self.mean) @ self.matrix > 0)

    def code(self, vector: Singles) -> Codes:
        """Return the code of one vector, (ceil(d / 64),).

        It starts no threads. Those that a matrix product leaves waiting would occupy the cores that
        `candidates` needs.
        """
        rotated: Singles = np.einsum("d,de->e", vector - self.mean, self.matrix)
        code: Codes = _packed(rotated[None] > 0)[0]
        return code


def _packed(signs: npt.NDArray[np.bool_]) -> Codes:
    bits = np.zeros((len(signs), -(-signs.shape[1] // _WORD) * _WORD), bool)
    bits[:, : signs.shape[1]] = signs
    return np.packbits(bits, axis=1, bitorder="little").view("<u8")


class Gathered:
    """Vectors of m documents and of their n sentences, to be compared with queries.

    Args:
        vectors: Of the sentences, document after document, (n, d).
        sizes: Sentences of each document, (m,), at least 1.
        wholes: Of the documents, (m, d).
    """

    def __init__(self, vectors: Singles, sizes: Ints, wholes: Singles) -> None:
        self._vectors, self._first, self._wholes = vectors, starts(sizes), wholes

    def cosines(self, vector: npt.ArrayLike) -> tuple[Singles, Singles, Singles]:
        """Compare one unit vector with all.

        Returns:
            Cosines with the sentences, document after document, (n,); with the nearest sentence of
            each document, (m,); and with each document, (m,).
        """
        query = np.asarray(vector, np.float32)
        # Not products of matrices, which leave waiting threads behind (`Rotation.code`).
        cosines: Singles = np.clip(np.einsum("nd,d->n", self._vectors, query), -1.0, 1.0)
        of_documents: Singles = np.clip(np.einsum("md,d->m", self._wholes, query), -1.0, 1.0)
        nearest = np.maximum.reduceat(cosines, self._first) if len(self._first) else of_documents
        return cosines, nearest, of_documents


def candidates(codes: Codes, code: Codes, most: int, threads: Executor) -> Ints:
    """Return the ascending numbers of the codes that differ least from one.

    Codes are columns, (words, n). Those that differ as much as the last of the `most` come, too, up
    to ten times the number: a corpus may have any number of equal sentences.
    """

    def differing(start: int) -> Counts:
        share = codes[:, start : start + _SHARE]
        counts = np.zeros(share.shape[1], np.uint16)
        for column, word in zip(share, code, strict=True):
            counts += np.bitwise_count(column ^ word)
        return counts

    counts = [*threads.map(differing, range(0, max(1, codes.shape[1]), _SHARE))]
    return _least(np.concatenate(counts), most)


def _least(counts: Counts, most: int) -> Ints:
    """Return the places of the `most` least counts, and of some that equal the last of them."""
    if len(counts) <= most:
        return np.arange(len(counts))
    last = np.partition(counts, most - 1)[most - 1]
    places = np.flatnonzero(counts <= last)
    if len(places) > _TIES * most:
        less, equal = np.flatnonzero(counts < last), np.flatnonzero(counts == last)
        places = np.sort(np.concatenate([less, equal[: _TIES * most - len(less)]]))
    return places


EXACT = 40_000
"""Vectors up to which all pairs are compared."""
PROBES = 8
"""Lists that each vector is compared with."""
LIMIT = 10_000_000
"""Pairs that are kept; of more, the most similar."""
_TILE = 1_024


def similar_pairs(
    vectors_of: Callable[[Ints], Singles], n: int, threshold: float, seed: int
) -> Pairs:
    """Return the pairs of n vectors with a cosine of at least `threshold`, in (0, 1].

    `vectors_of` returns the unit vectors of some numbers, (k, d); a zero vector is similar to none.
    So memory holds the pairs, the nearest leaders of each vector, and a few tiles of vectors.
    """
    best = _Best(threshold)
    for rows, columns in progress(_tiles(vectors_of, n, seed), "Comparing sentences"):
        across = vectors_of(columns).T
        for top in range(0, len(rows), _TILE):
            tile = rows[top : top + _TILE]
            scores = vectors_of(tile) @ across
            i, j = np.nonzero(scores >= best.threshold)
            best.add(tile[i], columns[j], scores[i, j])
    return best.pairs()


def _tiles(vectors_of: Callable[[Ints], Singles], n: int, seed: int) -> list[tuple[Ints, Ints]]:
    """Return groups of rows and columns to compare; a column group has at most `_TILE` items."""
    if n <= EXACT:
        # A pair of two tiles is compared once: rows from the column's tile on.
        return [(np.arange(at, n), np.arange(at, min(at + _TILE, n))) for at in range(0, n, _TILE)]
    rng = np.random.default_rng(derive_seed(seed, "leaders"))
    leaders = vectors_of(np.sort(rng.choice(n, int(2 * np.sqrt(n)), replace=False)))
    nearest = np.empty((n, PROBES), np.int32)
    for start in range(0, n, _TILE):
        scores = vectors_of(np.arange(start, min(start + _TILE, n))) @ leaders.T
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


class _Best:
    """The most similar pairs so far; where they exceed the limit the threshold rises."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._parts: list[tuple[Ints, Ints, Singles]] = []
        self._count = 0

    def add(self, first: Ints, second: Ints, scores: Singles) -> None:
        differ = first != second
        if differ.any():
            first, second = first[differ], second[differ]
            left, right = np.minimum(first, second), np.maximum(first, second)
            self._parts.append((left, right, scores[differ]))
            self._count += len(left)
        if self._count > 2 * LIMIT:
            self._narrow()

    def _narrow(self) -> tuple[Ints, Ints, Singles]:
        """Merge all parts into distinct pairs, at most `LIMIT` of them."""
        empty = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
        left, right, scores = map(np.concatenate, zip(empty, *self._parts, strict=True))
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
        self._count = int(new.sum())
        return self._parts[0]

    def pairs(self) -> Pairs:
        return Pairs(*self._narrow(), self.threshold)
