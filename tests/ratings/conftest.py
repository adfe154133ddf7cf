"""Questionnaires, simulated judgements and sentences for the tests of ratings."""

from pathlib import Path

import numpy as np
import pytest

from firth.ratings.answers import Judgements
from firth.ratings.design import design_tuples
from firth.ratings.records import Gold, Item, Tuple
from firth.ratings.store import Rules, Store
from firth.text.types import Floats, Ints


def simulate_judgements(
    truth: Floats, tuples: Ints, answers: int, noise: float, *, seed: int
) -> Judgements:
    """Let annotators answer who see each item at its true score plus noise (Thurstone 1927)."""
    rng = np.random.default_rng(seed)
    asked = np.repeat(np.arange(len(tuples)), answers)
    members, rows = tuples[asked], np.arange(len(asked))
    seen = truth[members] + noise * rng.standard_normal(members.shape)
    best, worst = members[rows, seen.argmax(axis=1)], members[rows, seen.argmin(axis=1)]
    return Judgements(tuple(map(str, range(len(truth)))), tuples, asked, best, worst)


def judged(
    items: int = 60, answers: int = 2, noise: float = 0.15, seed: int = 1, factor: float = 2.0
) -> Judgements:
    """Return the judgements of a simulated crowd."""
    truth = np.random.default_rng(3).permutation(np.arange(items) / (items - 1))
    tuples = design_tuples(items, factor=factor, seed=seed)
    return simulate_judgements(truth, tuples, answers, noise, seed=seed)


TEXTS = [f"sentence {number}" for number in range(23)] + ["<b>bold</b> & \"quoted\" 'text'"]
ITEMS = [Item(f"i{n:02}", (text, f"other {n}")) for n, text in enumerate(TEXTS)]
"""24 pairs of sentences, one of which looks like a page."""
TUPLES = [
    Tuple(f"t{n}", tuple(ITEMS[(n * 2 + k * 5) % 24].id for k in range(4))) for n in range(12)
]
GOLD = [Gold(one.id, one.items[0], one.items[-1]) for one in TUPLES[-3:]]
"""The last three tuples: the first item is the best, the last one the worst."""


def asking(path: Path, seed: int = 13, **rules: object) -> Store:
    """Begin or continue the questionnaire in a file, with changed rules."""
    changed = Rules.model_validate({"gold_every": 4, **rules})
    return Store.create(path, ITEMS, TUPLES, GOLD, rules=changed, seed=seed)


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """600 sentences of 3 to 30 words, frequent and rare ones, without repeats."""
    rng = np.random.default_rng(5)
    vocabulary = np.array([f"w{number}" for number in range(300)])
    chances = 1 / np.arange(1, 301)
    chances /= chances.sum()
    made = {
        " ".join(rng.choice(vocabulary, size=int(rng.integers(3, 31)), p=chances))
        for _ in range(600)
    }
    return sorted(made)


@pytest.fixture
def sentence_file(sentences: list[str], tmp_path: Path) -> Path:
    """The sentences, one on each line."""
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join(sentences), encoding="utf-8")
    return path
