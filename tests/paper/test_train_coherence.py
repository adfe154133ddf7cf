"""Training of coherence: draws depend on seed and step, and a stopped training resumes exactly."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus.corpus import Corpus
from firth.paper import train_coherence as module
from firth.paper.coherence import COHERENCE, VECTORS, Coherence
from firth.paper.train_coherence import (
    HISTORY,
    BatchSource,
    Positions,
    check_positions,
    negatives,
    train_coherence,
)
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.run import Run
from firth.train import loop

from .conftest import make_run


def positions_of(lengths: list[int], window: int = 1) -> Positions:
    """Return all inner sentences of documents of these lengths."""
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    parts = [np.arange(a + 1, b - 1) for a, b in pairwise(bounds)]
    return Positions(np.concatenate(parts).astype(np.int64), bounds, window)


def source_of(positions: Positions, size: int, seed: int) -> BatchSource:
    """Return a source of groups of 8 that finds no file of another."""
    return BatchSource(positions, size, 8, seed, Path(mkdtemp()))


LENGTHS = st.lists(st.integers(1, 12), min_size=1, max_size=6)


@given(lengths=LENGTHS, step=st.integers(0, 20), size=st.integers(1, 20))
@settings(max_examples=60)
def test_batches_depend_on_seed_and_step_alone(lengths: list[int], step: int, size: int) -> None:
    """Asked in any order, by any source with the same seed: the same batch."""
    positions = positions_of(lengths)
    if not len(positions):
        return
    used, fresh = source_of(positions, size, 5), source_of(positions, size, 5)
    batch = [used(other) for other in (step + 3, 0, step)][-1]
    assert batch.sentences.tolist() == fresh(step).sentences.tolist()
    assert batch.documents.tolist() == fresh(step).documents.tolist()
    mapped = BatchSource(positions, size, 8, 5, used.scratch)  # Reads the file of `used`.
    assert mapped(step).sentences.tolist() == batch.sentences.tolist()
    assert len(batch) >= size


def test_a_pass_deals_every_position_once() -> None:
    """In random order, without repetition; another seed deals another order."""
    positions = positions_of([34] * 8)
    dealt = [
        np.concatenate([source_of(positions, 64, seed)(s).sentences for s in range(4)])
        for seed in (3, 4)
    ]
    for order in dealt:
        assert sorted(order) == positions.sentences.tolist()
        assert order.tolist() != sorted(order)
    assert dealt[0].tolist() != dealt[1].tolist()


def test_negatives_of_a_batch() -> None:
    """Centers of the position's document and of others are negatives; its neighbors are none."""
    batch = source_of(positions_of([30, 40, 50, 60]), 64, 3)(0)
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


def test_stopped_while_encoding(
    built: Run, fresh: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in the middle of the cache: nothing is trained again, encoded blocks are kept."""
    monkeypatch.setattr(module, "BLOCK", 100)
    run = fresh()
    marks: list[int] = []

    def stop_at_second(path: Path, value: int) -> None:
        if path.name == "encoded.json":
            if marks:
                raise KeyboardInterrupt
            marks.append(value)
        write_json(path, value)

    monkeypatch.setattr(module, "write_json", stop_at_second)
    with pytest.raises(KeyboardInterrupt):
        train_coherence(run)
    assert marks == [100], "premise"
    monkeypatch.setattr(module, "write_json", write_json)
    monkeypatch.setattr(module, "train", None)
    train_coherence(run)
    stored, expected = (np.load(each.folder(COHERENCE) / VECTORS) for each in (run, built))
    np.testing.assert_allclose(stored, expected, atol=2e-3)
    assert stored.dtype == np.float16
    corpus = Corpus.open(run)
    read = Coherence.open(run).encode(corpus.texts(np.arange(len(corpus))))
    np.testing.assert_allclose(stored, read, atol=2e-3)


def test_it_learns(fresh: Callable[..., Run]) -> None:
    """Documents have one topic each: centers from elsewhere are recognized on new documents.

    Chance is 0.5, and the standard error of 150 examples 0.04.
    """
    run = fresh(coherence={"passes": 13, "learning_rate": 0.003, "hidden": 32})
    summary = train_coherence(run).manifest.summary
    assert summary["accuracy_random"] > 0.62
    both = summary["accuracy_random"] + summary["accuracy_same_document"]
    assert summary["accuracy"] == pytest.approx(both / 2)
    history = json.loads((run.folder(COHERENCE) / HISTORY).read_text())
    assert history[-1]["loss"] < history[0]["loss"] - 0.05


def test_the_best_step_is_kept(fresh: Callable[..., Run]) -> None:
    """A rate that destroys the model leaves the weights of the best step, the start at worst."""
    run = fresh(coherence={"passes": 6, "learning_rate": 1.0})
    summary = train_coherence(run).manifest.summary
    history = json.loads((run.folder(COHERENCE) / HISTORY).read_text())
    losses = [entry["held_out_loss"] for entry in history]
    assert losses[-1] > min(*losses, summary["held_out_loss"]), "premise: it became worse"
    assert summary["held_out_loss"] <= min(losses) + 1e-6
    assert summary["step"] < history[-1]["step"] <= summary["steps"]


def test_ranks_are_those_within_a_context() -> None:
    """The share of a context's negatives below its own center; equal ones count half."""
    logits = np.array([[2.0, 5.0, 0.0], [1.0, 4.0, 0.0], [3.0, 0.0, 0.0]])
    kind = ~np.eye(3, dtype=bool)
    assert module._ranked(logits, kind).tolist() == [0.5, 0.5, 0.5]
    kind[2, 0] = False
    assert module._ranked(logits, kind).tolist() == [1.0, 0.5, 0.5]
    assert np.isnan(module._ranked(logits, np.zeros((3, 3), bool))).all()


def test_a_corpus_of_one_document(tmp_path: Path) -> None:
    """It trains without held-out figures, and reports none."""
    text = " ".join(f"Sentence number {n} follows the one before." for n in range(30))
    run = make_run(tmp_path / "run", [{"text": text}])
    summary = train_coherence(run).manifest.summary
    assert summary["loss"] > 0
    assert "accuracy" not in summary
