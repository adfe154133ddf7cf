"""Training the encoder-decoder: what a step sees, what is learned, and that it can be resumed."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import open_tokenizer
from firth.paper.generation import GENERATOR
from firth.paper.generation.build import train_generator
from firth.paper.generation.open import open_generator
from firth.paper.generation.protocol import Role
from firth.paper.generation.seq2seq import CorpusPartReader
from firth.paper.generation.training_seq2seq import (
    BatchPlan,
    Indices,
    TokenizedCorpus,
    drop,
    split_positions,
)
from firth.run.errors import InputError, MissingStageError
from firth.run.run import Run

from .conftest import CONTEXTS, SENTENCES, all_pairs, prepare

SHORT = {"steps": 12, "checkpoint_steps": 4, "width": 16, "layers": 1}


def test_evidence_lowers_the_held_out_loss_in_every_direction(trained: Run) -> None:
    """The model has learned to use its neighbours: documents have topics, and topics have words."""
    found = trained.manifest(GENERATOR).summary["held_out"]
    assert set(found) == {"sentence", "left", "right"}
    for losses in found.values():
        assert losses["loss"] < losses["baseline"] < np.log(400)


def test_history_tells_losses_as_training_goes_on(trained: Run) -> None:
    """Training and held-out losses fall, and each entry has both kinds for each term."""
    history = json.loads((trained.folder(GENERATOR) / "history.json").read_text())["shared"]
    assert history[-1]["step"] == trained.config.generator.steps
    assert history[-1]["loss"] < history[0]["loss"] - 0.5
    assert {"sentence_loss", "left_baseline", "right_loss"} < set(history[0])


@pytest.mark.parametrize("shared", [True, False])
def test_interrupted_training_ends_with_the_same_bytes(
    shared: bool, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped between two checkpoints and started again, every file is as if never stopped."""
    whole = prepare(tmp_path / "whole", tiny_folder, shared=shared, **SHORT)
    expected = train_generator(whole).manifest
    broken = prepare(tmp_path / "broken", tiny_folder, shared=shared, **SHORT)
    choose, stop = BatchPlan.positions, {"at": 20 if not shared else 7}

    def failing(self: BatchPlan, step: int) -> Indices:
        stop["at"] -= 1
        if stop["at"] == 0:
            raise KeyboardInterrupt
        return choose(self, step)

    monkeypatch.setattr(BatchPlan, "positions", failing)
    with pytest.raises(KeyboardInterrupt):
        train_generator(broken)
    assert list(broken.path.glob(".generator.work/scratch/*/checkpoint.safetensors")), "premise"
    steps: list[int] = []

    def counting(self: BatchPlan, step: int) -> Indices:
        steps.append(step)
        return choose(self, step)

    monkeypatch.setattr(BatchPlan, "positions", counting)
    found = train_generator(broken).manifest
    total = 12 if shared else 36
    assert 0 < len(steps) < total, "premise: it went on instead of starting again"
    assert found.outputs == expected.outputs
    assert found.summary == expected.summary


def test_the_seed_decides(tiny_folder: Path, tmp_path: Path) -> None:
    """Another seed, another model."""
    run = prepare(tmp_path / "run", tiny_folder, **SHORT)
    first = train_generator(run).manifest.outputs["shared.safetensors"]
    second = train_generator(run.changed({"seed": 14})).manifest.outputs["shared.safetensors"]
    assert first != second


def test_three_models_serve_the_three_directions(tiny_folder: Path, tmp_path: Path) -> None:
    """`shared: false` leaves three files, and the generator uses all of them."""
    run = prepare(tmp_path / "run", tiny_folder, shared=False, **SHORT)
    outputs = train_generator(run).manifest.outputs
    assert {f"{role.name.lower()}.safetensors" for role in Role} < set(outputs)
    found = open_generator(run).likelihoods(SENTENCES, CONTEXTS, all_pairs())
    assert np.isfinite(found.sentence).all()
    assert (found.right <= 0).all()


def test_held_out_documents_are_not_trained_on(trained: Run) -> None:
    """Train and held-out positions share no document, and together are all positions."""
    corpus = Corpus.open(trained)
    trained_on, held_out = split_positions(corpus, 0.2, 13)
    held = set(corpus.document_of(held_out).tolist())
    assert held.isdisjoint(corpus.document_of(trained_on).tolist())
    assert len(held) == 8
    assert sorted([*trained_on, *held_out]) == corpus.positions().tolist()


def test_a_corpus_of_one_document_holds_out_its_end(tmp_path: Path) -> None:
    """With one document there is no other to hold out; with one position nothing to learn."""
    text = " ".join(f"The ship number {i} met the tide." for i in ["one", "two", "three", "four"])
    (tmp_path / "one.txt").write_text(text)
    run = prepare(tmp_path / "run", tmp_path / "one.txt", **SHORT)
    assert train_generator(run).manifest.summary["train_positions"] == 1
    (tmp_path / "small.txt").write_text("The ship met. The tide met the ship. The ship met.")
    run = prepare(tmp_path / "small", tmp_path / "small.txt", **SHORT)
    with pytest.raises(InputError, match="Add documents"):
        train_generator(run)


def test_triples_are_the_corpus_contexts(trained: Run, tmp_path: Path) -> None:
    """The stored tokens of a triple are those of the position's context, cut the same way."""
    corpus, reader = Corpus.open(trained), CorpusPartReader(open_tokenizer(trained), 6)
    store = TokenizedCorpus(corpus, reader, tmp_path)
    positions = corpus.positions()[:40]
    pairs = np.stack([np.arange(40)] * 2, axis=1)
    expected = reader.triples(corpus.texts(positions), corpus.contexts(positions), pairs)
    assert store.triples(positions) == expected
    assert store.sizes(positions).tolist() == [
        [len(part) for part in triple] for triple in expected
    ]


@settings(max_examples=30)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=60), st.integers(1, 200))
def test_an_epoch_takes_each_position_once_within_the_budget(
    lengths: list[int], budget: int
) -> None:
    """Batches follow from the step alone, tile the positions in each epoch, and keep the budget."""
    positions, longest = np.arange(len(lengths)) + 100, np.array(lengths)
    plan = BatchPlan(positions, longest, budget, seed=3)
    for epoch in range(2):
        steps = range(epoch * plan.batches, (epoch + 1) * plan.batches)
        batches = [plan.positions(step) for step in steps]
        assert Counter(np.concatenate(batches).tolist()) == Counter(positions.tolist())
        for batch in batches:
            size = 3 * len(batch) * longest[batch - 100].max()
            assert len(batch) == 1 or size <= budget
    again = BatchPlan(positions, longest, budget, seed=3)
    step = plan.batches + plan.batches // 2
    np.testing.assert_array_equal(again.positions(step), plan.positions(step))


def test_neighbours_are_dropped_as_often_as_asked() -> None:
    """One neighbour with the given probability, either alike, and both with half of it."""
    dropped = drop(20_000, 0.2, np.random.default_rng(0))
    assert dropped.all(axis=1).mean() == pytest.approx(0.1, abs=0.01)
    one = dropped.sum(axis=1) == 1
    assert one.mean() == pytest.approx(0.2, abs=0.01)
    assert dropped[one, 0].mean() == pytest.approx(0.5, abs=0.02)


def test_opening_before_training_says_what_to_do(tiny_folder: Path, tmp_path: Path) -> None:
    """The error names the command."""
    run = prepare(tmp_path / "run", tiny_folder)
    with pytest.raises(MissingStageError, match="firth train generator --run"):
        open_generator(run)
