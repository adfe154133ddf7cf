"""Sentences that stand near each other, for one batch.

Among sentences drawn by chance hardly two are alike, and a student that orders these learns nothing
of the differences that count where people compare sentences: between those that nearly agree.
"""

import numpy as np
import torch

from firth.lexical.arrays import Ints, Singles

_NEAREST = 48
"""Of a sentence: its group is taken from those that have none yet."""
_CHOICE = 3
"""Times the size of a group: of so many near ones those of similar length are taken."""
_BLOCK = 65_536
"""Sentences that are compared with each other, so that the work is linear in their number."""
_ROWS = 512


def near_groups(vectors: Singles, lengths: Ints, size: int, seed: int) -> Ints:
    """Groups of sentences that are alike, each sentence in at most one.

    In random order each sentence that has no group takes, of the nearest that have none, those of
    the most similar length (less is padding then), of equal lengths the nearest; those that find
    too few are put together by length.

    Args:
        vectors: Unit vectors, (n, d).
        lengths: Of the sentences, (n,).
        size: Of a group, at most n.
        seed: Decides the order.

    Returns:
        Numbers of sentences, (n // size, size) or, of more than one block, a little fewer rows.
    """
    rng = np.random.default_rng(seed)
    blocks = []
    for start in range(0, len(vectors) - size + 1, _BLOCK):
        some = slice(start, start + _BLOCK)
        blocks.append(start + _grouped(vectors[some], lengths[some], size, rng))
    return np.concatenate(blocks)


def _grouped(vectors: Singles, lengths: Ints, size: int, rng: np.random.Generator) -> Ints:
    nearest, free = _nearest(vectors), np.ones(len(vectors), bool)
    groups: list[list[int]] = []
    alone: list[int] = []
    for first in rng.permutation(len(vectors)).tolist():
        if free[first]:
            free[first] = False
            others = nearest[first][free[nearest[first]]][: _CHOICE * size]
            apart = np.abs(lengths[others] - lengths[first])
            group = [first, *others[np.argsort(apart, kind="stable")][: size - 1].tolist()]
            free[group] = False
            if len(group) == size:
                groups.append(group)
            else:
                alone += group
    rest = np.array(alone, np.int64)
    rest = rest[np.argsort(lengths[rest], kind="stable")][: len(rest) // size * size]
    return np.concatenate((np.array(groups, np.int64).reshape(-1, size), rest.reshape(-1, size)))


def _nearest(vectors: Singles) -> Ints:
    """Of each sentence those with the highest cosines, itself among them, the nearest first."""
    table = torch.from_numpy(np.ascontiguousarray(vectors, np.float32))
    count = min(_NEAREST, len(table))
    parts = torch.split(table, _ROWS)
    found = [(rows @ table.T).topk(count, dim=1).indices for rows in parts]
    return torch.cat(found).numpy()
