"""Dice against its definition, and as a measure."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.baselines.dice import Dice

texts = st.text(alphabet=st.sampled_from("aAbB cé1,.'-\u0130ß"), max_size=20)


def one(a: str, b: str) -> float:
    """Dice of one pair."""
    return float(Dice().similarities([(a, b)])[0])


def by_definition(a: str, b: str) -> float:
    """The same with nothing of firth in it."""
    left, right = (set(re.findall(r"\w+", text.lower())) for text in (a, b))
    if not left and not right:
        return 1.0
    return 2 * len([word for word in left if word in right]) / (len(left) + len(right))


@given(texts, texts)
def test_dice_is_its_definition(a: str, b: str) -> None:
    """2·|A ∩ B| / (|A| + |B|) over lowercased word sets, symmetric and in [0, 1]."""
    assert one(a, b) == by_definition(a, b) == one(b, a)
    assert 0 <= one(a, b) <= 1


@given(texts)
def test_identical_texts_have_dice_one(text: str) -> None:
    """A text is as similar to itself as can be, even one without any word."""
    assert one(text, text) == 1


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("The cat sat", "the CAT, sat!", 1.0),  # case and punctuation do not count
        ("to be or not to be", "to be", 2 * 2 / (4 + 2)),  # sets: a repeated word counts once
        ("ships", "ship", 0.0),  # no stemming
        ("don't", "don t", 1.0),  # an apostrophe separates
        ("...", "word", 0.0),
        ("...", "", 1.0),
    ],
)
def test_what_counts_as_a_shared_word(a: str, b: str, expected: float) -> None:
    """Words are runs of letters, digits and underscores, lowercased, as a set."""
    assert one(a, b) == pytest.approx(expected)


def test_no_pairs_give_no_scores() -> None:
    """An empty batch is a batch."""
    assert Dice().similarities([]).shape == (0,)
    assert Dice().similarities([]).dtype == np.float64
