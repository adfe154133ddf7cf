"""A bag of word vectors: what is saved is what scores."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.lexical.word_vectors import WordBag, load
from firth.lexical.words import Stemmer

VOCABULARY = ("sail", "ship", "storm", "the")
VECTORS = np.random.default_rng(1).standard_normal((4, 5)).astype(np.float32)
BAG = WordBag("a bag", VOCABULARY, VECTORS, Stemmer.PORTER)
FORMS = {"sails": 0, "Sailing": 0, "ships": 1, "storm": 2, "the": 3, "unknown": None, "...": None}
texts = st.lists(st.sampled_from(sorted(FORMS)), max_size=6)


@given(texts, texts)
def test_a_score_is_the_cosine_of_sums(one: list[str], two: list[str]) -> None:
    """Stems are looked up, repeats count, unknown words do not; nothing known gives 0."""
    sums = [
        sum((VECTORS[i].astype(float) for word in text if (i := FORMS[word]) is not None),
            start=np.zeros(5))
        for text in (one, two)
    ]  # fmt: skip
    lengths = [np.linalg.norm(vector) for vector in sums]
    expected = sums[0] @ sums[1] / np.prod(lengths) if all(lengths) else 0.0
    (found,) = BAG.scorer().similarities([(" ".join(one), " ".join(two))])
    assert found == pytest.approx(expected, abs=1e-6)


def test_saved_and_loaded_it_scores_the_same(tmp_path: Path) -> None:
    """To the last bit; the title comes along."""
    BAG.save(tmp_path)
    pairs = [("The ships sail.", "a storm"), ("the storm", "sailing ships")]
    scorer = load(tmp_path)
    assert scorer.name == "a bag"
    found = scorer.similarities(pairs)
    np.testing.assert_array_equal(found, BAG.scorer().similarities(pairs))
    assert len(set(found.round(6).tolist())) == 2, "premise: the pairs differ"
