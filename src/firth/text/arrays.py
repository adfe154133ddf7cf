"""Array types that all of firth uses, and arithmetic on runs of rows."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.int8]


def unit(rows: Floats) -> Floats:
    """Divide each row of an (n, d) array by its length; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Floats = rows / np.where(lengths > 0, lengths, 1.0)
    return scaled


def starts(lengths: Ints) -> Ints:
    """Return the first position of each of several consecutive runs, (len(lengths),)."""
    first: Ints = np.cumsum(lengths) - lengths
    return first


def ranges(first: Ints, lengths: Ints) -> Ints:
    """Concatenate `range(first[i], first[i] + lengths[i])` of all i, (sum of lengths,).

    Example:
        >>> ranges(np.array([7, 2]), np.array([3, 2])).tolist()
        [7, 8, 9, 2, 3]
    """
    numbers: Ints = np.arange(int(lengths.sum())) + np.repeat(first - starts(lengths), lengths)
    return numbers


def places(groups: Ints) -> Ints:
    """Count, for each item, the earlier items of the same group, (len(groups),).

    Example:
        >>> places(np.array([7, 2, 7, 7, 2])).tolist()
        [0, 0, 1, 2, 1]
    """
    order = np.argsort(groups, kind="stable")
    sizes = np.unique(groups, return_counts=True)[1]
    counts = np.empty(len(groups), np.int64)
    counts[order] = ranges(np.zeros_like(sizes), sizes)
    return counts


def split_runs(values: Floats, lengths: Ints) -> list[Floats]:
    """Cut an array into consecutive runs of the given lengths.

    Example:
        >>> [run.tolist() for run in split_runs(np.array([7.0, 8.0, 2.0]), np.array([2, 0, 1]))]
        [[7.0, 8.0], [], [2.0]]
    """
    return [values[start:end] for start, end in pairwise([0, *np.cumsum(lengths).tolist()])]


def to_int8(vectors: npt.NDArray[np.floating]) -> Bytes:
    """Scale each row to a largest absolute value of 127 and round; cosines stay within 1 %."""
    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True, initial=0.0), 1e-12)
    scaled: Bytes = np.rint(127 * vectors / largest).astype(np.int8)
    return scaled
