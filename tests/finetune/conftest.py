"""Labelled rows whose labels can be learned, and tiny encoders to learn them."""

import csv
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tests.conftest import TOPICS, VERBS

from firth.surrogate.tokens import word_tokenizer

Write = Callable[..., Path]


def sentence(rng: random.Random, topic: str) -> str:
    """A made-up sentence of a topic."""
    one, two = rng.sample(TOPICS[topic], 2)
    return f"The {one} {rng.choice(VERBS)} the {two}."


def scored_rows(count: int, seed: int = 3) -> list[dict[str, object]]:
    """Pairs that score 4 within a topic, 1 across, and a little more or less."""
    rng, topics = random.Random(seed), list(TOPICS)
    rows = []
    for number in range(count):
        one = rng.choice(topics)
        two = one if number % 2 else rng.choice([t for t in topics if t != one])
        texts = sentence(rng, one), sentence(rng, two)
        score = (4.0 if one == two else 1.0) + rng.randint(-2, 2) / 2
        rows.append({"sentence1": texts[0], "sentence2": texts[1], "score": score, "topic": one})
    return rows


def inference_rows(count: int, seed: int = 3) -> list[dict[str, object]]:
    """Premises with all three labels: same topic, another one, a mixture."""
    rng, topics = random.Random(seed), list(TOPICS)
    rows: list[dict[str, object]] = []
    for _ in range(count):
        topic = rng.choice(topics)
        other = rng.choice([t for t in topics if t != topic])
        premise, mixed = sentence(rng, topic), rng.choice([topic, other])
        rows += [
            {"premise": premise, "hypothesis": sentence(rng, one), "gold_label": label}
            for one, label in ((topic, "entailment"), (mixed, "neutral"), (other, "contradiction"))
        ]
    return rows


def triplet_rows(count: int, seed: int = 3) -> list[dict[str, object]]:
    """Two sentences of a topic and one of another."""
    rng, topics = random.Random(seed), list(TOPICS)
    rows: list[dict[str, object]] = []
    for _ in range(count):
        topic = rng.choice(topics)
        other = rng.choice([t for t in topics if t != topic])
        named = {"anchor": topic, "positive": topic, "negative": other}
        rows.append({name: sentence(rng, one) for name, one in named.items()})
    return rows


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes rows to a CSV file."""

    def to_file(rows: Sequence[Mapping[str, object]], name: str = "mine.csv") -> Path:
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
        return tmp_path / name

    return to_file


@pytest.fixture(scope="session")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with random word vectors, of more words than any text has."""
    words = [*(noun for nouns in TOPICS.values() for noun in nouns), *VERBS, "the"]
    words += [f"unseen{number}" for number in range(50)]
    tokenizer = word_tokenizer(words)
    vectors = 0.2 * np.random.default_rng(2).standard_normal(
        (tokenizer.get_vocab_size(), 12), np.float32
    )
    folder = tmp_path_factory.mktemp("static") / "encoder"
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, vectors)], device="cpu").save(
        str(folder), create_model_card=False
    )
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, by its path inside."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
