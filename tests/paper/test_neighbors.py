"""Contexts and positions are those of the documents' sentences."""

import pytest

from firth.corpus.corpus import Corpus
from firth.paper.neighbors import Context, contexts_of, positions_of
from firth.text.words import words


@pytest.mark.parametrize("window", [1, 2, 3])
def test_contexts_are_the_neighbors_in_the_document(corpus: Corpus, window: int) -> None:
    """Up to the window on each side; positions are usual sentences with a neighbor on each."""
    texts = corpus.texts(range(len(corpus)))
    contexts, positions = [], []
    for start, end in zip(corpus.document_bounds[:-1], corpus.document_bounds[1:], strict=True):
        for i in range(start, end):
            left = texts[max(start, i - window) : i]
            contexts.append(Context(tuple(left), tuple(texts[i + 1 : min(end, i + 1 + window)])))
            if start < i < end - 1 and 3 <= len(words(texts[i])) <= 60:
                positions.append(i)
    assert 0 < len(positions) < len(texts), "the premise"
    assert contexts_of(corpus, range(len(texts)), window) == contexts
    assert positions_of(corpus).tolist() == positions
    assert contexts_of(corpus, []) == []
