"""A tiny corpus, and runs of the paper's method over it that are built once."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.scorer.conftest import TOPICS, sentence

from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.paper.origin import build_deviations
from firth.paper.retrieve import build_index
from firth.paper.tokens import Context, Pairs
from firth.paper.train_coherence import train_coherence
from firth.paper.train_generator import train_generator
from firth.run.run import Run
from firth.run.settings import parse_settings
from firth.train.tokenizer import build_tokenizer

SMALL: dict[str, Any] = {
    "window": 2,
    "precision": "float32",
    "retrieve": {"chunks": 50, "chunk_sentences": 2},
    "coherence": {
        "hidden": 12, "batch": 24, "passes": 1, "max_tokens": 24, "dropout": 0.1,
    },
    "generator": {
        "layers": 2, "width": 32, "passes": 2.2, "batch_tokens": 1200, "max_tokens": 24,
        "learning_rate": 0.01,
    },
    "contexts": {"size": 4, "shortlist": 8},
    "fits": {"weights": {"coherence": 1, "sentence": 1, "left": 1, "right": 1}},
    "harvest": {"pairs": 60, "shard_pairs": 12},
    "surrogate": {"dimensions": 32, "layers": 1, "epochs": 1, "batch": 8},
}  # fmt: skip

SENTENCES = [
    "The sailor saw the ship near the harbour.",
    "The judge praised the lawyer near the court.",
    "A wave!",
    "The sailor saw the ship near the harbour.",
    "The farmer followed the cow, the tractor, the seed and the plough into the meadow.",
]
CONTEXTS = [
    Context(("The captain left the island.",), ("The storm reached the anchor.",)),
    Context(("The jury found the witness.", "The trial met the law."), ("The verdict.",)),
    Context(("The storm reached the anchor.",), ("The captain left the island.",)),
    Context(("The captain left the island.",), ("The storm reached the anchor.",)),
    Context((), ("The cow met the farmer.",)),
    Context(("The cow met the farmer.",), ()),
]


def tiny_documents(count: int = 40) -> list[dict[str, str]]:
    """Return documents of four topics, with three paragraphs of three to five sentences."""
    rng = random.Random(5)
    documents = []
    for number in range(count):
        topic = list(TOPICS)[number % len(TOPICS)]
        paragraphs = [
            " ".join(sentence(topic, rng) for _ in range(rng.randint(3, 5))) for _ in range(3)
        ]
        documents.append({"id": f"{topic}-{number}", "text": "\n\n".join(paragraphs)})
    return documents


def make_run(folder: Path, documents: Any = None, **sections: Any) -> Run:
    """Return a run with a corpus and a tokenizer; `sections` change those of `SMALL`."""
    paper = dict(SMALL)
    for name, value in sections.items():
        paper[name] = {**paper.get(name, {}), **value} if isinstance(value, dict) else value
    run = Run.create(
        folder, parse_settings({"corpus.held_out_fraction": 0.2, "paper": paper}, "test")
    )
    build_corpus(run, tiny_documents() if documents is None else documents)
    build_tokenizer(run)
    return run


def all_pairs(sentences: int = len(SENTENCES), contexts: int = len(CONTEXTS)) -> Pairs:
    """Return every sentence with every context."""
    return np.array([(s, c) for s in range(sentences) for c in range(contexts)], np.int64)


@pytest.fixture(scope="session")
def base_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with a corpus and a tokenizer. Do not change it."""
    return make_run(tmp_path_factory.mktemp("base") / "run")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with all that Origin reads. Do not change it."""
    run = make_run(tmp_path_factory.mktemp("built") / "run")
    for build in (build_index, train_coherence, train_generator, build_deviations):
        build(run)
    return run


@pytest.fixture(scope="session")
def corpus(built: Run) -> Corpus:
    """The corpus of `built`."""
    return Corpus.open(built)


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[..., Run]:
    """Makes runs in a new folder."""
    return lambda name="run", **sections: make_run(tmp_path / name, **sections)
