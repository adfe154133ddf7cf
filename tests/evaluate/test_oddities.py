"""Odd pairs are counted, and only odd ones."""

import pytest

from firth.evaluate.load import looks_tokenised, oddities
from firth.evaluate.rows import Row


@pytest.mark.parametrize(
    ("text", "tokenised"),
    [
        ("A man plays a flute .", True),
        ("He did n't go", True),
        ("the dog 's bone", True),
        ("`` yes ''", True),
        ("-LRB- sic -RRB-", True),
        ("A man plays a flute.", False),
        ("It costs .50 and rose 3.5, she said.", False),
        ("don't; the dog's bone", False),
        ("Well ... no", False),
        ("", False),
    ],
)
def test_tokenised_texts_are_told_by_their_blanks(text: str, tokenised: bool) -> None:
    """Blanks before punctuation and clitics; decimals, ellipses and contractions are ordinary."""
    assert looks_tokenised(text) is tokenised


def test_repeated_and_contradicting_pairs() -> None:
    """Whichever text comes first; a pair is compared with all before it."""
    rows = [Row(("a", "b"), 1.0), Row(("b", "a"), 1.0), Row(("a", "b"), 2.0), Row(("a", "b"), 2.0)]
    assert oddities(rows) == [
        "2 times a pair repeats an earlier one",
        "1 times a pair contradicts an earlier one (same texts, other score)",
    ]
    assert oddities(rows[:1]) == []
