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
_BLOCK = 1 << 15
"""Vectors whose codes are compared at once: they and the counts fit into the processor's cache."""
_SHARE = 1 << 17
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
        signs = (np.asarray(vectors, np.float32) - self.mean) @ self.turn > 0
        bits = np.zeros((len(vectors), -(-signs.shape[1] // _WORD) * _WORD), bool)
        bits[:, : signs.shape[1]] = signs
        return np.packbits(bits, axis=1, bitorder="little").view("<u8")

    def save(self, folder: Path) -> None:
        """Write both into `folder`."""
        np.save(folder / MEAN, self.mean)
        np.save(folder / TURN, self.turn)

    @classmethod
    def load(cls, folder: Path) -> "Turn":
        """Read what `save` wrote."""
        return cls(np.load(folder / MEAN), np.load(folder / TURN))


def candidates(codes: Codes, wanted: Codes, most: int, threads: Executor) -> Ints:
    """Numbers, ascending, of the vectors whose codes differ least from one.

    Args:
        codes: Of n vectors, by column: shape (words, n), each row contiguous.
        wanted: Of one vector, shape (words,).
        most: How many are wanted; those that differ as much as the last of them come too.
        threads: Share the work.
    """
    n = codes.shape[1]
    differing = np.empty(n, np.uint16)
    counts = threads.map(
        lambda start: _differ(codes[:, start : start + _SHARE], wanted, differing[start:]),
        range(0, n, _SHARE),
    )
    closer = sum(counts, np.zeros(_WORD * len(codes) + 1, np.int64)).cumsum()
    return np.flatnonzero(differing <= np.searchsorted(closer, min(most, n)))


def _differ(codes: Codes, wanted: Codes, differing: Counts) -> Ints:
    """Fill in how many bits of each code differ; how many codes differ in 0, 1, … bits."""
    counts = np.zeros(_WORD * len(codes) + 1, np.int64)
    mixed, counted = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint8)
    for start in range(0, codes.shape[1], _BLOCK):
        block = codes[:, start : start + _BLOCK]
        size = block.shape[1]
        found = differing[start : start + size]
        found[:] = 0
        for column, word in zip(block, wanted, strict=True):
            np.bitwise_xor(column, word, out=mixed[:size])
            found += np.bitwise_count(mixed[:size], out=counted[:size])
        counts += np.bincount(found, minlength=len(counts))
    return counts
