"""Finding texts: exactly what a plain comparison of all with all finds."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.evaluate import leakage
from firth.evaluate.leakage import Finder, Kind
from firth.lexical.words import normal_form

WORDS = ["a", "b", "c", "d", "The", "ship,", "sailed."]
TEXT = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)


def bigrams(text: str) -> set[tuple[str, str]]:
    return set(pairwise(normal_form(text).split()))


def jaccard(one: str, two: str) -> float:
    first, second = bigrams(one), bigrams(two)
    return len(first & second) / max(len(first | second), 1)


@settings(max_examples=150, deadline=None)
@given(
    texts=st.lists(TEXT, max_size=8),
    sentences=st.lists(TEXT, max_size=12),
    threshold=st.sampled_from([0.3, 0.5, 0.7, 1.0]),
)
def test_nothing_is_missed_and_nothing_made_up(
    texts: list[str], sentences: list[str], threshold: float
) -> None:
    """Equal to comparing every text with every sentence, best similarity first."""
    finder = Finder(texts, min_words=3, threshold=threshold)
    finder.read(sentences)
    found = {normal_form(match.text): match for match in finder.matches()}
    long = [s for s in sentences if len(normal_form(s).split()) >= 3]
    for text in texts:
        normal = normal_form(text)
        best = max((jaccard(text, s) for s in long), default=0.0)
        exact = any(normal_form(s) == normal for s in long)
        if len(normal.split()) < 3 or not (exact or best >= threshold - 1e-9):
            assert normal not in found
            continue
        match = found[normal]
        assert match.kind is (Kind.EXACT if exact else Kind.NEAR)
        assert match.similarity == pytest.approx(1.0 if exact else best)
        assert jaccard(text, match.sentence) == pytest.approx(match.similarity)


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """One block or many, one call or several: the same matches."""
    texts = ["the ship left the old harbour in a storm", "two cows stand in a wide green field"]
    sentences = [
        "The ship left the old harbour in a gale.",
        "The ship left the old harbour in a storm today.",
        "Two cows stand in a wide green field!",
        "Nothing of that kind was ever seen there.",
    ] * 3
    whole = Finder(texts)
    whole.read(sentences)
    monkeypatch.setattr(leakage, "_BLOCK", 2)
    parts = Finder(texts)
    for sentence in sentences:
        parts.read([sentence])
    assert whole.matches() == parts.matches()
    assert [match.kind for match in whole.matches()] == [Kind.NEAR, Kind.EXACT]
    assert "today" in whole.matches()[0].sentence, "premise: the nearest one is kept"


def test_short_texts_are_not_looked_for() -> None:
    """Nor empty ones, nor an empty list."""
    finder = Finder(["You don't have to.", "", "?!"])
    finder.read(["You don't have to.", ""])
    assert (len(finder), finder.matches()) == (0, [])
