"""`firth.text.types`: cosines of pairs, runs of rows."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.run.errors import InputError
from firth.text.types import CosineScorer, numbered, places, ranges, split_runs, starts, unit
from firth.text.words import checked


def test_each_distinct_text_is_encoded_once() -> None:
    """Scores are cosines, in the order of the pairs; a zero vector has cosine 0."""
    vectors = {"a": [1.0, 0.0], "b": [3.0, 4.0], "": [0.0, 0.0]}
    encoded: list[str] = []

    def encode(texts: Sequence[str]) -> np.ndarray:
        encoded.extend(texts)
        return np.array([vectors[text] for text in encoded])

    scores = CosineScorer("toy", encode).similarities([("a", "b"), ("b", "a"), ("a", "")])
    assert np.allclose(scores, [0.6, 0.6, 0.0])
    assert encoded == ["a", "b", ""]
    assert numbered([("a", "b"), ("b", "a")]) == (["a", "b"], [0, 1], [1, 0])


@pytest.mark.parametrize("bad", ["ab", ("a",), ("a", None)])
def test_what_is_no_pair_is_named(bad: object) -> None:
    with pytest.raises(InputError, match="pair 1"):
        checked([("a", "b"), bad])  # type: ignore[list-item]


@given(st.lists(st.integers(0, 5), max_size=8))
def test_runs_of_rows(lengths: list[int]) -> None:
    sizes = np.array(lengths, np.int64)
    values = np.arange(sizes.sum(), dtype=float)
    assert np.array_equal(ranges(starts(sizes), sizes), np.arange(sizes.sum()))
    parts = split_runs(values, sizes)
    assert [len(part) for part in parts] == lengths
    assert places(np.repeat(np.arange(len(sizes)), sizes)).tolist() == [
        i for n in lengths for i in range(n)
    ]


def test_scaling_keeps_directions() -> None:
    """Unit rows have length 1, and zero rows stay."""
    rows = np.random.default_rng(0).standard_normal((5, 64))
    rows[2] = 0
    assert np.allclose(np.linalg.norm(unit(rows), axis=1), [1, 1, 0, 1, 1])
