"""Pairs of sentences that are drawn from a corpus, to see how high such pairs score."""

from enum import StrEnum

import numpy as np

from firth.corpus.corpus import Corpus
from firth.lexical.arrays import Ints, starts
from firth.run.seeds import derive_seed


class Pairs(StrEnum):
    """Of which sentences."""

    RANDOM = "random"
    """Drawn from all documents, seldom from the same."""
    SAME_DOCUMENT = "same-document"
    """Drawn from one document."""
    NEIGHBOURS = "neighbours"
    """One after the other."""


def draw(corpus: Corpus, kind: Pairs, most: int, seed: int) -> tuple[Ints, Ints]:
    """Numbers of the two sentences of each pair of a kind; never a sentence with itself.

    Args:
        corpus: Where they come from.
        kind: Neighbours are drawn without repetition, the others independently of each other.
        most: How many; fewer where the corpus has fewer such pairs.
        seed: The draw.
    """
    rng = np.random.default_rng(derive_seed(seed, kind.value))
    bounds, n = corpus.document_bounds, len(corpus)
    lengths = np.diff(bounds)
    if kind is Pairs.NEIGHBOURS:
        there = n - len(lengths)
        drawn = np.sort(rng.choice(there, min(most, there), replace=False))
        chosen = _numbers(bounds, lengths - 1, drawn)
        return chosen, chosen + 1
    if kind is Pairs.RANDOM:
        one = rng.integers(0, n, min(most, n * (n - 1) // 2))
        two = rng.integers(0, n - 1, len(one))
        return one, two + (two >= one)
    # Every sentence is as likely; a document of k has k(k - 1) / 2 pairs.
    several = np.where(lengths > 1, lengths, 0)
    there = int((lengths * (lengths - 1) // 2).sum())
    drawn = rng.choice(int(several.sum()), min(most, there)) if there else np.empty(0, np.int64)
    one = _numbers(bounds, several, drawn)
    documents = np.searchsorted(bounds, one, side="right") - 1
    two = bounds[documents] + (rng.random(len(one)) * (lengths[documents] - 1)).astype(np.int64)
    return one, two + (two >= one)


def _numbers(bounds: Ints, many: Ints, places: Ints) -> Ints:
    """Numbers of the sentences at some places among the first `many` of each document."""
    before = starts(many)
    documents = np.searchsorted(before, places, side="right") - 1
    found: Ints = bounds[documents] + places - before[documents]
    return found
