"""Training of coherence: draws depend on seed and step, and a stopped training resumes exactly."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.paper import train_coherence as module
from firth.paper.coherence import COHERENCE
from firth.paper.train_coherence import (
    CHOOSES,
    HISTORY,
    Positions,
    batches_of,
    check_positions,
    negatives,
    train_coherence,
)
from firth.run.errors import InputError
from firth.run.run import Run
from firth.train import loop

from .conftest import make_run


def positions_of(lengths: list[int], window: int = 1) -> Positions:
    """Return all inner sentences of documents of these lengths."""
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    parts = [np.arange(a + 1, b - 1) for a, b in pairwise(bounds)]
    return Positions(np.concatenate(parts).astype(np.int64), bounds, window)


LENGTHS = st.lists(st.integers(1, 12), min_size=1, max_size=6)


@given(lengths=LENGTHS, step=st.integers(0, 20), size=st.integers(1, 20))
@settings(max_examples=60)
def test_batches_depend_on_seed_and_step_alone(lengths: list[int], step: int, size: int) -> None:
    """Asked in any order, by any source with the same seed: the same batch."""
    positions = positions_of(lengths)
    if not len(positions):
        return
    used, fresh = batches_of(positions, size, 5), batches_of(positions, size, 5)
    batch = [used(other) for other in (step + 3, 0, step)][-1]
    assert batch.tolist() == fresh(step).tolist()
    assert len(batch) >= min(size, len(positions) - len(positions) % 32)


def test_a_pass_deals_every_position_once() -> None:
    """In random order, without repetition; another seed deals another order."""
    positions = positions_of([34] * 8)
    dealt = [
        positions.sentences[np.concatenate([*map(batches_of(positions, 64, seed), range(4))])]
        for seed in (3, 4)
    ]
    for order in dealt:
        assert sorted(order) == positions.sentences.tolist()
        assert order.tolist() != sorted(order)
    assert dealt[0].tolist() != dealt[1].tolist()


def test_negatives_of_a_batch() -> None:
    """Centers of the position's document and of others are negatives; its neighbors are none."""
    positions = positions_of([30, 40, 50, 60])
    batch = positions[batches_of(positions, 64, 3)(0)]
    document = np.searchsorted(np.cumsum([0, 30, 40, 50, 60]), batch.sentences, side="right")
    together = document[:, None] == document
    near = np.abs(batch.sentences[:, None] - batch.sentences) <= 1
    same_document, elsewhere = negatives(batch)
    assert (elsewhere == ~together).all()
    assert (same_document == (together & ~near)).all()
    assert same_document.any(axis=0).all(), "premise"


@pytest.mark.parametrize("lengths", [[2, 2], [3], [4]])
def test_too_little_text(lengths: list[int]) -> None:
    """Without two positions that can exchange their centers there is nothing to learn from."""
    with pytest.raises(InputError, match="too few to learn coherence"):
        check_positions(positions_of(lengths))
    check_positions(positions_of([5]))


def test_killed_and_resumed_equals_uninterrupted(
    built: Run, fresh: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after the second checkpoint, training continues from it, to the same bytes."""
    run, save, left = fresh(), loop.save_checkpoint, [2]

    def stopped(*arguments: object) -> None:
        save(*arguments)  # type: ignore[arg-type]
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr("firth.train.loop.CHECKPOINT_STEPS", 2)
    monkeypatch.setattr(loop, "save_checkpoint", stopped)
    with pytest.raises(KeyboardInterrupt):
        train_coherence(run)
    monkeypatch.setattr(loop, "save_checkpoint", save)
    outcome = train_coherence(run)
    assert outcome.manifest.outputs == built.manifest(COHERENCE).outputs
    assert outcome.manifest.summary == built.manifest(COHERENCE).summary
    assert train_coherence(run).reused
    other = train_coherence(run.changed({"seed": 14})).manifest
    assert other.outputs["model.safetensors"] != outcome.manifest.outputs["model.safetensors"]


def test_a_start_that_no_step_beats_is_named(
    fresh: Callable[..., Run], capsys: pytest.CaptureFixture[str]
) -> None:
    """A rate that changes nothing: the start is kept, and manifest and screen say what it lacks."""
    run = fresh(coherence={"passes": 1, "learning_rate": 1e-12})
    summary = train_coherence(run).manifest.summary
    assert (summary["step"], summary["learned"]) == (0, False)
    assert "Coherence did not learn: no step was better than its start" in summary["lacks"]
    assert summary["lacks"] in " ".join(capsys.readouterr().err.split())


def test_order_within_documents_is_learned(tmp_path: Path) -> None:
    """Each sentence says which one follows: the step that ranks it best is kept, and it learned."""
    rng, names = np.random.default_rng(1), [f"w{n:02}" for n in range(8)]
    documents = []
    for number in range(80):
        start = int(rng.integers(8))
        chain = [names[(start + n) % 8] for n in range(9)]
        pairs = enumerate(pairwise(chain))
        sentences = [f"The {a} saw the {b} on day {7 * number + n}." for n, (a, b) in pairs]
        documents.append({"text": " ".join(sentences)})
    small = {"passes": 25, "hidden": 24, "learning_rate": 0.01, "batch": 64, "dropout": 0.0}
    run = make_run(tmp_path / "run", documents, coherence=small)
    summary = train_coherence(run).manifest.summary
    assert summary["learned"]
    assert summary[CHOOSES] > 0.7
    history = json.loads((run.folder(COHERENCE) / HISTORY).read_text())
    assert history[-1]["loss"] < history[0]["loss"] - 0.05
    best = max(history, key=lambda entry: entry[CHOOSES])
    assert summary["step"] == best["step"]


def test_ranks_are_those_within_a_context() -> None:
    """The share of a context's negatives below its own center; equal ones count half."""
    logits = np.array([[2.0, 5.0, 0.0], [1.0, 4.0, 0.0], [3.0, 0.0, 0.0]])
    kind = ~np.eye(3, dtype=bool)
    assert module.ranked_below(logits, kind).tolist() == [0.5, 0.5, 0.5]
    kind[2, 0] = False
    assert module.ranked_below(logits, kind).tolist() == [1.0, 0.5, 0.5]
    assert np.isnan(module.ranked_below(logits, np.zeros((3, 3), bool))).all()


def test_a_corpus_of_one_document(tmp_path: Path) -> None:
    """It trains without held-out figures, and reports none."""
    text = " ".join(f"Sentence number {n} follows the one before." for n in range(30))
    run = make_run(tmp_path / "run", [{"text": text}])
    summary = train_coherence(run).manifest.summary
    assert summary["loss"] > 0
    assert "held_out_loss" not in summary
    assert not summary["learned"]
