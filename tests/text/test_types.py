"""`firth.text.types`: cosines of pairs, batches of rows."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from firth.text.types import CosineScorer, by_budget, numbered


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


@given(st.lists(st.integers(0, 29), max_size=40), st.integers(1, 90), st.integers(1, 9))
def test_batches_hold_each_row_once_within_the_budget(
    sizes: list[int], budget: int, most: int
) -> None:
    """Padded to its longest row, no batch of several exceeds the budget, and none has more rows."""
    lengths = np.array(sizes, np.int64)
    batches = [batch.tolist() for batch in by_budget(lengths, budget, most)]
    assert sorted(row for batch in batches for row in batch) == list(range(len(sizes)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(sizes[row] for row in batch) <= budget
        assert len(batch) <= most
    one = by_budget(np.zeros(9, np.int64), 9)
    assert [len(batch) for batch in one] == [9], "no limit of rows"
