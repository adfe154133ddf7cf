"""Stop words are what says nothing, in any language."""

from firth.lexical.stop_words import is_letter, stop_words
from firth.lexical.tfidf import Idf, fit_idf
from firth.lexical.words import Stemmer, stems


def test_a_list_and_what_every_tenth_sentence_has() -> None:
    """English words at any frequency; others by frequency; telling words of the list never."""
    texts = ["la mer est la", "le roi", "the fire"] + 27 * ["la nuit"]
    found = stop_words(fit_idf(texts, "30 sentences", Stemmer.NONE))
    assert {"the", "of", "because", "la", "nuit"} <= found
    assert not {"fire", "bill", "system", "mer", "roi"} & found


def test_a_small_corpus_is_about_something() -> None:
    """Of a few sentences, one is no habit."""
    found = stop_words(Idf({"ship": 2, "the": 9}, 9, "nine sentences", Stemmer.PORTER))
    assert "ship" not in found


def test_letters() -> None:
    """What is left of *'s*; digits and other alphabets count."""
    assert is_letter("s")
    assert all(map(is_letter, stems(["s", "t"], Stemmer.PORTER)))
    assert not any(map(is_letter, ("3", "st", "水")))
