"""Pairs are drawn from a corpus as their kind says."""

from pathlib import Path

import numpy as np
import pytest

from firth.corpus.corpus import Corpus
from firth.corpus.drawn import Pairs, draw


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
