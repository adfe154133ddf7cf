"""`firth.text.near`: near copies are all found."""

from itertools import combinations, pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.text.near import NEAR, Pairs, WordTable, are_near
from firth.text.words import normal_form

TEXT = st.lists(st.sampled_from("abcde"), max_size=9).map(" ".join)


def bigrams(text: str) -> set[tuple[str, str]]:
    """Pairs of consecutive words."""
    return set(pairwise(normal_form(text).split()))


@given(st.lists(TEXT, max_size=12), st.sampled_from((0.3, NEAR, 1.0)))
def test_all_near_copies_are_found(texts: list[str], threshold: float) -> None:
    """The pairs are those of comparing every text with every other."""
    table = WordTable([texts[:3], texts[3:]], min_words=2)
    forms = [normal_form(text) for text in texts]
    distinct = [
        i for i, form in enumerate(forms) if len(form.split()) > 1 and form not in forms[:i]
    ]
    assert table.distinct().tolist() == distinct
    expected = {}
    for i, j in combinations(distinct, 2):
        a, b = bigrams(texts[i]), bigrams(texts[j])
        if (score := len(a & b) / len(a | b)) >= threshold:
            expected[i, j] = score
    with patch("firth.text.near.NEAR", threshold):
        pairs, first = table.near(), table.near(before=3)
        words = {i: forms[i].split() for i in distinct}
        close = [(i, j) for i, j in combinations(distinct, 2) if are_near(words[i], words[j])]
    hits = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
    assert dict(zip(hits, pairs.scores.tolist(), strict=True)) == pytest.approx(expected)
    assert sorted(expected) == [*expected]
    assert close == [*expected]
    assert first.left.tolist() == [left for left, _ in expected if left < 3]


def test_repeats_have_the_same_words() -> None:
    """Case and punctuation do not count, and short texts repeat nothing."""
    table = WordTable([["The ship sailed.", "Yes.", "the SHIP sailed", "yes", "a the ship"]], 2)
    assert table.repeats() == {0: [2]}
    assert table.distinct().tolist() == [0, 4]
    assert table.long.tolist() == [True, False, True, False, True]


def test_renumbered_pairs_stay_ordered() -> None:
    """Left is below right under any numbers."""
    pairs = Pairs(np.array([0, 1]), np.array([2, 2]), np.array([0.5, 0.6], np.float32), 0.5)
    again = pairs.renumbered(np.array([9, 4, 6]))
    assert [*zip(again.left.tolist(), again.right.tolist(), strict=True)] == [(4, 6), (6, 9)]
    assert again.scores.tolist() == pytest.approx([0.6, 0.5])
