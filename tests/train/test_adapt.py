"""Adapting: candidates are tried on questions, and only a harmless gain is kept."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from firth.encoders.pretrained import PRETRAINED, RunEncoder, open_encoder
from firth.evaluation.compare import choose
from firth.run.errors import InputError
from firth.run.files import fingerprint_file
from firth.run.run import Run
from firth.train import adapt as module
from firth.train.adapt import AS_IS, adapt, append_normalization, build_tuned, candidate_name

TEXTS = ["The ship left the harbor.", "A cow saw the farmer."]


def keeping(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the questions choose this candidate."""

    def chosen(*given: Any, **named: Any) -> Any:
        _, decisions = choose(*given, **named)
        return name, decisions

    monkeypatch.setattr(module, "choose", chosen)


def vectors(folder: Path) -> Any:
    return SentenceTransformer(str(folder), device="cpu").encode(TEXTS)


def test_all_candidates_are_tried_and_one_is_kept(
    run: Run, tiny_bert: Path, tmp_path: Path
) -> None:
    found = adapt(run, str(tiny_bert), tmp_path / "out")
    names = {
        candidate_name(tuned, kind)
        for tuned in (False, True)
        for kind in ("none", "center", "standardize")
    }  # fmt: skip
    assert set(found.report["comparison"]["accuracies"]) == names
    assert set(found.report["decisions"]) == names - {AS_IS}
    assert found.report["kept"] in names
    assert f"Kept: {found.report['kept']}." in found.text()
    assert np.isfinite(vectors(found.path)).all()
    assert adapt(run, str(tiny_bert), tmp_path / "out").reused


@pytest.mark.parametrize("kept", [AS_IS, "standardized", "tuned", "tuned, centered"])
def test_what_is_saved_is_the_candidate_that_was_kept(
    run: Run, tiny_bert: Path, tmp_path: Path, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeping(monkeypatch, kept)
    found = adapt(run, str(tiny_bert), tmp_path / "out")
    before, after = vectors(tiny_bert), vectors(found.path)
    assert np.allclose(before, after, atol=1e-5) == (kept == AS_IS)
    lengths = np.linalg.norm(after, axis=1)
    assert np.allclose(lengths, 1, atol=1e-5) == ("ed" in kept.split(", ")[-1] and kept != "tuned")
    np.testing.assert_allclose(open_encoder(str(found.path)).raw(TEXTS), after, atol=1e-5)


def test_a_table_of_words_is_tuned_as_a_matrix(
    run: Run, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeping(monkeypatch, "tuned")
    found = adapt(run, str(words), tmp_path / "out")
    assert not np.allclose(vectors(words), vectors(found.path), atol=1e-3)
    assert found.report["history"][-1]["step"] == 6


def test_without_questions_nothing_is_changed(
    run: Run, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "open_questions", lambda run: [])
    found = adapt(run, str(tiny_bert), tmp_path / "out")
    assert found.report["kept"] == AS_IS
    assert found.report["history"] == []
    np.testing.assert_allclose(vectors(found.path), vectors(tiny_bert), atol=1e-5)


def test_a_stopped_adaptation_ends_with_the_same_bytes(
    run: Run, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeping(monkeypatch, "tuned")
    monkeypatch.setattr(module, "_CHECKPOINT_STEPS", 2)
    whole = adapt(run, str(tiny_bert), tmp_path / "whole")
    usual, calls = module.TextPairs.chosen, 0

    def stopped(pairs: module.TextPairs, step: int) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return usual(pairs, step)

    monkeypatch.setattr(module.TextPairs, "chosen", stopped)
    with pytest.raises(KeyboardInterrupt):
        adapt(run, str(tiny_bert), tmp_path / "stopped")
    resumed = adapt(run, str(tiny_bert), tmp_path / "stopped")
    assert calls == 4 + 6 - 2
    for file in ("model.safetensors", "report.json", "README.md"):
        assert fingerprint_file(resumed.path / file) == fingerprint_file(whole.path / file)


def test_normalization_is_a_part_of_the_model(tiny_bert: Path, tmp_path: Path) -> None:
    model = SentenceTransformer(str(tiny_bert), device="cpu")
    before = model.encode(TEXTS)
    mean, deviation = before.mean(axis=0) - 1.0, np.linspace(0.5, 2, 16)
    append_normalization(model, np.zeros(16), np.ones(16))
    assert len(model) == 2
    append_normalization(model, mean, deviation)
    expected = (before - mean) / deviation
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(model.encode(TEXTS), expected, atol=1e-5)


def test_a_language_model_is_tuned_as_the_encoder_of_the_run(
    run: Run, tiny_llm: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="Make it the encoder of the run"):
        adapt(run, str(tiny_llm), tmp_path / "out")
    plain = run.changed({"encoder": {"model": str(tiny_llm), "normalization_sentences": 30}})
    tuned = plain.changed({"adapt": {"layers": 1, "steps": 3, "max_tokens": 8}})
    outcome = build_tuned(tuned)
    assert outcome is not None
    assert not outcome.reused
    opened = RunEncoder.open(tuned)
    assert opened.encoder.name == "tiny-llm, 1 layers tuned"
    before = open_encoder(str(tiny_llm), tuned.settings.encoder).raw(TEXTS)
    assert not np.allclose(opened.encoder.raw(TEXTS), before, atol=1e-4)
    assert (tuned.folder(PRETRAINED) / "tuned.safetensors").is_file()
    again = build_tuned(tuned)
    assert again is not None
    assert again.reused
