"""A small trained model."""

from pathlib import Path

import pytest

from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import build_tokenizer
from firth.paper.coherence.build import train_coherence
from firth.paper.coherence.coherence import Coherence
from firth.paper.settings import Interaction
from firth.run.config import Config
from firth.run.run import Run

SMALL = {"hidden": 12, "embedding": 10, "batch": 24, "steps": 12, "checkpoint_steps": 4,
         "held_out": 0.2, "max_tokens": 24}  # fmt: skip


@pytest.fixture(scope="session")
def base_run(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with a corpus and a tokenizer."""
    values = {
        "corpus": {"inputs": [str(tiny_folder)]},
        "tokenizer": {"vocabulary": 400},
        "coherence": SMALL,
    }
    run = Run.create(tmp_path_factory.mktemp("coherence") / "run", Config.parse(values, "test"))
    build_corpus(run)
    build_tokenizer(run)
    return run


def again(run: Run, folder: Path, **settings: object) -> Run:
    """A second run with the same corpus and tokenizer, and other settings of coherence."""
    copy = Run.create(folder, run.config.changed({"coherence": settings}, "test"))
    for stage in ("corpus", "tokenizer"):
        (folder / stage).symlink_to(run.path / stage)
    return copy


@pytest.fixture(scope="session")
def corpus(base_run: Run) -> Corpus:
    """Its corpus."""
    return Corpus.open(base_run)


@pytest.fixture(scope="session")
def trained_run(base_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same with a trained bilinear model."""
    run = again(base_run, tmp_path_factory.mktemp("trained") / "run")
    train_coherence(run)
    return run


@pytest.fixture(scope="session")
def coherence(trained_run: Run) -> Coherence:
    """The bilinear model."""
    return Coherence.open(trained_run)


@pytest.fixture(scope="session")
def additive(base_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Coherence:
    """Eq. 1 as printed, trained on the same positions."""
    folder = tmp_path_factory.mktemp("additive") / "run"
    run = again(base_run, folder, interaction=Interaction.ADDITIVE.value)
    train_coherence(run)
    return Coherence.open(run)
