"""From pairs to groups: an original and what is like it, without chains."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from firth.lexical.arrays import Ints, Singles
from firth.reuse.neighbours import NONE, Pairs


@dataclass(frozen=True)
class Star:
    """An item, later ones that are like it, and how alike each is to it."""

    original: int
    copies: Ints
    scores: Singles


def stars(sure: Pairs, alike: Pairs = NONE) -> list[Star]:
    """Groups of what is surely the same, and then of these what a model takes for alike.

    Each item in order, if no earlier one has taken it, takes all that it is paired with: first by
    `sure`. Then the originals of these groups, and what is in none, do so by `alike`; who is taken
    brings its sure copies along, as alike as it is. So all that `sure` pairs join is in groups,
    however far is looked beyond, and whatever is in a group was paired with its original, the
    earliest, or is a sure copy of what was. Components of all pairs would be simpler, but in them
    two items may be joined by a chain of others and have nothing in common.

    Args:
        sure, alike: Of items, numbered as their originality goes: the earliest first.
    """
    groups = dict(_taken(sure))
    copies = np.array([copy for group in groups.values() for copy, _ in group], np.int64)
    free = ~np.isin(alike.left, copies) & ~np.isin(alike.right, copies)
    for original, found in _taken(alike.where(free)):
        group = groups.setdefault(original, [])
        for item, score in found:
            group.append((item, score))
            group += [(copy, score) for copy, _ in groups.pop(item, ())]
    return [_star(original, group) for original, group in groups.items()]


def _taken(pairs: Pairs) -> Iterator[tuple[int, list[tuple[int, float]]]]:
    """Originals, and what each of them takes, with scores."""
    n = int(pairs.right.max(initial=-1)) + 1
    later = csr_matrix((pairs.scores, (pairs.left, pairs.right)), shape=(n, n))
    taken = np.zeros(n, bool)
    for item in np.flatnonzero(np.diff(later.indptr)).tolist():
        if taken[item]:
            continue
        row = slice(later.indptr[item], later.indptr[item + 1])
        free = ~taken[later.indices[row]]
        if free.any():
            copies = later.indices[row][free]
            taken[copies] = True
            yield item, list(zip(copies.tolist(), later.data[row][free].tolist(), strict=True))


def _star(original: int, copies: list[tuple[int, float]]) -> Star:
    items, scores = zip(*sorted(copies), strict=True)
    return Star(original, np.array(items, np.int64), np.array(scores, np.float32))
