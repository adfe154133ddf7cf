"""A tiny encoder, and a run with a corpus of five topics."""

from pathlib import Path
from typing import Any

import pytest

from firth.corpus.build import build_corpus
from firth.run.run import Run
from firth.run.settings import parse_settings
from tests.conftest import toy_documents

SMALL: dict[str, Any] = {
    "cbow": {"min_count": 2, "dimensions": 12, "epochs": 2},
    "skip_gram": {"min_count": 2, "dimensions": 12, "epochs": 1},
    "cbos": {"min_count": 2, "dimensions": 12, "epochs": 2},
    "siamese_cbow": {"min_count": 2, "dimensions": 12, "epochs": 2},
    "bag": {"min_count": 2, "dimensions": 12, "batch": 32},
    "skip_thought": {"min_count": 2, "dimensions": 8, "hidden": 12, "steps": 4, "batch": 8},
}


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with a corpus alone. Stages may be added to it."""
    folder = tmp_path_factory.mktemp("reproduce") / "run"
    run = Run.create(folder, parse_settings({"reproduce": SMALL}, "test"))
    build_corpus(run, toy_documents())
    return run


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for evaluation sets."""
    return tmp_path_factory.mktemp("sets")
