"""Students: every kind learns from a teacher, resumes to the same bytes, and does no harm."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from firth.encoders.pretrained import open_encoder
from firth.evaluation.compare import Decision
from firth.run.errors import InputError
from firth.run.files import fingerprint_file
from firth.run.run import Run
from firth.train import distill as module
from firth.train.distill import Distilled, distill
from firth.train.loop import train


def bytes_of(result: Distilled) -> dict[str, str]:
    files = [path for path in result.path.rglob("*") if path.is_file()]
    return {str(path.relative_to(result.path)): fingerprint_file(path) for path in files}


def opens(result: Distilled) -> int:
    """The length of its vectors, for a report that is complete."""
    report = result.report
    assert set(report["before"]) == set(report["after"]) == {"dev", "test"}
    assert report["history"][-1]["step"] <= report["steps"]
    card = (result.path / "README.md").read_text()
    assert all(line in card for line in report["lines"])
    assert str(result.path) in result.text()
    model = SentenceTransformer(str(result.path), device="cpu")
    vectors = model.encode(["The ship left.", "A cow ate the wheat."])
    assert np.isfinite(vectors).all()
    encoder = open_encoder(str(result.path))
    np.testing.assert_allclose(encoder.raw(["The ship left."])[0], vectors[0], atol=1e-5)
    return int(vectors.shape[1])


def test_a_static_student_of_the_runs_own_scorer_needs_no_training(run: Run) -> None:
    with pytest.raises(InputError, match="needs no training: it is RUN/encoder"):
        distill(run)


def test_a_static_student_learns_similarity_matrices(run: Run) -> None:
    result = distill(run, epochs=4)
    assert opens(result) == 16
    before, after = (result.report[when]["dev"]["all"]["spearman"] for when in ("before", "after"))
    assert after >= before
    assert distill(run, epochs=4).reused


def test_a_static_student_learns_of_an_encoder(run: Run, tiny_bert: Path) -> None:
    result = distill(run, teacher=str(tiny_bert), epochs=3)
    assert opens(result) == 16
    assert result.report["teacher"] == "tiny-bert"


def test_a_transformer_learns_of_another_run(run: Run, session_run: Run) -> None:
    result = distill(run, base="transformer", teacher=str(session_run.path), epochs=1)
    assert opens(result) == 16
    assert result.report["teacher"] == "run"


def test_layers_of_the_runs_language_model_learn_vectors_too(run: Run, tiny_llm: Path) -> None:
    from firth.encoders.pretrained import build_pretrained
    from firth.scorer.blend import build_blend

    changed = run.changed({"encoder": {"model": str(tiny_llm), "normalization_sentences": 30}})
    build_pretrained(changed)
    build_blend(changed)
    result = distill(changed, base="layers", epochs=1)
    assert opens(result) == 32


def test_a_stopped_distillation_ends_with_the_same_bytes(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHECKPOINT_STEPS", 2)

    def learn() -> Distilled:
        return distill(run, base="transformer", epochs=1)

    whole = bytes_of(learn())
    (run.path / "student" / "report.json").write_text("damaged")
    usual, calls = train, 0

    def stopped(*given: Any, **named: Any) -> Any:
        batches = given[1]

        def batch(step: int) -> Any:
            nonlocal calls
            calls += 1
            if calls == 4:
                raise KeyboardInterrupt
            return batches(step)

        return usual(given[0], batch, *given[2:], **named)

    monkeypatch.setattr(module, "train", stopped)
    with pytest.raises(KeyboardInterrupt):
        learn()
    assert calls == 4
    assert bytes_of(learn()) == whole


def test_a_student_that_became_worse_is_rejected(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from firth.evaluation.bootstrap import Estimate

    verdict = Decision(False, "rejected: worse", {}, (), (), Estimate(-1.0, -2.0, -0.5, 9))
    monkeypatch.setattr(module, "decide", lambda *_, **__: verdict)
    result = distill(run, epochs=2)
    assert result.report["step"] > 0
    assert result.report["after"] == result.report["before"]
    assert "The start was kept. Label-free questions: rejected: worse." in result.report["lines"]
