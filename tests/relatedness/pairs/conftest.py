"""Sentences over few words, so that overlaps of every size occur."""

import random
from pathlib import Path

import pytest

from firth.lexical.words import words

VOCABULARY = words(
    """the a of and ship harbour wave sailor storm sail captain anchor island tide farmer field
    wheat plough cow barn harvest tractor seed meadow judge lawyer trial jury witness verdict"""
)


def made_up(count: int, seed: int = 3) -> list[str]:
    """Distinct sentences of 3 to 30 words; frequent words first in the vocabulary, as in life."""
    rng = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(VOCABULARY))]
    found: dict[str, None] = {}
    while len(found) < count:
        chosen = rng.choices(VOCABULARY, weights, k=rng.randint(3, 30))
        found[" ".join(chosen).capitalize() + "."] = None
    return list(found)


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """400 sentences."""
    return made_up(400)


@pytest.fixture(scope="session")
def sentence_file(sentences: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, one a line."""
    path = tmp_path_factory.mktemp("sentences") / "sentences.txt"
    path.write_text("\n".join(sentences) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def pair_file(sentences: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 pairs with scores 0 to 5 in steps of a quarter."""
    rng = random.Random(8)
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    lines = ["sentence1\tsentence2\tscore"]
    for number in range(200):
        score = rng.randint(0, 20) / 4
        lines.append(f"{sentences[2 * number]}\t{sentences[2 * number + 1]}\t{score}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
