"""Counting in how many sentences a word occurs."""

import math
from pathlib import Path

import pytest

from firth.lexical.tfidf import Idf, fit_frequencies, fit_idf


def test_a_word_counts_once_a_sentence() -> None:
    """df is a number of sentences, not of occurrences; case does not matter."""
    idf = fit_idf(["to be or not to be", "To go", "be"], source="three sentences")
    assert idf.frequencies == {"to": 2, "be": 2, "or": 1, "not": 1, "go": 1}
    assert idf.sentences == 3
    assert idf.weight("to") == pytest.approx(math.log(4 / 3) + 1)


def test_an_unseen_word_is_the_rarest() -> None:
    """df = 0 gives the largest weight, so that unseen words still count when they are shared."""
    idf = fit_idf(["one two", "two three"], source="two sentences")
    assert idf.weight("four") > idf.weight("one") > idf.weight("two") >= 1


def test_sentences_are_read_as_a_stream() -> None:
    """A generator is enough, and is read once."""
    left = iter(["a b", "b c"])
    assert fit_idf(left, source="a stream").sentences == 2
    assert next(left, None) is None


def test_saved_and_loaded_it_knows_the_same_words(tmp_path: Path) -> None:
    """Weights come back, and what is unknown is named once, in order."""
    idf = fit_idf(["one two", "two three"], source="two sentences")
    idf.save(tmp_path)
    again = Idf.load(tmp_path)
    assert [again.weight(w) for w in ("one", "two", "x")] == [
        idf.weight(w) for w in ("one", "two", "x")
    ]
    assert again.unknown("Two Xs, one y; xs!") == ["xs", "y"]


def test_frequencies_are_shares() -> None:
    """They add up to 1 over the words seen; others have 0."""
    found = fit_frequencies(["the ship", "The storm the"], "two sentences")
    assert found.share("the") == 3 / 5
    assert sum(found.share(word) for word in found.counts) == pytest.approx(1)
    assert found.share("sea") == fit_frequencies([], "none").share("sea") == 0
