"""Averages of word vectors, sums of learned ones, and tf-idf of words."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.reproduce.averaged import (
    Averager,
    WordBag,
    WordTfIdf,
    averaged,
    evenly_spaced,
    first_component,
    word_counts,
)
from firth.run.run import Run

VECTORS = {
    word: np.random.default_rng(n).standard_normal(5).astype(np.float32)
    for n, word in enumerate(["a", "ship", "boat", "Storm", "field", "cow"])
}
TEXTS = ["A ship, a boat.", "The Storm!", "cow cow field", "", "nothing known"]
PAIRS = [(one, two) for one in TEXTS for two in TEXTS]


def test_words_are_looked_up_as_written_and_then_in_lower_case() -> None:
    """Mean and maximum are over known words; a text without one has the zero vector."""
    mean, largest = Averager(VECTORS.get, 5), Averager(VECTORS.get, 5, largest=True)
    stack = np.array([VECTORS["a"], VECTORS["ship"], VECTORS["a"], VECTORS["boat"]], np.float64)
    np.testing.assert_allclose(mean.encode(TEXTS)[0], stack.mean(axis=0))
    np.testing.assert_allclose(largest.encode(TEXTS)[0], stack.max(axis=0))
    np.testing.assert_allclose(mean.encode(TEXTS)[1], VECTORS["Storm"], rtol=1e-6)
    assert not mean.encode(TEXTS)[3:].any()


@pytest.mark.parametrize("pool", ["mean", "max", "idf", "sif"])
def test_scores_are_symmetric_cosines(pool: str) -> None:
    """Each pool gives scores in [-1, 1] that do not depend on the order of the two texts."""
    scorer = averaged("name", VECTORS.get, 5, pool, None)
    scores = scorer.similarities(PAIRS)
    assert np.abs(scores).max() <= 1
    np.testing.assert_allclose(scores, scorer.similarities([(b, a) for a, b in PAIRS]), atol=1e-12)


def test_sif_removes_what_all_sentences_share() -> None:
    """No vector has a part along the first component, which is an eigenvector."""
    vectors = np.random.default_rng(1).standard_normal((30, 4)) + 2
    component = first_component(vectors)
    squares = vectors.T @ vectors
    value = component @ squares @ component
    np.testing.assert_allclose(squares @ component, value * component)
    assert not first_component(np.zeros((3, 4))).any()


def test_counts_may_come_from_a_run(run: Run) -> None:
    """With a run, a score does not depend on the other pairs; without one, it does."""
    texts = ["The ship saw the boat.", "The farmer saw the cow."]
    pairs = [(texts[0], texts[1]), ("The boat.", "A ship and a boat.")]
    for pool in ("idf", "sif"):
        scorer = averaged("name", VECTORS.get, 5, pool, run)
        both = scorer.similarities(pairs)
        np.testing.assert_allclose(scorer.similarities(pairs[:1]), both[:1])
    known = WordTfIdf(word_counts(run))
    np.testing.assert_allclose(known.similarities(pairs)[:1], known.similarities(pairs[:1]))


@given(st.lists(st.text("ab cé1_", max_size=12), min_size=2, max_size=6))
def test_tf_idf_of_words_is_that_of_scikit_learn(texts: list[str]) -> None:
    """Scores equal those of TfidfVectorizer with the words of firth."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    from firth.text.words import words

    pairs = [(one, two) for one in texts for two in texts]
    scores = WordTfIdf().similarities(pairs)
    if any(words(text) for text in texts):
        table = TfidfVectorizer(analyzer=words, sublinear_tf=True).fit(sorted(set(texts)))
        rows = table.transform(texts).toarray()
        same = np.array([[one == two for two in texts] for one in texts])
        expected = np.where(same, 1.0, rows @ rows.T)
        np.testing.assert_allclose(scores, expected.ravel(), atol=1e-12)


def test_a_saved_bag_gives_the_same_scores(tmp_path: Path) -> None:
    """A repeated word counts again, and a saved bag is the same."""
    vectors = np.eye(3, dtype=np.float32)
    bag = WordBag("title", ["ship", "sail", "cow"], vectors, "porter")
    np.testing.assert_array_equal(bag.encode(["Ships sailing, ships"])[0], [2, 1, 0])
    bag.save(tmp_path)
    loaded = WordBag.load(tmp_path)
    np.testing.assert_array_equal(loaded.encode(TEXTS), bag.encode(TEXTS))
    assert (loaded.title, loaded.stemmer) == ("title", "porter")


@given(st.integers(0, 40), st.integers(1, 50))
def test_evenly_spaced_numbers_are_distinct(whole: int, most: int) -> None:
    """There are at most so many, ascending, and all where there are few."""
    chosen = evenly_spaced(np.arange(whole), most)
    assert len(chosen) == min(whole, most)
    assert (np.diff(chosen) > 0).all()
