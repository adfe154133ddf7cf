"""Training the encoder-decoder: it learns, says so, and a stopped training resumes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firth.corpus.corpus import Corpus
from firth.paper import train_generator as module
from firth.paper.tokens import PartReader, Role, Triple, joined, positions_of
from firth.paper.train_generator import (
    GENERATOR,
    open_generator,
    sizes_of,
    train_generator,
    triples_of,
)
from firth.run.errors import InputError, MissingStageError
from firth.run.run import Run
from firth.text.types import Ints
from firth.train.tokenizer import open_tokenizer

from .conftest import CONTEXTS, SENTENCES, all_pairs, make_run

SHORT = {"passes": 0.45, "width": 16, "layers": 1}


def test_evidence_lowers_the_held_out_loss_in_every_direction(built: Run) -> None:
    """The model has learned to use its neighbors: documents have topics, and topics have words."""
    losses = built.manifest(GENERATOR).summary["held_out"]
    assert set(losses) == {"sentence", "left", "right"}
    for kinds in losses.values():
        assert kinds["loss"] < kinds["baseline"] < np.log(400)
    summary = built.manifest(GENERATOR).summary
    assert summary["learned"]["sentence"]
    assert len(summary["lacks"]) == list(summary["learned"].values()).count(False)
    history = json.loads((built.folder(GENERATOR) / "history.json").read_text())["shared"]
    assert history[-1]["loss"] < history[0]["loss"] - 0.5


@pytest.mark.parametrize("shared", [True, False])
def test_interrupted_training_ends_with_the_same_bytes(
    shared: bool, fresh: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped between two checkpoints and started again, every file is as if never stopped."""
    whole, broken = (fresh(name, generator={**SHORT, "shared": shared}) for name in "ab")
    expected = train_generator(whole).manifest
    history = json.loads((whole.folder(GENERATOR) / "history.json").read_text())
    total = sum(int(entries[-1]["step"]) for entries in history.values())
    assert total > 12, "premise"
    stop_at, steps = 7 if shared else 20, list[int]()

    def failing(corpus: Corpus, positions: Ints, *how: Any) -> list[Triple]:
        steps.append(len(positions))
        if len(steps) == stop_at:
            raise KeyboardInterrupt
        return triples_of(corpus, positions, *how)

    monkeypatch.setattr("firth.train.loop.CHECKPOINT_STEPS", 4)
    monkeypatch.setattr(module, "triples_of", failing)
    with pytest.raises(KeyboardInterrupt):
        train_generator(broken)
    outcome = train_generator(broken)
    assert 0 < len(steps) - stop_at < total, "premise: it continued"
    assert outcome.manifest.outputs == expected.outputs
    assert outcome.manifest.summary == expected.summary
    names = ["shared"] if shared else [role.name.lower() for role in Role]
    assert {f"{name}.safetensors" for name in names} < set(expected.outputs)
    logs = open_generator(broken).likelihoods(SENTENCES, CONTEXTS, all_pairs())
    assert np.isfinite(logs).all()
    assert (logs <= 0).all()


def test_a_corpus_of_one_document(tmp_path: Path) -> None:
    """It has no held-out losses; single lines have no contexts; what is missing is named."""
    text = "The ship left the bay. The tide met the ship. The ship reached the port."
    run = make_run(tmp_path / "run", [{"text": text}], generator=SHORT)
    with pytest.raises(MissingStageError, match="firth paper build"):
        open_generator(run)
    summary = train_generator(run).manifest.summary
    assert (summary["positions"], summary["held_out"]) == (1, {})
    assert not any(summary["learned"].values())
    with pytest.raises(InputError, match=r"paper\.window is 1, but .* built with 2"):
        open_generator(run.changed({"paper": {"window": 1}}))
    lines = make_run(tmp_path / "lines", [{"text": "The ship left the bay."}], generator=SHORT)
    with pytest.raises(InputError, match="running text"):
        train_generator(lines)


@pytest.mark.parametrize("window", [1, 2])
def test_sizes_of_the_parts_are_known_before_they_are_made(
    built: Run, corpus: Corpus, window: int
) -> None:
    """At document borders, too."""
    reader, positions = PartReader(open_tokenizer(built), 6), positions_of(corpus)[:40]
    triples = triples_of(corpus, positions, reader, window)
    assert {len(left) for left, _, _ in triples} == set(range(1, window + 1)), "premise"
    sizes = [[len(joined(part)) for part in triple] for triple in triples]
    assert sizes_of(corpus, positions, reader, window).tolist() == sizes
