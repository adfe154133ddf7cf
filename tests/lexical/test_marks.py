"""Names, numbers and negations are found in what people write."""

import pytest

from firth.lexical.marks import Mark, marks_of, names_in


@pytest.mark.parametrize(
    ("text", "name", "number", "negation"),
    [
        ("The mayor of New York met Mr. O'Neill's 2 sons.", "new york mr o neill", "2", ""),
        ("Nobody won't say so without her.", "", "", "nobody won without"),
        ("Twelve men can\u2019t row, I think; nor can three.", "", "twelve three", "can nor"),
        ("He left. Then Anna came.", "anna", "", ""),
        ("B52s and 3.5 % of all", "", "b52s 3 5", ""),
        ("all is small", "", "", ""),
        ("", "", "", ""),
    ],
)
def test_marks(text: str, name: str, number: str, negation: str) -> None:
    """By capitals inside a sentence, digits and small numerals, and a closed list."""
    found = marks_of(text)
    for mark, words in ((Mark.NAME, name), (Mark.NUMBER, number), (Mark.NEGATION, negation)):
        assert {word for word, of in found.items() if of is mark} == set(words.split()), mark


def test_a_known_name_is_one_at_the_beginning_too() -> None:
    """Words that texts write with a capital within sentences; others there are none, as before."""
    texts = ["We saw Paris.", "He left Paris in May.", "You may go.", "May we go? They may."]
    names = names_in(texts)
    assert names == {"paris"}
    sentence = "Paris fell. May it rise. Storms came."
    assert marks_of(sentence, names) == {"paris": Mark.NAME}
    assert marks_of(sentence) == {}
