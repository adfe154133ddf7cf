"""No text makes a function of texts slow, or stays in memory (see also tests/model)."""

from collections.abc import Callable
from itertools import combinations_with_replacement

import pytest
from tests.conftest import grows

from firth.text.differences import differences
from firth.text.tokens import tokens_of
from firth.text.words import _LONGEST, _algorithm, stems

CLASSES = ("_", "a", "A", "1", ".", "'", " ", "n't")
WORDS = ("good", "bad", "one", "2", "only", "Ann", "Bob", "not", "xy", "7am")


def tokens(text: str) -> object:
    return [*tokens_of(text, "en")]


def reversed_words(text: str) -> object:
    return differences(text, " ".join(text.split()[::-1]) + " end", language="en")


@pytest.mark.parametrize(
    ("work", "parts"),
    [
        (tokens, ["".join(pair) for pair in combinations_with_replacement(CLASSES, 2)]),
        (reversed_words, [f"{a} {b} " for a, b in combinations_with_replacement(WORDS, 2)]),
    ],
)
def test_time_grows_with_the_length(work: Callable[[str], object], parts: list[str]) -> None:
    """Repeats of each two kinds of characters, and of each two kinds of words in another order."""

    # Eight times the text may take 24 times the time: a quadratic function takes 64 times.
    assert [part for part in parts if grows(work, part, 1_000, 8_000, 24)] == []


def test_a_long_word_has_no_stem_and_is_not_remembered() -> None:
    """A stem is remembered for each word of a language, which is never very long."""
    word = "going" * _LONGEST
    before = _algorithm("porter").cache_info().currsize  # type: ignore[attr-defined]
    assert stems([word, "going"], "porter") == [word, "go"]
    assert _algorithm("porter").cache_info().currsize <= before + 1  # type: ignore[attr-defined]
