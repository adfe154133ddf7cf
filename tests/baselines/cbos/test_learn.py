"""The fast loop against a slow one, and a stopped one against one that was not."""

from pathlib import Path

import numpy as np
import pytest

from firth.baselines.cbos import learn as module
from firth.baselines.cbos.examples import Order, context_predicts_centre
from firth.baselines.cbos.learn import first_state, learn, step
from firth.baselines.cbos.softmax import loss_and_gradient
from firth.baselines.settings import CbosConfig, Likeness, Optimiser
from firth.corpus.numbered import WordSentences, read_sentences
from firth.run.run import Run

CONFIG = CbosConfig(dimensions=6, epochs=3, batch=8, min_count=1, learning_rate=0.2)


@pytest.fixture(scope="module")
def sentences(trained_run: Path) -> WordSentences:
    """The tiny corpus."""
    return read_sentences(Run.open(trained_run), CONFIG)


@pytest.mark.parametrize("optimiser", Optimiser)
def test_a_step_moves_what_the_whole_gradient_moves(
    sentences: WordSentences, optimiser: Optimiser
) -> None:
    """Sparse rows equal a dense step over all sentences and all words (Eq. 4 as a matrix)."""
    config = CONFIG.model_copy(update={"optimiser": optimiser})
    order = Order(sentences.documents, 1, 2, seed=1)
    centres, negatives = order.batches(0, 8)[0]
    batch = context_predicts_centre(sentences.documents, centres, negatives, 1)
    state = first_state(len(sentences.vocabulary), 6, 0.5, seed=2)
    counts = np.zeros((len(sentences), len(sentences.vocabulary)), np.float32)
    rows = np.repeat(np.arange(len(sentences)), np.diff(sentences.bounds))
    np.add.at(counts, (rows, sentences.pieces), 1)
    expected_loss, gradient = loss_and_gradient(counts @ state.vectors, batch, Likeness.DOT)
    slopes = counts.T @ gradient
    if optimiser is Optimiser.ADAGRAD:
        slopes /= np.sqrt((slopes**2).mean(axis=1, keepdims=True)) + 1e-10
    expected = state.vectors - 0.2 * slopes
    before = state.vectors.copy()
    loss = step(state, sentences, batch, config, Likeness.DOT, 0.2)
    assert loss == pytest.approx(expected_loss, rel=1e-4)
    np.testing.assert_allclose(state.vectors, expected, atol=1e-4)
    untouched = (state.vectors == before).all(axis=1)
    assert 0 < untouched.sum() < len(before), "premise: some words had no part in it"


def test_a_stopped_training_ends_with_the_same_bytes(
    sentences: WordSentences, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped inside the second epoch and started again: the bits of an unstopped training."""

    def train(folder: Path) -> np.ndarray:
        vectors, losses = learn(
            sentences, context_predicts_centre, CONFIG, Likeness.DOT, 5, folder, "test"
        )
        assert len(losses) == 3
        assert losses[-1] < losses[0], "it learns"
        return vectors

    whole = train(tmp_path / "whole")
    real, left = module.step, 1.5 * len(sentences) / 8

    def dying(*arguments: object) -> float:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "step", dying)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "stopped")
    assert (tmp_path / "stopped" / "checkpoint.safetensors").is_file(), "premise: an epoch is done"
    monkeypatch.undo()
    np.testing.assert_array_equal(train(tmp_path / "stopped"), whole)
