"""Sentences of so many words, against all of them in memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpus.of_length import OfLength


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 50), st.data())
def test_equals_looking_at_all(counts: list[int], block: int, data: st.DataObject) -> None:
    """Their number, all of them, and those at any places, in any order, repeats included."""
    words = np.array(counts, np.int32)
    expected = np.flatnonzero((words >= 3) & (words <= 6))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("firth.corpus.of_length._BLOCK", block)
        found = OfLength(words, 3, 6)
        assert len(found) == len(expected)
        assert [n for some in found.blocks() for n in some.tolist()] == expected.tolist()
        some = st.integers(0, len(expected) - 1) if len(expected) else st.nothing()
        places = np.array(data.draw(st.lists(some)), np.int64)
        assert found[places].tolist() == expected[places].tolist()
