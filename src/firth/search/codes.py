"""Codes of one bit a dimension: they select the vectors that are worth an exact comparison.

Vectors are centred and rotated at random, so that every bit carries as much as any other. Of two
vectors at an angle θ a share θ/π of the bits differ (Charikar, STOC 2002, §3). Codes need no
training and grow by appending, and equal vectors give equal bytes.
"""

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.text.types import Ints, Singles

Codes = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.uint16]
_WORD = 64
_FIRST = 2
"""Words of 64 bits that are counted of every code; more would overflow counts of one byte."""
_PART, _TIES = 4, 10
_BLOCK = 1 << 15
"""Codes that are compared at once, so that they and their counts fit into the processor's cache."""
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


def candidates(codes: Codes, wanted: Codes, most: int, threads: Executor) -> Ints:
    """Return the ascending numbers of the codes that differ least from one.

    Codes are columns, (words, n), of contiguous rows. 128 bits are counted of every code, and all
    bits of the best quarter of each share of the codes, or of `most` if these are more. Codes that
    differ as much as the last of the `most` come, too, up to ten times the number: a corpus may
    have any number of equal sentences.
    """

    def closest(start: int) -> tuple[Ints, Counts]:
        share = codes[:, start : start + _SHARE]
        differing = _differing(share[:_FIRST], wanted[:_FIRST])
        rows = _least(differing, max(most, share.shape[1] // _PART))
        differing = differing[rows]
        for column, word in zip(share[_FIRST:], wanted[_FIRST:], strict=True):
            differing += np.bitwise_count(column[rows] ^ word)
        return start + rows, differing

    shares = [*threads.map(closest, range(0, max(1, codes.shape[1]), _SHARE))]
    numbers = np.concatenate([rows for rows, _ in shares])
    return numbers[_least(np.concatenate([counts for _, counts in shares]), most)]


def _differing(codes: Codes, wanted: Codes) -> Counts:
    """Count the bits in which the first few words of all codes differ from one."""
    size = codes.shape[1]
    differing = np.empty(size, np.uint8)
    mixed, counted = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint8)
    for start in range(0, size, _BLOCK):
        total = differing[start : start + _BLOCK]
        total[:] = 0
        for column, word in zip(codes[:, start : start + _BLOCK], wanted, strict=True):
            np.bitwise_xor(column, word, out=mixed[: len(total)])
            total += np.bitwise_count(mixed[: len(total)], out=counted[: len(total)])
    return differing.astype(np.uint16)


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
