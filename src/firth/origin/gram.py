"""All similarities of some texts to each other at once: what Origin's components say of n² pairs.

Each is the same number as pair by pair (`firth.origin.components`), but for rounding (matches of
words are held in single precision). Every two distinct stems of the texts are compared once.
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from firth.lexical.arrays import Floats, Singles
from firth.lexical.word_space import WordSpace
from firth.origin.stem_table import StemTable

SHARP = 1.5
"""Power of the cosine of what was learned of two stems: many are a little alike."""
_CELLS = 1 << 22
"""Matches of stems that are held at once."""


def summed(space: WordSpace, texts: Sequence[str], own: float) -> Floats:
    """Cosines of sums of words, (n, n), as `firth.origin.components.SummedWords` has them."""
    table = StemTable.of(space, texts)
    learned, parts = table.learned, table.own @ table.grams
    products = learned @ learned.T + own**2 * (parts @ parts.T).toarray()
    lengths = np.sqrt(np.diagonal(products))
    lengths = np.where(lengths > 0, lengths, 1.0)
    cosines: Floats = np.clip(products / np.outer(lengths, lengths), -1.0, 1.0)
    return cosines


def aligned(space: WordSpace, texts: Sequence[str], states: Floats | None = None) -> Floats:
    """Means of best matches, (n, n), as `firth.origin.components.AlignedWords` has them.

    Args:
        space: What is known of words.
        texts: n texts.
        states: Directions of the stems of all texts, one text's after the other's; None where they
            are what the corpus taught of each stem, whatever text it stands in.
    """
    table, n = StemTable.of(space, texts), len(texts)
    held = table.weighted(table.rarities**1.5)
    spelled, columns = _spelled(table), len(table.stems)
    if states is None:
        known = table.space.directions(table.stems).astype(np.float32)
        matches = np.maximum(np.maximum(known @ known.T, 0.0) ** np.float32(SHARP), spelled)
    else:
        states = states.astype(np.float32)
        columns = len(table.numbers)
        held = sparse.csr_matrix((held.data, np.arange(columns), held.indptr), shape=(n, columns))
    added = np.zeros((n, n))  # what the words of the row's text add when they meet the column's
    counts = np.diff(table.bounds)
    filled = np.flatnonzero(counts)
    step = max(1, _CELLS // max(1, columns * int(counts.max(initial=1))))
    for start in range(0, len(filled), step):
        chosen = filled[start : start + step]
        first, last = table.bounds[chosen[0]], table.bounds[chosen[-1] + 1]
        numbers = table.numbers[first:last]
        if states is None:
            rows = matches[numbers]
        else:
            rows = np.maximum(states[first:last] @ states.T, spelled[numbers][:, table.numbers])
        best = np.maximum.reduceat(rows, table.bounds[chosen] - first)
        added[:, chosen] = held @ best.T
    alone = np.asarray(held.sum(axis=1)).ravel()
    wholes = alone[:, None] + alone
    means = (added + added.T) / np.where(wholes > 0, wholes, 1.0)
    return np.clip(means, 0.0, 1.0)


def _spelled(table: StemTable) -> Singles:
    """How far the spelling of every two stems agrees, (u, u)."""
    found = np.zeros((len(table.stems), len(table.stems)), np.float32)
    shared = (table.grams @ table.grams.T).tocoo()
    places = shared.row, shared.col
    found[places] = shared.data / np.sqrt(table.sizes[shared.row] * table.sizes[shared.col])
    return found
