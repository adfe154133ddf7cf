"""Students: every kind learns from a teacher, resumes to the same bytes, and does no harm."""

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from firth.encoders.pretrained import build_pretrained, open_encoder
from firth.evaluation.bootstrap import Estimate
from firth.evaluation.compare import Decision
from firth.run.errors import InputError
from firth.run.run import Run
from firth.scorer.blend import build_blend
from firth.train import distill as module
from firth.train.distill import distill
from firth.train.students import TrainedFolder


def opens(result: TrainedFolder) -> int:
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


def test_students_of_other_teachers(run: Run, session_run: Run, tiny_bert: Path) -> None:
    for base, teacher in (("static", tiny_bert), ("transformer", session_run.path)):
        result = distill(run, base=base, teacher=str(teacher), epochs=1)
        assert opens(result) == 16
        assert result.report["teacher"] == teacher.name


def test_layers_of_the_runs_language_model_learn_vectors_too(run: Run, tiny_llm: Path) -> None:
    changed = run.changed({"encoder": {"model": str(tiny_llm), "normalization_sentences": 30}})
    build_pretrained(changed)
    build_blend(changed)
    result = distill(changed, base="layers", epochs=1)
    assert opens(result) == 32


def test_a_student_that_became_worse_is_rejected(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = Decision(False, "rejected: worse", {}, (), (), Estimate(-1.0, -2.0, -0.5, 9))
    monkeypatch.setattr(module, "decide", lambda *_, **__: verdict)
    result = distill(run, epochs=2)
    assert result.report["step"] > 0
    assert result.report["after"] == result.report["before"]
    assert "The start was kept. Label-free questions: rejected: worse." in result.report["lines"]
