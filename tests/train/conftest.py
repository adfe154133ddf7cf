"""A run over toy documents, a static encoder whose words are known, and files of labels."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import toy_documents
from tests.encoders.conftest import tiny_bert  # noqa: F401

from firth.corpus.build import build_corpus
from firth.encoders.static import write_static
from firth.encoders.words import build_words
from firth.evaluation.questions import build_questions
from firth.run.run import Run
from firth.run.settings import Settings

TOPICS = {
    "sea": ["ship", "harbor", "wave", "sailor", "storm", "sail", "captain", "anchor", "island"],
    "farm": ["farmer", "field", "wheat", "plow", "cow", "barn", "harvest", "tractor", "seed"],
    "court": ["judge", "lawyer", "trial", "jury", "witness", "verdict", "appeal", "court", "law"],
}
NOUNS = [noun for nouns in TOPICS.values() for noun in nouns]
VERBS = ["saw", "met", "left", "found", "watched", "reached", "followed", "praised", "feared"]
SETTINGS = {
    "corpus": {"held_out_fraction": 0.4},
    "words": {"min_count": 2, "dimensions": 16, "batch": 32, "epochs": 2},
    "questions": {"questions": 120, "distractors": 3},
    "static": {"dimensions": 16},
}


def sentence(topic: str, rng: random.Random) -> str:
    """A sentence about a topic."""
    one, two, three = rng.sample(TOPICS[topic], 3)
    return f"The {one} {rng.choice(VERBS)} the {two} near the {three} of {rng.randint(2, 90)} men."


@pytest.fixture(scope="session")
def session_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with corpus, words and questions."""
    run = Run.create(tmp_path_factory.mktemp("runs") / "run", Settings.model_validate(SETTINGS))
    build_corpus(run, toy_documents(100))
    build_words(run)
    build_questions(run)
    return run


@pytest.fixture
def run(session_run: Run, tmp_path: Path) -> Run:
    """A copy of the run, in which a test may build."""
    return Run.open(shutil.copytree(session_run.path, tmp_path / "run"))


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static encoder whose words of one topic have similar vectors."""
    rng, folder = np.random.default_rng(3), tmp_path_factory.mktemp("static") / "words"
    centers = {topic: rng.standard_normal(12) for topic in TOPICS}
    rows = [centers[topic] + rng.standard_normal(12) for topic in TOPICS for _ in TOPICS[topic]]
    rows += [0.2 * rng.standard_normal(12) for _ in VERBS]
    write_static(folder, [*NOUNS, *VERBS], np.array(rows, np.float32))
    return folder


def write_rows(path: Path, texts: list[list[str]], names: str, **more: list[Any]) -> Path:
    """Write rows of texts and further columns as JSON Lines."""
    columns = dict(zip(names.split(), zip(*texts, strict=True), strict=True)) | more
    rows = zip(*columns.values(), strict=True)
    lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    """Pairs of sentences: 5 for one topic, 1 to 2 for two; three sources."""
    rng, topics = random.Random(2), list(TOPICS)
    pairs = [(one := rng.choice(topics), one if n % 2 else rng.choice(topics)) for n in range(90)]
    texts = [[sentence(topic, rng) for topic in pair] for pair in pairs]
    scores = [5 if one == two else 1 + rng.random() for one, two in pairs]
    path = tmp_path / "scored.jsonl"
    return write_rows(path, texts, "sentence1 sentence2", score=scores, source=[*"abc"] * 30)


@pytest.fixture
def inference(tmp_path: Path) -> Path:
    """Premises with an entailment, a neutral sentence and a contradiction each."""
    rng, texts = random.Random(3), []
    for _ in range(30):
        topic, other = rng.sample(list(TOPICS), 2)
        premise = sentence(topic, rng)
        texts += [[premise, sentence(about, rng)] for about in (topic, other, other)]
    path, labels = tmp_path / "inference.jsonl", ["entailment", "neutral", "contradiction"] * 30
    return write_rows(path, texts, "sentence1 sentence2", label=labels)


@pytest.fixture
def triplets(tmp_path: Path) -> Path:
    """Anchors, sentences of their topic, and sentences of another; all splits."""
    rng, texts = random.Random(4), []
    for _ in range(60):
        topic, other = rng.sample(list(TOPICS), 2)
        texts.append([sentence(about, rng) for about in (topic, topic, other)])
    path, splits = tmp_path / "triplets.jsonl", ["train", "train", "train", "dev", "test"] * 12
    return write_rows(path, texts, "anchor positive negative", split=splits)
