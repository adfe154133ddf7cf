"""Numbers are found in what people write, and compared as sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.lexical.numbers import all_differing, differing, numbers_in

TEXT = st.lists(
    st.sampled_from(["ship", "4", "four", "23", "1,000", "1000", "2.5", "B52", "Twelve", "%"]),
    max_size=6,
).map(" ".join)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ""),
        ("No ship left.", ""),
        ("Four of 23 left", "4 23"),
        ("1,000 and 1000 and 12,345,678", "1000 12345678"),
        ("0.39% is not 1,5", "0 39 1 5"),
        ("in the 1990s, by B52s, the 5th; 3,0000", "1990 52 5 3 0000"),
        ("one none tenth", ""),
        ("TWELVE men", "12"),
        ("٣ ships", "٣"),
    ],
)
def test_numbers(text: str, found: str) -> None:
    """Digits wherever they stand, commas of thousands aside, and numerals whatever their case."""
    assert numbers_in(text) == set(found.split())


@given(one=TEXT, two=TEXT)
def test_a_share_of_what_both_name(one: str, two: str) -> None:
    """Jaccard's distance where both name numbers, else 0; symmetric; 0 of a text with itself."""
    a, b = numbers_in(one), numbers_in(two)
    found, turned, same = differing([(one, two), (two, one), (one, one)])
    wanted = 1 - len(a & b) / len(a | b) if a and b else 0.0
    assert found == turned == pytest.approx(wanted)
    assert same == 0


@given(texts=st.lists(TEXT, max_size=7))
def test_all_at_once_are_all_pairs(texts: list[str]) -> None:
    """Whatever the texts, and none."""
    pairs = [(one, two) for one in texts for two in texts]
    wanted = differing(pairs).reshape(len(texts), len(texts))
    np.testing.assert_allclose(all_differing(texts), wanted, atol=1e-12)
