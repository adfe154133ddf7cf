"""Documents that resemble each other, from a small sketch of the words of each.

A sketch holds the 64 smallest hashes of a document's distinct words (bottom-k sampling, Broder
1997). Two documents resemble each other if they share enough of the rare words in their sketches:
versions of one article do, articles on one subject do not.
"""

from collections.abc import Iterable, Sequence
from zlib import crc32

import numpy as np

from firth.text.types import Ints

SIZE = 64
"""Hashes of a sketch, at most."""
FEWEST, MOST = 3, 20
"""A word of more documents than one in 20 is not rare, within these limits."""
SHARED, SHARE = 4, 0.15
"""Rare words that two sketches share, at least; and their share, weighted by idf."""
COPIED = 0.5
"""The same share of copies. Captions of surfers have up to 0.47."""
_MIX = 2654435761
_ROWS = 4_096


def sketch(words: Iterable[str]) -> bytes:
    """Return the smallest hashes of some distinct words, as ascending little-endian uint32."""
    hashes = {crc32(word.encode("utf-8", "surrogatepass")) * _MIX & 0xFFFFFFFF for word in words}
    return np.array(sorted(hashes)[:SIZE], "<u4").tobytes()


def sibling_groups(sketches: Sequence[bytes], short: float = SHARE) -> Ints:
    """Return the number of each document's group, (n,); most groups have one document.

    Args:
        sketches: Of each document.
        short: Least share of rare words where a document has fewer words than a sketch holds.
    """
    from scipy import sparse

    n = len(sketches)
    sizes = np.array([len(sketch_bytes) // 4 for sketch_bytes in sketches], np.int64)
    hashes, columns = np.unique(np.frombuffer(b"".join(sketches), "<u4"), return_inverse=True)
    frequency = np.bincount(columns, minlength=len(hashes))
    rows = np.repeat(np.arange(n), sizes)
    rare = frequency[columns] <= np.clip(n // 20, FEWEST, MOST)
    rows, columns = rows[rare], columns[rare]
    idf = np.log1p(n / frequency)
    shape = (n, len(hashes))
    indicator = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape)
    weighted = sparse.csr_matrix((idf[columns], (rows, columns)), shape)
    totals, turned = np.asarray(weighted.sum(axis=1)).ravel(), indicator.T.tocsc()
    firsts, seconds = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for start in range(0, n, _ROWS):
        products = (weighted[start : start + _ROWS] @ turned).tocoo()
        counts = (indicator[start : start + _ROWS] @ turned).tocoo()
        a, b = products.row.astype(np.int64) + start, products.col.astype(np.int64)
        union = totals[a] + totals[b] - products.data
        least = np.where(np.minimum(sizes[a], sizes[b]) < SIZE, short, SHARE)
        alike = (a < b) & (counts.data >= SHARED) & (products.data >= least * union)
        firsts.append(a[alike])
        seconds.append(b[alike])
    a, b = np.concatenate(firsts), np.concatenate(seconds)
    graph = sparse.coo_matrix((np.ones(len(a)), (a, b)), (n, n))
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(graph, directed=False)[1], np.int64)
