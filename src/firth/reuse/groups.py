"""From pairs to groups: an original and what is like it, without chains."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from firth.lexical.arrays import Ints, Singles
from firth.reuse.neighbours import Pairs


@dataclass(frozen=True)
class Star:
    """An item, later ones that are like it, and how alike each is to it."""

    original: int
    copies: Ints
    scores: Singles


def stars(pairs: Pairs) -> list[Star]:
    """Each item in order, if no earlier one has taken it, takes all that it is paired with.

    So whatever is in a group was paired with its original, the earliest of the group. Components of
    all pairs would be simpler, but in them two items may be joined by a chain of others and have
    nothing in common.

    Args:
        pairs: Of items, numbered as their originality goes: the earliest first.
    """
    n = int(pairs.right.max(initial=-1)) + 1
    later = csr_matrix((pairs.scores, (pairs.left, pairs.right)), shape=(n, n))
    taken = np.zeros(n, bool)
    found = []
    for item in np.flatnonzero(np.diff(later.indptr)).tolist():
        if taken[item]:
            continue
        row = slice(later.indptr[item], later.indptr[item + 1])
        free = ~taken[later.indices[row]]
        if free.any():
            copies = later.indices[row][free].astype(np.int64)
            taken[copies] = True
            found.append(Star(item, copies, later.data[row][free]))
    return found
