"""`firth.text.types`: cosines of pairs, runs of rows."""

from collections.abc import Sequence

import numpy as np

from firth.text.types import CosineScorer, numbered


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
