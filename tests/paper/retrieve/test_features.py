"""`firth.paper.retrieve.features` against scikit-learn and against definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfTransformer

from firth.lexical.words import words
from firth.paper.retrieve.index import Features, smooth_idf, weigh

TEXTS = ["The cat sat on the mat.", "A cat, a CAT; the dog!", "", "?!", "Émile naïve straße cat"]


def test_weights_are_those_of_scikit_learn() -> None:
    """Sublinear tf times smooth idf, normalised: what `TfidfTransformer` makes of the counts."""
    counts = Features(12).counts(TEXTS)
    assert counts.max() > 1, "without a repeated word the logarithm of tf is not tested"
    peer = TfidfTransformer(sublinear_tf=True, smooth_idf=True).fit(counts)
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    ours = weigh(counts, smooth_idf(frequency, len(TEXTS)))
    np.testing.assert_allclose(ours.toarray(), peer.transform(counts).toarray(), atol=1e-6)


def test_features_are_uni_and_bi_grams_of_words() -> None:
    """k words give k unigrams and k - 1 bigrams, whatever stands between the words."""
    counts = Features(20).counts(TEXTS)
    expected = [max(0, 2 * len(words(text)) - 1) for text in TEXTS]
    assert counts.sum(axis=1).ravel().tolist()[0] == expected
    assert (counts.data > 0).all()


@given(st.lists(st.text(max_size=40), min_size=1, max_size=6))
@settings(max_examples=40)
def test_a_row_does_not_depend_on_its_neighbours(texts: list[str]) -> None:
    """Any text gives the same weights, bit by bit, alone and among others; their length is 1."""
    features = Features(12)
    idf = np.linspace(1, 3, features.number)
    together = weigh(features.counts(texts), idf)
    for row, text in enumerate(texts):
        alone = weigh(features.counts([text]), idf)
        assert (together[row] != alone).nnz == 0
        length = np.sqrt((alone.toarray() ** 2).sum())
        assert length == pytest.approx(1 if words(text) else 0, abs=1e-6)


def test_lone_surrogates_are_read() -> None:
    """A str that has no UTF-8 form is no error."""
    assert Features(12).counts(["good \ud800 day"]).sum() == 3
