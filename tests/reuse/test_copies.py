"""Copies by words: the same as by comparing all, and as `firth leakage` finds."""

import random
from itertools import combinations, pairwise

import pytest

from firth.evaluate.leakage import Finder, Kind
from firth.lexical.words import normal_form
from firth.reuse.copies import NEAR, Forms


def texts(n: int = 120, seed: int = 3) -> list[str]:
    """Random texts of few words, many of them edited copies of others."""
    rng = random.Random(seed)
    words = [f"w{number}" for number in range(30)]
    found = [" ".join(rng.choices(words, k=rng.randint(4, 14))) for _ in range(n // 2)]
    while len(found) < n:
        edited = rng.choice(found).split()
        for _ in range(rng.randint(0, 3)):
            edited[rng.randrange(len(edited))] = rng.choice(words)
        found.append(" ".join(edited).capitalize() + ".")
    return found


def bigrams(text: str) -> set[tuple[str, str]]:
    return {*pairwise(normal_form(text).split())}


@pytest.mark.parametrize("threshold", [0.4, NEAR, 1.0])
def test_near_pairs_are_those_of_comparing_all(threshold: float) -> None:
    """Prefix filtering misses nothing."""
    given = texts()
    forms = Forms([given[:50], given[50:]], min_words=6)
    expected = {}
    for i, j in combinations(forms.distinct().tolist(), 2):
        one, two = bigrams(given[i]), bigrams(given[j])
        if (jaccard := len(one & two) / len(one | two)) >= threshold:
            expected[i, j] = jaccard
    found = forms.near(threshold)
    pairs = [*zip(found.left.tolist(), found.right.tolist(), strict=True)]
    assert sorted(expected) == pairs
    assert found.scores.tolist() == pytest.approx([expected[pair] for pair in pairs])
    assert threshold == 1 or len(pairs) >= 10


def test_near_copies_are_those_of_leakage() -> None:
    """A text that the other command finds in the others has a near copy here, and the other way."""
    given = texts()
    forms = Forms([given], min_words=6)
    found = forms.near()
    paired = {*found.left.tolist(), *found.right.tolist()}
    for number in forms.distinct().tolist():
        finder = Finder([given[number]], min_words=6)
        finder.read(given[other] for other in forms.distinct().tolist() if other != number)
        assert bool(finder.matches()) == (number in paired)
        assert all(match.kind is Kind.NEAR for match in finder.matches())


def test_the_same_words_are_one_text() -> None:
    """Repetitions are listed under the first; short texts are not."""
    given = ["The ship left the old harbour.", "It rained.", "the ship left, the old harbour!",
             "It rained.", "A cow saw the small red barn."]  # fmt: skip
    forms = Forms([given], min_words=6)
    assert forms.repeats() == {0: [2]}
    assert forms.distinct().tolist() == [0, 4]
    assert forms.first.tolist() == [0, 1, 0, 1, 4]


def test_no_text_has_no_copy() -> None:
    """Nothing, and nothing long enough."""
    for given in ([], ["It rained."], ["", "***"]):
        forms = Forms([given], min_words=6)
        assert len(forms.near()) == 0
        assert forms.repeats() == {}
