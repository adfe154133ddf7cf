"""`firth.paper.coherence.model`: the sides of a position and their vectors."""

import numpy as np
import pytest
import torch

from firth.corpus.corpus import Corpus
from firth.paper.coherence.model import mean_rows, neighbours


@pytest.mark.parametrize("window", [1, 2, 3])
def test_sides_are_the_sentences_of_the_context(corpus: Corpus, window: int) -> None:
    """As `Corpus.context` has them, at the edges of documents too."""
    every = np.arange(len(corpus))
    around = neighbours(every, corpus.document_bounds, window)
    assert (around == -1).any()
    for position in every.tolist():
        context = corpus.context(position, window)
        left = [corpus.text(i) for i in around[position, 0] if i >= 0]
        right = [corpus.text(i) for i in around[position, 1] if i >= 0]
        assert tuple(reversed(left)) == context.left
        assert tuple(right) == context.right


def test_mean_rows() -> None:
    """The mean of the rows that are there; zeros where none is."""
    table = torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 7.0]])
    rows = np.array([[0, 1], [2, -1], [-1, -1]])
    expected = torch.tensor([[2.0, 4.0], [5.0, 7.0], [0.0, 0.0]])
    assert torch.equal(mean_rows(table, rows), expected)
    assert torch.equal(mean_rows(table, rows[:2, :1]), table[[0, 2]])
