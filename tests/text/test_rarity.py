"""`firth.text.rarity`: document frequencies and stop words."""

from pathlib import Path

import pytest

from firth.run.errors import InputError
from firth.text.rarity import IDF, Idf, fit_idf, is_letter, stop_words

SENTENCES = ["A ship sailed.", "A storm came.", "Ships sail, and ships sink."]


def test_weights_fall_with_frequency() -> None:
    """Each term counts once a sentence; an unknown one is the rarest."""
    idf = fit_idf(SENTENCES, "porter")
    assert idf.frequencies["ship"] == 2
    assert idf.weight("unseen") > idf.weight("storm") > idf.weight("ship") > 0
    assert idf.unknown("Ships like icebergs") == ["like", "icebergs"]


def test_saved_counts_are_the_same(tmp_path: Path) -> None:
    """Saving and loading changes nothing; a damaged file is an error that names it."""
    idf = fit_idf(SENTENCES, "porter")
    idf.save(tmp_path)
    assert Idf.load(tmp_path) == idf
    (tmp_path / IDF).write_text("{}")
    with pytest.raises(InputError, match=IDF):
        Idf.load(tmp_path)


def test_stop_words_of_other_languages_come_from_frequencies() -> None:
    """English words are stop words in English alone; frequent words are in any language."""
    german = fit_idf(["Der Hund bellt."] + 9 * ["Der Mond scheint."], "german")
    assert "der" in stop_words(german)
    assert "the" not in stop_words(german)
    assert "the" in stop_words(fit_idf(SENTENCES, "porter"))
    assert is_letter("s")
    assert is_letter("")
    assert not is_letter("ship")
