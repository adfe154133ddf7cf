"""Training the encoder-decoder, and adopting a language model."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus.corpus import Corpus
from firth.paper.language_model import CausalLM
from firth.paper.seq2seq import CorpusPartReader, Seq2Seq
from firth.paper.tokens import Role, joined
from firth.paper.train_generator import (
    GENERATOR,
    BatchPlan,
    TokenizedCorpus,
    open_generator,
    train_generator,
)
from firth.run.errors import InputError, MissingStageError
from firth.run.run import Run
from firth.text.types import Ints
from firth.train.tokenizer import open_tokenizer

from .conftest import CONTEXTS, SENTENCES, all_pairs, make_run
from .test_language_model import causal_tokenizer, tiny_llama

SHORT = {"passes": 0.45, "checkpoint_steps": 4, "width": 16, "layers": 1}


def test_evidence_lowers_the_held_out_loss_in_every_direction(built: Run) -> None:
    """The model has learned to use its neighbors: documents have topics, and topics have words."""
    losses = built.manifest(GENERATOR).summary["held_out"]
    assert set(losses) == {"sentence", "left", "right"}
    for kinds in losses.values():
        assert kinds["loss"] < kinds["baseline"] < np.log(400)
    history = json.loads((built.folder(GENERATOR) / "history.json").read_text())["shared"]
    assert history[-1]["loss"] < history[0]["loss"] - 0.5


@pytest.mark.parametrize("shared", [True, False])
def test_interrupted_training_ends_with_the_same_bytes(
    shared: bool, fresh: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped between two checkpoints and started again, every file is as if never stopped."""
    whole, broken = (fresh(name, generator={**SHORT, "shared": shared}) for name in "ab")
    expected = train_generator(whole).manifest
    choose, stop_at = BatchPlan.positions, 7 if shared else 20
    steps: list[int] = []

    def failing(self: BatchPlan, step: int) -> Ints:
        steps.append(step)
        if len(steps) == stop_at:
            raise KeyboardInterrupt
        return choose(self, step)

    monkeypatch.setattr(BatchPlan, "positions", failing)
    with pytest.raises(KeyboardInterrupt):
        train_generator(broken)
    outcome = train_generator(broken)
    total = 12 if shared else 36
    assert 0 < len(steps) - stop_at < total, "premise: it continued"
    assert outcome.manifest.outputs == expected.outputs
    assert outcome.manifest.summary == expected.summary
    names = ["shared"] if shared else [role.name.lower() for role in Role]
    assert {f"{name}.safetensors" for name in names} < set(expected.outputs)
    logs = open_generator(broken).likelihoods(SENTENCES, CONTEXTS, all_pairs())
    assert np.isfinite(logs).all()
    assert (logs <= 0).all()


def test_three_plain_transformers_as_the_paper_has_them(fresh: Callable[..., Run]) -> None:
    """Without a pointer the softmax alone is one distribution; the seed decides the weights."""
    run = fresh(generator={**SHORT, "shared": False, "pointer": False, "passes": 0.08})
    first = train_generator(run).manifest.outputs
    generator = open_generator(run)
    assert isinstance(generator, Seq2Seq)
    assert len({id(model) for model in generator.models.values()}) == 3
    for model in generator.models.values():
        assert not any("pointer" in name or name == "sentinel" for name in model.state_dict())
    second = train_generator(run.changed({"seed": 14})).manifest.outputs
    assert first["left.safetensors"] != second["left.safetensors"]


def test_a_corpus_of_one_document(tmp_path: Path) -> None:
    """It has no held-out losses; single lines have no contexts; what is missing is named."""
    text = "The ship left the bay. The tide met the ship. The ship reached the port."
    run = make_run(tmp_path / "run", [{"text": text}], generator=SHORT)
    with pytest.raises(MissingStageError, match="firth paper build"):
        open_generator(run)
    summary = train_generator(run).manifest.summary
    assert (summary["positions"], summary["held_out"]) == (1, {})
    with pytest.raises(InputError, match=r"paper\.window is 1, but .* built with 2"):
        open_generator(run.changed({"paper": {"window": 1}}))
    lines = make_run(tmp_path / "lines", [{"text": "The ship left the bay."}], generator=SHORT)
    with pytest.raises(InputError, match="running text"):
        train_generator(lines)


@pytest.mark.parametrize("window", [1, 2])
def test_triples_are_the_corpus_contexts(
    built: Run, corpus: Corpus, tmp_path: Path, window: int
) -> None:
    """Triples of the stored tokens are those of the contexts, at document borders too."""
    reader = CorpusPartReader(open_tokenizer(built), 6)
    store = TokenizedCorpus(corpus, reader, window, tmp_path)
    positions = corpus.positions()[:40]
    pairs = np.stack([np.arange(40)] * 2, axis=1)
    contexts = corpus.contexts(positions, window)
    expected = reader.triples(corpus.texts(positions), contexts, pairs)
    assert store.triples(positions) == expected
    assert {len(left) for left, _, _ in expected} == set(range(1, window + 1)), "premise"
    sizes = [[len(joined(part)) for part in triple] for triple in expected]
    assert store.sizes(positions).tolist() == sizes


@settings(max_examples=30)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=60), st.integers(1, 200))
def test_an_epoch_takes_each_position_once_within_the_budget(
    lengths: list[int], budget: int
) -> None:
    """Batches follow from the step alone, tile the positions in each epoch, and keep the budget."""
    positions, longest = np.arange(len(lengths)) + 100, np.array(lengths)
    plan = BatchPlan(positions, longest, budget, 3, Path(mkdtemp()))
    for epoch in range(2):
        steps = range(epoch * plan.batches, (epoch + 1) * plan.batches)
        batches = [plan.positions(step) for step in steps]
        assert Counter(np.concatenate(batches).tolist()) == Counter(positions.tolist())
        for batch in batches:
            size = 3 * len(batch) * longest[batch - 100].max()
            assert len(batch) == 1 or size <= budget
    again = BatchPlan(positions, longest, budget, 3, Path(mkdtemp()))
    step = plan.batches + plan.batches // 2
    np.testing.assert_array_equal(again.positions(step), plan.positions(step))


def test_an_adopted_model_answers_as_the_model_itself(
    fresh: Callable[..., Run], tmp_path: Path
) -> None:
    """Name and fingerprints are recorded, weights are not copied; changed weights are noticed."""
    folder = tmp_path / "model"
    tiny_llama().save_pretrained(folder)
    causal_tokenizer().save_pretrained(folder)
    run = fresh(generator={"backend": "causal-lm", "model": str(folder)})
    outcome = train_generator(run)
    assert set(outcome.manifest.outputs) == {"config.json"}
    assert train_generator(run).reused
    logs = open_generator(run).likelihoods(SENTENCES, CONTEXTS, all_pairs())
    model = CausalLM(tiny_llama(), causal_tokenizer(), max_tokens=24, window=2)
    direct = model.likelihoods(SENTENCES, CONTEXTS, all_pairs())
    np.testing.assert_allclose(logs, direct, atol=1e-5)
    changed = tiny_llama()
    next(changed.parameters()).data.mul_(1.5)
    changed.save_pretrained(folder)
    with pytest.raises(InputError, match=r"model\.safetensors"):
        open_generator(run)
    assert not train_generator(run).reused
