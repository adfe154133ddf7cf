"""Universal Sentence Encoder: opened through what is installed, and honest about it."""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest

from firth.baselines import use
from firth.baselines.registry import open_baseline
from firth.run import model_files
from firth.run.errors import InputError


def test_tensorflow_hub_is_asked_for_the_published_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its handle or a folder; texts go in as a list, vectors come out."""
    asked: list[str] = []

    def load(handle: str) -> object:
        asked.append(handle)
        if handle == "broken":
            raise OSError("no such model")

        def model(texts: Sequence[str]) -> npt.NDArray[np.float32]:
            assert isinstance(texts, list)
            return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

        return model

    monkeypatch.setitem(sys.modules, "tensorflow_hub", SimpleNamespace(load=load))
    pairs = [("a" * i, "ab" * i) for i in range(1, 100)]
    assert open_baseline("baseline:use").similarities(pairs).shape == (99,)
    open_baseline("baseline:use@folder")
    assert asked == [use.HANDLE, "folder"]
    with pytest.raises(InputError, match="no such model"):
        open_baseline("baseline:use@broken")


def test_without_tensorflow_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install, and what the other way is."""
    monkeypatch.setitem(sys.modules, "tensorflow_hub", None)
    with pytest.raises(InputError, match=r"pip install tensorflow.*baseline:use\+distilled"):
        open_baseline("baseline:use")


def test_the_student_says_that_it_is_one(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any folder sentence-transformers opens; a name out of reach is an error."""
    scorer = open_baseline(f"baseline:use+distilled@{tiny_bert}")
    assert "student" in scorer.name
    assert scorer.similarities([("a ship", "a ship")])[0] == pytest.approx(1)
    monkeypatch.setattr(model_files, "hub_is_reachable", lambda: False)
    with pytest.raises(InputError, match="neither a folder nor a model"):
        open_baseline("baseline:use+distilled@no-such-student")
