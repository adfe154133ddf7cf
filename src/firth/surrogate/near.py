"""Sentences that stand near each other, for one batch.

Among sentences drawn by chance hardly two are alike, and a student that orders these learns nothing
of the differences that count where people compare sentences: between those that nearly agree.
"""

import numpy as np
import torch

from firth.lexical.arrays import Ints, Singles

_NEAREST = 48
"""Of a sentence: its group is taken from those that have none yet."""
_BLOCK = 65_536
"""Sentences that are compared with each other, so that the work is linear in their number."""
_ROWS = 512


def near_groups(vectors: Singles, size: int, seed: int) -> Ints:
    """Groups of sentences that are alike, each sentence in at most one.

    In random order each sentence that has no group takes the nearest that have none; those that
    find too few are put together by chance.

    Args:
        vectors: Unit vectors, (n, d).
        size: Of a group, at most n.
        seed: Decides the order.

    Returns:
        Numbers of sentences, (n // size, size) or, of more than one block, a little fewer rows.
    """
    rng = np.random.default_rng(seed)
    if size == 1:
        return np.arange(len(vectors))[:, None]
    starts = range(0, max(len(vectors) - size + 1, 1), _BLOCK)
    blocks = (start + _grouped(vectors[start : start + _BLOCK], size, rng) for start in starts)
    return np.concatenate(list(blocks))


def _grouped(vectors: Singles, size: int, rng: np.random.Generator) -> Ints:
    nearest, free = _nearest(vectors), np.ones(len(vectors), bool)
    groups: list[list[int]] = []
    alone: list[int] = []
    for first in rng.permutation(len(vectors)).tolist():
        if free[first]:
            others = nearest[first][free[nearest[first]]]
            group = [first, *others[others != first][: size - 1].tolist()]
            free[group] = False
            if len(group) == size:
                groups.append(group)
            else:
                alone += group
    whole = len(alone) // size * size
    by_chance = rng.permutation(np.array(alone, np.int64))[:whole].reshape(-1, size)
    return np.concatenate((np.array(groups, np.int64).reshape(-1, size), by_chance))


def _nearest(vectors: Singles) -> Ints:
    """Of each sentence those with the highest cosines, itself among them, the nearest first."""
    table = torch.from_numpy(np.ascontiguousarray(vectors, np.float32))
    count = min(_NEAREST, len(table))
    found = [(rows @ table.T).topk(count, dim=1).indices for rows in table.split(_ROWS)]
    return torch.cat(found).numpy()
