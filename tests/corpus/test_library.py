"""Several corpora answer as one."""

import numpy as np
import pytest

from firth.corpus.corpus import Corpus
from firth.corpus.library import Library


def test_a_sentence_alone_is_that_of_many(corpus: Corpus) -> None:
    """Of each part, one by one and together, in any order; and none beyond the ends."""
    library = Library([corpus, corpus])
    assert len(library.parts) == 2
    numbers = np.random.default_rng(3).permutation(len(library))
    assert [library.text(int(i)) for i in numbers] == library.texts(numbers)
    assert library.texts(range(len(library))) == 2 * corpus.texts(range(len(corpus)))
    assert library.word_counts.tolist() == 2 * corpus.word_counts.tolist()
    for beyond in (-1, len(library)):
        with pytest.raises(IndexError, match=f"got {beyond}, expected 0 to {len(library) - 1}"):
            library.text(beyond)
