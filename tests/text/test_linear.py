"""No text makes a function of texts slow, or stays in memory."""

from collections.abc import Callable
from itertools import combinations_with_replacement
from time import process_time

import pytest

from firth.text.differences import differences
from firth.text.marks import marks_of, names_in, numbers_in
from firth.text.sentences import split_paragraphs
from firth.text.words import _LONGEST, _algorithm, normal_form, stemmer_of, stems, stems_of

CLASSES = ("_", "a", "A", "1", ".", "-", "'", " ", "\n", "(", "\u5b57", "n't")
SHORT, LONG, FACTOR, TRIES = 1_000, 8_000, 24, 3
"""Eight times the text may take 24 times the time: a quadratic function takes 64 times."""
SURE = 0.05
"""Seconds of processor time below which nothing is slow."""
WORKS: dict[str, Callable[[str, str], object]] = {
    "differences": lambda text, language: differences(text, f"{text[::-1]}x", language=language),
    "marks": lambda text, language: (marks_of(text, language), numbers_in(text, language)),
    "names": lambda text, _: names_in([text]),
    "sentences": split_paragraphs,
    "words": lambda text, language: (normal_form(text), stems_of(text, stemmer_of(language))),
}


def seconds(work: Callable[[str, str], object], text: str, language: str) -> float:
    """Return the processor time of one call."""
    began = process_time()
    work(text, language)
    return process_time() - began


@pytest.mark.parametrize("name", WORKS)
def test_time_grows_with_the_length(name: str) -> None:
    """Repeats of each kind of character, and of each two, take time that is linear in them."""
    work, language = WORKS[name], "en"
    slow = []
    for pair in combinations_with_replacement(CLASSES, 2):
        text = "".join(pair) * LONG
        if seconds(work, text[:LONG], language) < SURE:
            continue
        ratios = (
            seconds(work, text[:LONG], language) / seconds(work, text[:SHORT], language)
            for _ in range(TRIES)
        )
        if all(ratio > FACTOR for ratio in ratios):
            slow.append(pair)
    assert slow == []


def test_a_long_word_has_no_stem_and_is_not_remembered() -> None:
    """A stem is remembered for each word of a language, which is never very long."""
    word = "going" * _LONGEST
    before = _algorithm("porter").cache_info().currsize  # type: ignore[attr-defined]
    assert stems([word, "going"], "porter") == [word, "go"]
    assert _algorithm("porter").cache_info().currsize <= before + 1  # type: ignore[attr-defined]
