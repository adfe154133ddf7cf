"""Pairs are drawn from a corpus as their kind says."""

from pathlib import Path

import numpy as np
import pytest

from firth.corpus.corpus import Corpus
from firth.corpus.drawn import Pairs, draw
from firth.run.seeds import derive_seed


@pytest.mark.parametrize("kind", [*Pairs])
def test_pairs_are_of_their_kind(tiny_run: Path, kind: Pairs) -> None:
    """Neighbours follow each other in a document; pairs of a document share it; none is double."""
    corpus = Corpus.open(tiny_run)
    one, two = draw(corpus, kind, 500, 3)
    assert len(one) > 100
    assert (one != two).all()
    assert min(one.min(), two.min()) >= 0
    assert max(one.max(), two.max()) < len(corpus)
    same = corpus.document_of(one) == corpus.document_of(two)
    if kind is Pairs.RANDOM:
        assert 0 < same.mean() < 0.2
        assert len(np.unique(two)) > 100
    else:
        assert same.all()
    if kind is Pairs.NEIGHBOURS:
        assert (two == one + 1).all()
        assert len(np.unique(one)) == len(one)


@pytest.mark.parametrize("most", [5, 10**6])
def test_draws_are_those_from_lists_of_all(tiny_run: Path, most: int) -> None:
    """Places among the sentences of a kind are found by their documents alone."""
    corpus = Corpus.open(tiny_run)
    bounds, lengths = corpus.document_bounds, np.diff(corpus.document_bounds)
    followed = np.delete(np.arange(len(corpus)), bounds[1:] - 1)
    rng = np.random.default_rng(derive_seed(3, Pairs.NEIGHBOURS.value))
    expected = np.sort(rng.choice(followed, min(most, len(followed)), replace=False))
    assert draw(corpus, Pairs.NEIGHBOURS, most, 3)[0].tolist() == expected.tolist()
    several = np.flatnonzero(np.repeat(lengths, lengths) > 1)
    rng = np.random.default_rng(derive_seed(3, Pairs.SAME_DOCUMENT.value))
    expected = rng.choice(several, min(most, int((lengths * (lengths - 1) // 2).sum())))
    assert draw(corpus, Pairs.SAME_DOCUMENT, most, 3)[0].tolist() == expected.tolist()
