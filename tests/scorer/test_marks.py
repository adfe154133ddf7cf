"""Names, numbers and negations of a text."""

import pytest

from firth.scorer.contexts import names_in
from firth.scorer.matches import marks_of
from firth.scorer.parts import Mark


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
    """Numerals and negations follow the language."""
    assert marks_of("Drei kamen nicht.", "de") == {"drei": Mark.NUMBER, "nicht": Mark.NEGATION}
    assert not marks_of("Der Hund sah Bath.", "de")  # German nouns have capitals
    assert marks_of("Они видели Москву.", "ru") == {"москву": Mark.NAME}
