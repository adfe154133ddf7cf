"""Students: what they learn of a batch, every kind learns from a teacher, and none does harm."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer

from firth.encoders.kinds import open_encoder
from firth.encoders.pretrained import build_pretrained
from firth.evaluation.bootstrap import Estimate
from firth.evaluation.compare import Decision
from firth.run.errors import InputError
from firth.run.run import Run
from firth.scorer.blend import build_blend
from firth.text.types import Singles, unit
from firth.train import distill as module
from firth.train.distill import distill
from firth.train.objectives import Batches, linear_fit, listwise, near_groups
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
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    encoder = open_encoder(str(result.path))
    np.testing.assert_allclose(encoder.encode(["The ship left."])[0], vectors[0], atol=1e-5)
    return int(vectors.shape[1])


def test_a_static_student_of_the_runs_own_scorer_needs_no_training(run: Run) -> None:
    with pytest.raises(InputError, match="needs no training: it is RUN/static"):
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
    verdict = Decision(
        accepted=False,
        reason="rejected: worse",
        differences={},
        gained=(),
        lost=(),
        gain=Estimate(-1.0, -2.0, -0.5, 9),
    )
    monkeypatch.setattr(module, "decide", lambda *_, **__: verdict)
    result = distill(run, epochs=2)
    assert result.report["step"] > 0
    assert result.report["after"] == result.report["before"]
    assert "The start was kept. Label-free questions: rejected: worse." in result.report["lines"]


def units(n: int, d: int, seed: int) -> Singles:
    rows = np.random.default_rng(seed).standard_normal((n, d))
    return unit(rows).astype(np.float32)


def test_the_divergence_is_zero_for_the_teacher_alone() -> None:
    vectors = torch.from_numpy(units(6, 4, 1)).requires_grad_()
    similarities = vectors.detach() @ vectors.detach().T
    assert listwise(3 * vectors, similarities).item() == pytest.approx(0, abs=1e-6)
    other = torch.from_numpy(units(6, 4, 2))
    assert listwise(other, similarities).item() > 0.1
    changed = similarities.clone().fill_diagonal_(0.3)  # A sentence's similarity to itself.
    assert listwise(3 * vectors, changed).item() == pytest.approx(0, abs=1e-6)


@given(st.integers(1, 60), st.integers(1, 8), st.integers(0, 5))
def test_groups_hold_each_sentence_once(count: int, size: int, seed: int) -> None:
    size = min(size, count)
    groups = near_groups(units(count, 5, seed), size, seed)
    assert groups.shape == (count // size, size)
    assert len(np.unique(groups)) == groups.size


@given(st.integers(1, 30), st.integers(1, 4), st.integers(1, 40))
def test_an_epoch_holds_each_group_at_most_once(groups: int, width: int, size: int) -> None:
    rows = np.arange(groups * width).reshape(groups, width)
    batches = Batches(rows, size, 7)
    for epoch in range(2):
        steps = range(epoch * batches.epoch_steps, (epoch + 1) * batches.epoch_steps)
        seen = np.concatenate([batches(step) for step in steps])
        assert len(np.unique(seen)) == len(seen)
        assert len(seen) > groups * width - max(size, width)
        assert all(len(batches(step)) <= max(size, width) for step in steps)
    assert np.array_equal(batches(0), Batches(rows, size, 7)(0))


def test_a_linear_fit_recovers_a_linear_map() -> None:
    states, weight = units(300, 6, 1), np.random.default_rng(2).standard_normal((6, 3))
    wanted = (states @ weight + 0.5).astype(np.float32)
    result = linear_fit(states, wanted)(torch.from_numpy(states)).detach()
    torch.testing.assert_close(result, torch.from_numpy(wanted), atol=0.02, rtol=0)
    constant = linear_fit(np.ones((9, 2), np.float32), wanted[:9])
    assert torch.isfinite(constant.weight).all()
