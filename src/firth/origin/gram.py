"""All similarities of some texts to each other at once: what Origin's components say of n² pairs.

Each is the same number as pair by pair (`firth.origin.components`), but for rounding (matches of
words are held in single precision). Every two distinct stems of the texts are compared once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy import sparse

from firth.lexical.arrays import Floats, Ints, Singles
from firth.lexical.spelling import ngrams
from firth.lexical.word_space import WordSpace

SHARP = 1.5
"""Power of the cosine of what was learned of two stems: many are a little alike."""
_CELLS = 1 << 22
"""Matches of stems that are held at once."""


@dataclass(frozen=True, eq=False)
class StemTable:
    """Texts as numbers of their stems.

    Attributes:
        space: What is known of words.
        stems: The distinct stems of all texts, u of them.
        numbers: Of each text's distinct stems, one text's after the other's.
        bounds: Text i has numbers[bounds[i]:bounds[i+1]], (n + 1,).
    """

    space: WordSpace
    stems: list[str]
    numbers: Ints
    bounds: Ints

    @classmethod
    def of(cls, space: WordSpace, texts: Sequence[str]) -> "StemTable":
        """Read `texts`."""
        each = [space.stems(text) for text in texts]
        known = {stem: n for n, stem in enumerate(dict.fromkeys(s for some in each for s in some))}
        numbers = np.array([known[stem] for some in each for stem in some], np.int64)
        bounds = np.concatenate(([0], np.cumsum([len(some) for some in each], dtype=np.int64)))
        return cls(space, list(known), numbers, bounds)

    @cached_property
    def rarities(self) -> Floats:
        """Length of each stem's own direction, (u,)."""
        return np.array([self.space.rarity(stem) for stem in self.stems], dtype=float)

    def weighted(self, weights: Floats) -> sparse.csr_matrix:
        """A row a text, a column a stem, (n, u): the weight of each stem that the text has."""
        shape = (len(self.bounds) - 1, len(self.stems))
        return sparse.csr_matrix((weights[self.numbers], self.numbers, self.bounds), shape=shape)

    @cached_property
    def grams(self) -> sparse.csr_matrix:
        """A row a stem, a column a character n-gram: 1 where the stem has it."""
        each = [ngrams(stem) for stem in self.stems]
        known = {gram: n for n, gram in enumerate(dict.fromkeys(g for some in each for g in some))}
        columns = np.array([known[gram] for some in each for gram in some], np.int64)
        bounds = np.concatenate(([0], np.cumsum([len(some) for some in each], dtype=np.int64)))
        ones = np.ones(len(columns))
        return sparse.csr_matrix((ones, columns, bounds), shape=(len(each), len(known)))

    @property
    def sizes(self) -> Floats:
        """N-grams of each stem, (u,)."""
        found: Floats = np.diff(self.grams.indptr).astype(float)
        return found


@lru_cache(maxsize=1)
def _table(space: WordSpace, texts: tuple[str, ...]) -> StemTable:
    # Two components read the same texts, one after the other.
    return StemTable.of(space, texts)


def summed(space: WordSpace, texts: Sequence[str], own: float) -> Floats:
    """Cosines of sums of words, (n, n), as `firth.origin.components.SummedWords` has them."""
    table = _table(space, tuple(texts))
    learned = table.weighted(np.ones(len(table.stems))) @ space.learned(table.stems)
    parts = table.weighted(table.rarities / np.sqrt(table.sizes)) @ table.grams
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
    table, n = _table(space, tuple(texts)), len(texts)
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
