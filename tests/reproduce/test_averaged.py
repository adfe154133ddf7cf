"""Averages of word vectors, and sums of learned ones."""

from pathlib import Path

import numpy as np

from firth.reproduce.averaged import WordBag, averaged

VECTORS = {
    word: np.random.default_rng(n).standard_normal(5).astype(np.float32)
    for n, word in enumerate(["a", "ship", "boat", "Storm", "field", "cow"])
}
TEXTS = ["A ship, a boat.", "The Storm!", "cow cow field", "", "nothing known"]


def test_words_are_looked_up_as_written_and_then_in_lower_case() -> None:
    """Mean and maximum are over known words; a text without one has the zero vector."""
    mean, largest = (averaged(VECTORS.get, 5, pool)(TEXTS) for pool in ("mean", "max"))
    stack = np.array([VECTORS["a"], VECTORS["ship"], VECTORS["a"], VECTORS["boat"]], np.float64)
    np.testing.assert_allclose(mean[0], stack.mean(axis=0))
    np.testing.assert_allclose(largest[0], stack.max(axis=0))
    np.testing.assert_allclose(mean[1], VECTORS["Storm"], rtol=1e-6)
    assert not mean[3:].any()


def test_a_saved_bag_gives_the_same_scores(tmp_path: Path) -> None:
    """A repeated word counts again, and a saved bag is the same."""
    vectors = np.eye(3, dtype=np.float32)
    bag = WordBag("title", ["ship", "sail", "cow"], vectors, "porter")
    np.testing.assert_array_equal(bag.encode(["Ships sailing, ships"])[0], [2, 1, 0])
    bag.save(tmp_path)
    loaded = WordBag.load(tmp_path)
    np.testing.assert_array_equal(loaded.encode(TEXTS), bag.encode(TEXTS))
    assert (loaded.title, loaded.stemmer) == ("title", "porter")
