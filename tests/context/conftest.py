"""Encoders that a user might bring, tiny ones, and a run that they are adapted to."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tests.conftest import TOPICS, VERBS
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import BertPreTokenizer

from firth.check.build import build_check
from firth.corpus.build import build_corpus
from firth.run.config import Config
from firth.run.run import CONFIG, Run


@pytest.fixture(scope="session")
def tiny_encoder(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers folder: the tiny BERT, mean pooling, vectors of length 1."""
    from sentence_transformers.base.modules import Normalize

    folder = tmp_path_factory.mktemp("encoder") / "tiny-encoder"
    model = SentenceTransformer(str(tiny_bert), device="cpu")
    model.append(Normalize())
    model.save(str(folder), create_model_card=False)
    return folder


@pytest.fixture(scope="session")
def tiny_static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers folder with random word vectors, averaged."""
    known = sorted({noun for nouns in TOPICS.values() for noun in nouns} | {*VERBS, "The", "near"})
    numbers = {word: number for number, word in enumerate(["[UNK]", *known])}
    tokenizer: Any = Tokenizer(WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = BertPreTokenizer()
    vectors = np.random.default_rng(4).standard_normal((len(numbers), 8)).astype(np.float32) + 1
    folder = tmp_path_factory.mktemp("static") / "tiny-static"
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, vectors)], device="cpu")
    model.save(str(folder), create_model_card=False)
    return folder


@pytest.fixture(scope="session")
def checked_run(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a corpus, a quarter of it held out, and its check. Do not change it."""
    settings = {
        "corpus": {"inputs": [str(tiny_folder)], "held_out": 4},
        "check": {"others": 4, "distance": 2},
        "origin": {"items": 3},
        "context": {
            "contexts": 40,
            "bag": {"dimensions": 12, "epochs": 2, "batch": 32},
            "tune": {"layers": 1, "steps": 6, "batch": 6, "checkpoint_steps": 2,
                     "learning_rate": 1e-3},
        },
    }  # fmt: skip
    run = Run.create(tmp_path_factory.mktemp("checked") / "run", Config.parse(settings, CONFIG))
    build_corpus(run)
    build_check(run)
    return run.path


@pytest.fixture
def fresh(checked_run: Path, tmp_path: Path) -> Callable[..., Run]:
    """Copies of the checked run, each under its own name, with settings of `context` changed."""

    def copy(name: str = "run", **context: object) -> Run:
        shutil.copytree(checked_run, tmp_path / name)
        return Run.open(tmp_path / name).changed({"context": context})

    return copy
