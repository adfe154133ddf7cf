"""Counting how many sentences have a word, or its stem."""

import math
from pathlib import Path

import pytest

from firth.lexical.tfidf import Idf, fit_frequencies, fit_idf
from firth.lexical.words import Stemmer
from firth.run.errors import InputError


def test_a_word_counts_once_a_sentence() -> None:
    """A frequency is a number of sentences, not of occurrences; case does not matter."""
    idf = fit_idf(["to be or not to be", "To go", "be"], "three sentences", Stemmer.NONE)
    assert idf.frequencies == {"to": 2, "be": 2, "or": 1, "not": 1, "go": 1}
    assert idf.sentences == 3
    assert idf.weight("to") == pytest.approx(math.log(4 / 3))
    assert idf.smooth_weight("to") == pytest.approx(math.log(4 / 3) + 1)


def test_forms_of_a_stem_count_once_a_sentence() -> None:
    """A sentence that has two forms of a word has one stem: it is not the sum over forms."""
    texts = ["Ships met a ship.", "One ship sailed.", "Sails, sailing"]
    idf, forms = (fit_idf(texts, "three", stemmer) for stemmer in (Stemmer.PORTER, Stemmer.NONE))
    assert forms.frequencies["ship"] + forms.frequencies["ships"] == 3, "premise: the sum differs"
    assert (idf.frequencies["ship"], idf.frequencies["sail"]) == (2, 2)


def test_an_unseen_word_is_the_rarest() -> None:
    """It gets the largest weight, so that it counts where it is shared; what all have, none."""
    idf = fit_idf(["sea ship", "ship storm"], source="two sentences")
    assert idf.weight("cow") > idf.weight("sea") > idf.weight("ship") == 0


def test_sentences_are_read_as_a_stream() -> None:
    """A generator is enough, and is read once."""
    left = iter(["a b", "b c"])
    assert fit_idf(left, source="a stream").sentences == 2
    assert next(left, None) is None


@pytest.mark.parametrize("stemmer", list(Stemmer))
def test_saved_and_loaded_it_knows_the_same(tmp_path: Path, stemmer: Stemmer) -> None:
    """Weights and stemmer come back, and what is unknown is named once, in order, as written."""
    idf = fit_idf(["one two", "two sails"], "the corpus", stemmer)
    idf.save(tmp_path)
    assert Idf.load(tmp_path) == idf
    unknown = Idf.load(tmp_path).unknown("Two Xylos, one sailing; xylos!")
    assert unknown == (["xylos", "sailing"] if stemmer is Stemmer.NONE else ["xylos"])


@pytest.mark.parametrize("stored", ['{"frequencies": {}, "sentences": 1}', "[]"])
def test_another_file_is_refused(tmp_path: Path, stored: str) -> None:
    """One without a stemmer counted words: an older firth wrote it."""
    (tmp_path / "idf.json").write_text(stored)
    with pytest.raises(InputError, match="firth train context"):
        Idf.load(tmp_path)


def test_frequencies_are_shares() -> None:
    """They add up to 1 over the words seen; others have 0."""
    found = fit_frequencies(["the ship", "The storm the"], "two sentences")
    assert found.share("the") == 3 / 5
    assert sum(found.share(word) for word in found.counts) == pytest.approx(1)
    assert found.share("sea") == fit_frequencies([], "none").share("sea") == 0
