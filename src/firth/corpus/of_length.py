"""The sentences of a corpus that have so many words, found when they are asked for."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from firth.lexical.arrays import Ints

_BLOCK = 1 << 14


class OfLength:
    """Numbers, ascending, of the sentences of `low` to `high` words.

    Memory holds a number for each block of sentences.

    Args:
        word_counts: Words of each sentence of a corpus.
        low, high: Fewest and most words.

    Example:
        >>> found = OfLength(np.array([9, 2, 4, 3]), 3, 5)
        >>> len(found), found[np.array([1, 0])].tolist()
        (2, [3, 2])
    """

    def __init__(self, word_counts: npt.NDArray[np.int32], low: int, high: int) -> None:
        self._counts, self._low, self._high = word_counts, low, high
        self._ends = np.cumsum([0, *map(len, self.blocks())], dtype=np.int64)

    def __len__(self) -> int:
        """How many there are."""
        return int(self._ends[-1])

    def __getitem__(self, places: Ints) -> Ints:
        """The numbers that stand at some places among all, in that order."""
        found = np.empty(len(places), np.int64)
        block_of = np.searchsorted(self._ends, places, side="right") - 1
        for block in np.unique(block_of).tolist():
            here = block_of == block
            found[here] = self._block(block)[places[here] - self._ends[block]]
        return found

    def blocks(self) -> Iterator[Ints]:
        """All of them, some thousands at a time."""
        for block in range(-(-len(self._counts) // _BLOCK)):
            yield self._block(block)

    def _block(self, number: int) -> Ints:
        first = number * _BLOCK
        counts = self._counts[first : first + _BLOCK]
        return first + np.flatnonzero((counts >= self._low) & (counts <= self._high))
