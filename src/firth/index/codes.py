"""Codes of a bit a dimension: which vectors are worth a look, found by counting bits that differ.

The vectors are centred and turned at random first, so that every bit says as much as any other; of
two vectors at an angle θ a share θ/π of the bits differ (Charikar, STOC 2002, §3). The few that
differ least are then compared exactly. Unlike a graph or cells, codes need no training, grow by
appending, and equal vectors give equal bytes.
"""

from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.index.encoder import Vectors
from firth.lexical.arrays import Ints

Codes = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.uint16]
TURN, MEAN = "turn.npy", "mean.npy"
_WORD = 64
_FIRST = 2
"""Words of 64 bits that are counted of every code; more overflow the counts, of a byte each."""
_BLOCK = 1 << 15
"""Vectors whose codes are compared at once: they and the counts fit into the processor's cache."""
_SHARE = 1 << 18
"""Vectors that a thread compares before it takes the next."""


@dataclass(frozen=True)
class Turn:
    """What is done to a vector before its signs are taken.

    Attributes:
        mean: float32, (d,).
        turn: float32, (d, d), orthogonal.
    """

    mean: Vectors
    turn: Vectors

    @classmethod
    def fit(cls, sample: Vectors, seed: int) -> "Turn":
        """Centre on the mean of a sample (n, d); turn at random."""
        d = sample.shape[1]
        noise = np.random.default_rng(seed).standard_normal((d, d))
        turn, upper = np.linalg.qr(noise)
        turn *= np.sign(np.diag(upper))  # else it depends on how the library reflects
        mean = sample.mean(axis=0) if len(sample) else np.zeros(d)
        return cls(mean.astype(np.float32), turn.astype(np.float32))

    def codes(self, vectors: npt.NDArray[Any]) -> Codes:
        """Signs of vectors (n, d), 64 to a number: shape (n, ⌈d/64⌉)."""
        return _packed((np.asarray(vectors, np.float32) - self.mean) @ self.turn > 0)

    def code(self, vector: Vectors) -> Codes:
        """The same of one vector, (d,), without threads: those that a product leaves behind wait
        for the next one on the processors that `candidates` needs."""
        turned: Vectors = np.einsum("d,de->e", vector - self.mean, self.turn)
        code: Codes = _packed(turned[None] > 0)[0]
        return code

    def save(self, folder: Path) -> None:
        """Write both into `folder`."""
        np.save(folder / MEAN, self.mean)
        np.save(folder / TURN, self.turn)

    @classmethod
    def load(cls, folder: Path) -> "Turn":
        """Read what `save` wrote."""
        return cls(np.load(folder / MEAN), np.load(folder / TURN))


def _packed(signs: npt.NDArray[np.bool_]) -> Codes:
    bits = np.zeros((len(signs), -(-signs.shape[1] // _WORD) * _WORD), bool)
    bits[:, : signs.shape[1]] = signs
    return np.packbits(bits, axis=1, bitorder="little").view("<u8")


def candidates(codes: Codes, wanted: Codes, most: int, threads: Executor) -> Ints:
    """Numbers, ascending, of the vectors whose codes differ least from one.

    Where there are many, the first bits say which are worth counting more: of 128 bits of every
    code, half of all bits, or 256, of the quarter of the codes that differ least in these, and all
    bits of a thirty-second; in each `_SHARE` at least `most`.

    Args:
        codes: Of n vectors, by column: shape (words, n), each row contiguous.
        wanted: Of one vector, shape (words,).
        most: How many are wanted; those that differ as much as the last of them come too.
        threads: Share the work.
    """
    starts = range(0, max(1, codes.shape[1]), _SHARE)
    found = [*threads.map(lambda at: _closest(codes[:, at : at + _SHARE], wanted, most), starts)]
    numbers = np.concatenate([at + rows for at, (rows, _) in zip(starts, found, strict=True)])
    differing = np.concatenate([counts for _, counts in found])
    return numbers[_least(differing, most)]


def _closest(codes: Codes, wanted: Codes, most: int) -> tuple[Ints, Counts]:
    """Rows that may be among those that differ least, and in how many bits each differs."""
    words, size = codes.shape
    differing = _differing(codes[:_FIRST], wanted[:_FIRST])
    middle = min(words, max(2 * _FIRST, words // 2))
    rows = None
    for start, end, part in ((_FIRST, middle, 4), (middle, words, 32)):
        if start < end:
            kept = _least(differing, max(most, size // part))
            differing = differing[kept]
            rows = kept if rows is None else rows[kept]
            for column, word in zip(codes[start:end], wanted[start:end], strict=True):
                differing += np.bitwise_count(column[rows] ^ word)
    return np.arange(size) if rows is None else rows, differing


def _differing(codes: Codes, wanted: Codes) -> Counts:
    """In how many bits the first few words of all codes differ from some."""
    size = codes.shape[1]
    differing = np.empty(size, np.uint8)
    mixed, counted = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint8)
    for start in range(0, size, _BLOCK):
        found = differing[start : start + _BLOCK]
        found[:] = 0
        for column, word in zip(codes[:, start : start + _BLOCK], wanted, strict=True):
            np.bitwise_xor(column, word, out=mixed[: len(found)])
            found += np.bitwise_count(mixed[: len(found)], out=counted[: len(found)])
    return differing.astype(np.uint16)


def _least(counts: Counts, most: int) -> Ints:
    """Where the least counts are: `most`, and those that equal the last of them."""
    if len(counts) <= most:
        return np.arange(len(counts))
    return np.flatnonzero(counts <= np.partition(counts, most - 1)[most - 1])
