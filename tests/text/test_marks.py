"""`firth.text.marks`: names, numbers and negations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.text.marks import (
    Mark,
    marks_of,
    names_in,
    number_difference_matrix,
    number_differences,
    numbers_in,
)

WORDS = st.lists(st.sampled_from(["two", "2", "3", "1,000", "1000", "men", "ten"]), max_size=5)
TEXTS = st.lists(WORDS.map(" ".join), min_size=1, max_size=6)


@given(TEXTS)
def test_the_matrix_has_the_differences_of_all_pairs(texts: list[str]) -> None:
    """Pair by pair and all at once give the same; no text differs from itself."""
    matrix = number_difference_matrix(texts, "en")
    pairs = [(a, b) for a in texts for b in texts]
    assert np.allclose(matrix.ravel(), number_differences(pairs, "en"))
    assert np.allclose(matrix, matrix.T)
    assert not np.diag(matrix).any()


def test_numerals_equal_digits() -> None:
    """Spelled numbers, thousands separators and digits inside words are numbers."""
    numbers = numbers_in("In 1984 two men paid 1,000 for the B52s.", "en")
    assert numbers == {"1984", "2", "1000", "52"}
    assert not number_differences([("4 killed", "four dead"), ("4 killed", "dead")], "en").any()


@pytest.mark.parametrize(
    ("text", "word", "mark"),
    [
        ("They saw Bath.", "bath", Mark.NAME),
        ("They didn't row.", "didn", Mark.NEGATION),
        ("They never row.", "never", Mark.NEGATION),
        ("Twelve row.", "twelve", Mark.NUMBER),
        ("Rowing is hard.", "rowing", None),
    ],
)
def test_marks(text: str, word: str, mark: Mark | None) -> None:
    """A capital that opens a sentence makes no name."""
    assert marks_of(text, "en").get(word) == mark


def test_known_names_count_where_a_sentence_opens() -> None:
    """A word that is usually capitalised is a name at the beginning of a sentence, too."""
    names = names_in(["She met Bath.", "They like Bath."])
    assert names == {"bath"}
    assert marks_of("Bath is old.", "en", names)["bath"] is Mark.NAME
    assert "bath" not in marks_of("Bath is old.", "en")


def test_marks_of_other_languages() -> None:
    """Numerals and negations follow the language; numbers never differ where it is unknown."""
    assert marks_of("Drei kamen nicht.", "de") == {"drei": Mark.NUMBER, "nicht": Mark.NEGATION}
    pairs = [("drei da", "3 hier"), ("drei da", "4 hier")]
    assert number_differences(pairs, "de").tolist() == [0, 1]
    assert number_differences([("3 da", "4 hier")], "ha").tolist() == [0]
    assert not marks_of("Der Hund sah Bath.", "de")  # German nouns have capitals
    assert marks_of("Они видели Москву.", "ru") == {"москву": Mark.NAME}
