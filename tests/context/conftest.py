"""A run whose sentence encoder is a tiny language model, tuned for a few steps."""

from pathlib import Path
from typing import Any

import pytest

from firth.context.build import build_context
from firth.corpus.build import build_corpus
from firth.run.config import Config
from firth.run.run import CONFIG, Run


def prompt_settings(texts: Path, model: Path, **tune: Any) -> dict[str, object]:
    """A configuration whose fit stage takes seconds."""
    tuning = {"layers": 1, "steps": 6, "batch": 6, "learning_rate": 1e-2, "checkpoint_steps": 2}
    return {
        "corpus": {"inputs": [str(texts)]},
        "context": {
            "encoder": "causal-lm",
            "model": str(model),
            "precision": "float32",
            "contexts": 50,
            "bag": {"dimensions": 12, "epochs": 2, "batch": 32},
            "tune": {**tuning, **tune},
        },
    }


@pytest.fixture(scope="session")
def prompt_run(tiny_folder: Path, tiny_llm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a corpus and a fit stage. Do not change it."""
    path = tmp_path_factory.mktemp("prompt") / "run"
    run = Run.create(path, Config.parse(prompt_settings(tiny_folder, tiny_llm), CONFIG))
    build_corpus(run)
    build_context(run)
    return path
