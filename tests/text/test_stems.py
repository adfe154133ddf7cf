"""`firth.text.stems`: n-grams and their cosines, document frequencies, stop words."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from firth.text.stems import _SYLLABIC, fit_idf, gram_table, stop_words
from firth.text.words import is_letter

SENTENCES = ["A ship sailed.", "A storm came.", "Ships sail, and ships sink."]
CHARACTERS = st.characters(codec="utf-8") | st.sampled_from("abc\u1230\u120b\u121d\uac00\ub098")
STEMS = st.lists(st.text(CHARACTERS, max_size=12), max_size=8, unique=True)


def ngrams(stem: str) -> set[str]:
    """The n-grams of `<stem>`: 3 to 5 characters, 1 to 3 in a syllabary; with a digit it is one."""
    framed = f"<{stem}>"
    has_digit = any(c.isdigit() for c in stem)
    sizes = (1, 2, 3) if _SYLLABIC.search(stem) else (3, 4, 5)
    grams = {framed[i : i + n] for n in sizes for i in range(len(framed) - n + 1)}
    return {framed} if has_digit or not grams else grams - {"<", ">"}


@given(STEMS)
def test_the_table_holds_the_ngrams(stems: list[str]) -> None:
    """Rows of the table share as many columns as their stems share n-grams."""
    table = gram_table(stems)
    shared = (table @ table.T).toarray()
    for i, a in enumerate(stems):
        for j, b in enumerate(stems):
            assert shared[i, j] == len(ngrams(a) & ngrams(b))


def test_letters_of_a_syllabary_count_by_themselves() -> None:
    """Two Amharic or Korean words that share one syllable are partly alike; Latin ones are not."""

    def are_alike(a: str, b: str) -> bool:
        table = gram_table([a, b])
        return bool((table[[0]] @ table[[1]].T).nnz)

    assert are_alike("\u1230\u120b\u121d", "\u1230\u12cd")
    assert are_alike("\ud559\uad50", "\ud559\uc0dd")
    assert not are_alike("sam", "set")
    # Nothing but the ends of words is shared.
    assert not are_alike("\u1230\u120b\u121d", "\u12cd")


def test_an_article_that_is_written_with_its_word_counts_less() -> None:
    """What most sentences have says little; numbers keep their one n-gram."""
    words = [3 * chr(code) for code in range(ord("b"), ord("y"))]
    common = fit_idf([f"al{word} 1984" for word in words], "none").common_grams

    def cosine(first: str, second: str, weights: object) -> float:
        table = gram_table([first, second], weights)  # type: ignore[arg-type]
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
