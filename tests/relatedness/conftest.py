"""Scored pairs made up for the tests."""

import random
from pathlib import Path

import pytest

from firth.evaluate.rows import EvaluationSet
from firth.relatedness.scored import load_pairs

NOUNS = ("ship", "harbour", "wave", "judge", "lawyer", "trial", "cow", "barn", "field")


def write_pairs(path: Path, rows: int, seed: int = 4) -> Path:
    """Pairs of three domains, scored by their words in common and some noise."""
    rng = random.Random(seed)
    text = "sentence1\tsentence2\tscore\tsubtask\n"
    for number in range(rows):
        one, two = (" ".join(rng.sample(NOUNS, rng.randint(2, 4))) for _ in range(2))
        common = len({*one.split()} & {*two.split()}) / len({*one.split()} | {*two.split()})
        domain = ("sea", "farm", "court")[number % 3]
        text += f"the {one} {number}\tthe {two}\t{5 * common + rng.random():.3f}\t{domain}\n"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def pairs_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """36 pairs."""
    return write_pairs(tmp_path_factory.mktemp("scored") / "pairs.tsv", 36)


@pytest.fixture(scope="module")
def scored(pairs_file: Path) -> EvaluationSet:
    """The same, loaded."""
    return load_pairs(pairs_file)
