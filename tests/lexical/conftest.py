"""Corpora small enough to count by hand."""

import random

import pytest

WORDS = "a the ship sea storm sailed left harbour red old captain it was and of"


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """300 made-up sentences over fifteen words, some words far more frequent than others."""
    rng = random.Random(3)
    words = WORDS.split()
    weights = [1 / (rank + 1) for rank in range(len(words))]
    return [" ".join(rng.choices(words, weights, k=rng.randint(1, 12))) for _ in range(300)]
