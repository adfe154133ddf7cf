"""`firth.text.stems`: n-grams and their cosines, document frequencies, stop words."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from firth.text.stems import fit_idf, gram_table, is_letter, spelling_cosines, stop_words

SENTENCES = ["A ship sailed.", "A storm came.", "Ships sail, and ships sink."]
STEMS = st.lists(st.text(st.characters(codec="utf-8"), max_size=12), max_size=8, unique=True)


def ngrams(stem: str) -> set[str]:
    """The n-grams of `<stem>`, of 3 to 5 characters; a stem with a digit is one."""
    framed = f"<{stem}>"
    whole = any(c.isdigit() for c in stem)
    grams = {framed[i : i + n] for n in (3, 4, 5) for i in range(len(framed) - n + 1)}
    return {framed} if whole or not grams else grams


@given(STEMS)
def test_the_table_holds_the_ngrams(stems: list[str]) -> None:
    """Rows of the table share as many columns as their stems share n-grams."""
    table = gram_table(stems)
    shared = (table @ table.T).toarray()
    for i, one in enumerate(stems):
        for j, two in enumerate(stems):
            assert shared[i, j] == len(ngrams(one) & ngrams(two))


@given(STEMS, STEMS)
def test_cosines_are_symmetric_and_one_for_equal_stems(one: list[str], two: list[str]) -> None:
    """Cosines lie in [0, 1], do not depend on the order, and are 1 for a stem and itself."""
    cosines = spelling_cosines(one, two)
    assert np.array_equal(cosines, spelling_cosines(two, one).T)
    assert (cosines >= 0).all()
    assert (cosines <= 1 + 1e-12).all()
    for i, stem in enumerate(one):
        assert stem not in two or np.isclose(cosines[i, two.index(stem)], 1)


def test_related_forms_are_partly_alike_and_numbers_are_not() -> None:
    assert spelling_cosines(["israel"], ["israeli"])[0, 0] > 0.5
    assert spelling_cosines(["1984"], ["1985"])[0, 0] == 0


def test_an_article_that_is_written_with_its_word_counts_less() -> None:
    """What most sentences have says little; numbers keep their one n-gram."""
    others = [3 * chr(code) for code in range(ord("b"), ord("y"))]
    common = fit_idf([f"al{other} 1984" for other in others], "none").common_grams

    def cosine(one: str, two: str, weights: object) -> float:
        table = gram_table([one, two], weights)  # type: ignore[arg-type]
        a, b = table.toarray()
        return float(a @ b / np.sqrt((a @ a) * (b @ b)))

    assert cosine("alkitab", "alqalam", common) < 0.5 * cosine("alkitab", "alqalam", None)
    assert cosine("alkitab", "kitab", common) > cosine("alkitab", "kitab", None)
    assert cosine("1984", "1985", common) == 0


def test_weights_fall_with_frequency() -> None:
    """Each term counts once a sentence; an unknown one is the rarest."""
    idf = fit_idf(SENTENCES, "porter")
    assert idf.frequencies["ship"] == 2
    assert idf.weight("unseen") > idf.weight("storm") > idf.weight("ship") > 0


def test_stop_words_of_other_languages_come_from_frequencies() -> None:
    """English words are stop words in English alone; frequent words are in any language."""
    german = fit_idf(["Der Hund bellt."] + 9 * ["Der Mond scheint."], "german")
    assert "der" in stop_words(german)
    assert "the" not in stop_words(german)
    assert "the" in stop_words(fit_idf(SENTENCES, "porter"))
    assert is_letter("s")
    assert is_letter("")
    assert not is_letter("ship")
