"""A small run and tiny models of every kind, made here: none of them is downloaded."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.encoders.conftest import tiny_bert, tiny_llm  # noqa: F401

from firth.corpus.build import build_corpus
from firth.corpus.tokenizer import build_tokenizer
from firth.encoders.static import write_static
from firth.encoders.words import build_words
from firth.evaluation.questions import build_questions
from firth.run.run import Run
from firth.run.settings import Settings
from firth.scorer.blend import build_blend

TOPICS = {
    line.split()[0]: line.split()[1:]
    for line in (
        "sea ship harbor wave sailor storm sail captain anchor island tide",
        "farm farmer field wheat plow cow barn harvest tractor seed meadow",
        "court judge lawyer trial jury witness verdict appeal court law crime",
        "music singer song violin concert piano melody orchestra choir drum stage",
        "verbs saw met left found watched reached followed praised feared remembered",
    )
}
VERBS = TOPICS.pop("verbs")
NOUNS = [noun for nouns in TOPICS.values() for noun in nouns]
SETTINGS = {
    "corpus": {"held_out_fraction": 0.4},
    "words": {"min_count": 2, "dimensions": 16, "batch": 32, "epochs": 2},
    "questions": {"questions": 120, "distractors": 3},
    "distill": {"sentences": 400, "dimensions": 16, "layers": 1, "max_tokens": 32, "batch": 32},
    "adapt": {"steps": 6, "batch": 8},
}


def sentence(topic: str, rng: random.Random) -> str:
    """A sentence about a topic."""
    one, two, three = rng.sample(TOPICS[topic], 3)
    return f"The {one} {rng.choice(VERBS)} the {two} near the {three} of {rng.randint(2, 90)} men."


def documents(count: int = 80) -> list[dict[str, str]]:
    """Documents of one topic each, of two paragraphs of six sentences."""
    rng, records = random.Random(5), []
    for number in range(count):
        topic = list(TOPICS)[number % len(TOPICS)]
        paragraphs = [" ".join(sentence(topic, rng) for _ in range(6)) for _ in range(2)]
        title = f"About the {rng.choice(TOPICS[topic])}"
        records.append({"id": f"{topic}-{number}", "title": title, "text": "\n\n".join(paragraphs)})
    return records


@pytest.fixture(scope="session")
def session_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with corpus, words, questions and blend."""
    run = Run.create(tmp_path_factory.mktemp("runs") / "run", Settings.model_validate(SETTINGS))
    build_corpus(run, documents())
    build_tokenizer(run)
    build_words(run)
    build_questions(run)
    build_blend(run)
    return run


@pytest.fixture
def run(session_run: Run, tmp_path: Path) -> Run:
    """A copy of the run, in which a test may build."""
    shutil.copytree(session_run.path, tmp_path / "run")
    return Run.open(tmp_path / "run")


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static encoder whose words of one topic have similar vectors."""
    rng, folder = np.random.default_rng(3), tmp_path_factory.mktemp("static") / "words"
    centers = {topic: rng.standard_normal(12) for topic in TOPICS}
    rows = [centers[topic] + rng.standard_normal(12) for topic in TOPICS for _ in TOPICS[topic]]
    rows += [0.2 * rng.standard_normal(12) for _ in VERBS]
    write_static(folder, [*NOUNS, *VERBS], np.array(rows, np.float32))
    return folder


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write records as JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    """Pairs of sentences: 5 for one topic, 1 for two; three sources."""
    rng = random.Random(2)
    rows = []
    for number in range(90):
        one, two = (rng.choice(list(TOPICS)) for _ in range(2))
        two = one if number % 2 else two
        texts = [sentence(topic, rng) for topic in (one, two)]
        row = {"sentence1": texts[0], "sentence2": texts[1], "source": "abc"[number % 3]}
        rows.append(row | {"score": 5 if one == two else 1 + rng.random()})
    return write_rows(tmp_path / "scored.jsonl", rows)


@pytest.fixture
def inference(tmp_path: Path) -> Path:
    """Premises with an entailment, a neutral sentence and a contradiction each."""
    rng, rows = random.Random(3), []
    for _ in range(30):
        topic, other = rng.sample(list(TOPICS), 2)
        premise = sentence(topic, rng)
        for label, about in (("entailment", topic), ("neutral", other), ("contradiction", other)):
            row = {"sentence1": premise, "sentence2": sentence(about, rng), "label": label}
            rows.append(row)
    return write_rows(tmp_path / "inference.jsonl", rows)


@pytest.fixture
def triplets(tmp_path: Path) -> Path:
    """Anchors, sentences of their topic, and sentences of another; all splits."""
    rng, rows = random.Random(4), []
    for number in range(60):
        topic, other = rng.sample(list(TOPICS), 2)
        texts = [sentence(about, rng) for about in (topic, topic, other)]
        row = dict(zip(("anchor", "positive", "negative"), texts, strict=True))
        rows.append(row | {"split": ("train", "train", "train", "dev", "test")[number % 5]})
    return write_rows(tmp_path / "triplets.jsonl", rows)
