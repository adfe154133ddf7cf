"""n-gram tf-idf: what Origin's sums of words are where nothing was learned."""

from pathlib import Path

import numpy as np

from firth.baselines.registry import open_baseline
from firth.origin.ensemble import EnsembleOrigin

PAIRS = [
    ("The ship reached the harbour.", "A sailor left the harbours in a storm."),
    ("The judge praised the lawyer.", "Unseen judgement, unseen lawyers."),
    ("", "The ship."),
    ("", ""),
]


def test_it_is_origin_without_anything_learned(tiny_run: Path) -> None:
    """With own directions so long that learned vectors count for nothing."""
    alone = {"sentences": 1, "words": 0}
    expected = EnsembleOrigin.open(tiny_run, own=1e6, weights=alone).similarities(PAIRS)
    found = open_baseline(f"baseline:tfidf-ngrams@{tiny_run}").similarities(PAIRS)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    learned = EnsembleOrigin.open(tiny_run, own=0.5, weights=alone).similarities(PAIRS)
    assert abs(learned - expected).max() > 0.01, "premise: something was learned"


def test_words_spelled_alike_meet() -> None:
    """What the stemmer leaves apart is nearer than what shares no letters, and less than equal."""
    near, far, same = open_baseline("baseline:tfidf-ngrams").similarities(
        [("Israel", "Israeli"), ("Israel", "storm"), ("Israel", "Israel")]
    )
    assert far == 0.0 < near < same == 1.0
