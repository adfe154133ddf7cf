"""Students: what they learn of a batch, every kind learns from a teacher, and none does harm."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer

from firth.corpus.corpus import Corpus
from firth.encoders.kinds import open_encoder
from firth.evaluation.bootstrap import Estimate
from firth.evaluation.compare import Decision
from firth.pipeline.stages import build_static_encoder
from firth.run.errors import InputError
from firth.run.run import Run
from firth.text.types import Singles, unit
from firth.train import distill as module
from firth.train.distill import choose_sentences, distill
from firth.train.exclusions import Exclusions, sentence_hashes
from firth.train.loop import Batches
from firth.train.objectives import linear_fit, listwise, near_groups
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


def test_a_static_student_learns_of_an_encoder(run: Run, words: Path, tiny_bert: Path) -> None:
    """The start is the run's static encoder, or another one of any kind; both learn."""
    build_static_encoder(run)
    result = distill(run, str(words))
    assert opens(result) == 16
    before, after = (result.report[when]["dev"]["all"]["spearman"] for when in ("before", "after"))
    assert after > before, result.report["lines"]
    assert result.report["teacher"] == words.name
    assert distill(run, str(words)).reused
    assert opens(distill(run, str(words), base=tiny_bert)) == 16


def test_a_student_that_became_worse_is_rejected(
    run: Run, words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = Decision(False, "worse", Estimate(-1.0, -2.0, -0.5, 9))
    build_static_encoder(run)
    monkeypatch.setattr(module, "decide", lambda *_, **__: verdict)
    result = distill(run, str(words))
    assert result.report["step"] > 0
    assert result.report["after"] == result.report["before"]
    assert "The start was kept. Label-free questions: worse." in result.report["lines"]


def test_a_stopped_reading_continues_with_the_first_missing_shard(
    words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the vectors are those of the encoder."""
    monkeypatch.setattr(module, "_SHARD", 2)
    texts, encoder = ["ship harbor", "cow barn", "judge law", "wave"], open_encoder(str(words))
    counts: list[int] = []

    class Counted:
        def encode(self, texts: Sequence[str]) -> Singles:
            counts.append(len(texts))
            if len(counts) == 2:
                raise KeyboardInterrupt
            return encoder.encode(texts)

    counted: Any = Counted()
    with pytest.raises(KeyboardInterrupt):
        module.teacher_vectors(counted, texts, tmp_path)
    vectors = module.teacher_vectors(counted, texts, tmp_path)
    assert counts == [2, 2, 2]
    np.testing.assert_allclose(vectors, encoder.encode(texts), atol=1e-3)


def test_sentences_are_distinct_of_usual_length_and_not_excluded(run: Run) -> None:
    """Sentences of public evaluation sets are left out, in any case."""
    hashes = sentence_hashes(["A man is playing a guitar.", "Nobody ever wrote this line, firth."])
    assert np.isin(hashes, Exclusions.load().hashes).tolist() == [True, False]
    corpus = Corpus.open(run)
    taken = {corpus.text(n) for n in range(0, len(corpus), 3)}
    excluded = Exclusions(sentence_hashes(text.upper() for text in taken))
    chosen = choose_sentences(corpus, 10_000, excluded, 3)
    assert 100 < len(np.unique(chosen)) == len(chosen)
    assert not np.array_equal(chosen, np.sort(chosen))
    assert not taken & set(corpus.texts(chosen))
    with pytest.raises(InputError, match="distilling needs 60 or more"):
        choose_sentences(corpus, 20, Exclusions.load(), 3)


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
    batches = Batches.of(rows, size, 7)
    for epoch in range(2):
        steps = range(epoch * batches.epoch_steps, (epoch + 1) * batches.epoch_steps)
        seen = np.concatenate([batches(step) for step in steps])
        assert len(np.unique(seen)) == len(seen)
        assert len(seen) > groups * width - max(size, width)
        assert all(len(batches(step)) <= max(size, width) for step in steps)
    assert np.array_equal(batches(0), Batches.of(rows, size, 7)(0))


def test_a_linear_fit_recovers_a_linear_map() -> None:
    states, weight = units(300, 6, 1), np.random.default_rng(2).standard_normal((6, 3))
    wanted = (states @ weight + 0.5).astype(np.float32)
    result = linear_fit(states, wanted)(torch.from_numpy(states)).detach()
    torch.testing.assert_close(result, torch.from_numpy(wanted), atol=0.02, rtol=0)
    constant = linear_fit(np.ones((9, 2), np.float32), wanted[:9])
    assert torch.isfinite(constant.weight).all()
