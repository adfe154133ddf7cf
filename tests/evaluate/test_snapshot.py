"""Hub names are known by their commit, or not at all."""

from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest

from firth.evaluate import models
from firth.evaluate.models import fingerprint_model


def test_a_reachable_hub_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same commit, the same identity; another commit or name, another; no answer, none."""
    asked: list[str] = []
    commit = "a" * 40

    def model_info(name: str, timeout: float) -> SimpleNamespace:
        asked.append(name)
        return SimpleNamespace(sha=commit)

    monkeypatch.setattr(huggingface_hub, "model_info", model_info)
    monkeypatch.setattr(models, "hub_is_reachable", lambda: True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    first = fingerprint_model("someone/some-model")
    assert first == fingerprint_model("someone/some-model") is not None
    assert first != fingerprint_model("someone/other-model")
    commit = "b" * 40
    assert first != fingerprint_model("someone/some-model")
    fingerprint_model("all-mpnet")
    assert asked[-1] == "sentence-transformers/all-mpnet"

    def fails(name: str, timeout: float) -> SimpleNamespace:
        raise OSError("no answer")

    monkeypatch.setattr(huggingface_hub, "model_info", fails)
    assert fingerprint_model("someone/some-model") is None


def test_without_a_hub_the_local_copy_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its commit is in the path of its files; without a copy there is no identity."""
    assert fingerprint_model("someone/absent") is None
    file = tmp_path / "models--someone--here" / "snapshots" / ("c" * 40) / "modules.json"
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *_: str(file))
    assert fingerprint_model("someone/here") is not None
