"""Names of the array types used everywhere, and vectors in small numbers."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.int8]


def starts(lengths: Ints) -> Ints:
    """Where each of some runs begins that stand one after the other, (len(lengths),)."""
    found: Ints = np.cumsum(lengths) - lengths
    return found


def places(groups: Ints) -> Ints:
    """How many earlier ones each has in its group, (len(groups),).

    Example:
        >>> places(np.array([7, 2, 7, 7, 2])).tolist()
        [0, 0, 1, 2, 1]
    """
    order = np.argsort(groups, kind="stable")
    sizes = np.unique(groups, return_counts=True)[1]
    found = np.empty(len(groups), np.int64)
    found[order] = ranges(np.zeros_like(sizes), sizes)
    return found


def ranges(first: Ints, lengths: Ints) -> Ints:
    """Whole numbers from each start on, so many, one run after the other, (sum of lengths,).

    Example:
        >>> ranges(np.array([7, 2]), np.array([3, 2])).tolist()
        [7, 8, 9, 2, 3]
    """
    found: Ints = np.arange(int(lengths.sum())) + np.repeat(first - starts(lengths), lengths)
    return found


def apart(values: Floats, lengths: Ints) -> list[Floats]:
    """The runs of so many rows that stand one after the other, each by itself.

    Example:
        >>> [run.tolist() for run in apart(np.array([7.0, 8.0, 2.0]), np.array([2, 0, 1]))]
        [[7.0, 8.0], [], [2.0]]
    """
    return [values[start:end] for start, end in pairwise([0, *np.cumsum(lengths).tolist()])]


def to_int8(vectors: npt.NDArray[np.floating]) -> Bytes:
    """Each row scaled to a largest number of 127, and rounded: cosines stay, within 1 %."""
    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True, initial=0.0), 1e-12)
    scaled: Bytes = np.rint(127 * vectors / largest).astype(np.int8)
    return scaled
