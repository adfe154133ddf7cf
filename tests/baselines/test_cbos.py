"""CBOS: which sentences meet, loss and gradient, the fast loop against a slow one, resumption."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from firth.baselines import cbos
from firth.baselines.cbos import (
    Batch,
    batches,
    centre_predicts_neighbours,
    context_predicts_centre,
    first_state,
    learn,
    loss_and_gradient,
    neighbours,
    step,
)
from firth.baselines.settings import CbosConfig, Likeness, Optimiser
from firth.corpus.numbered import WordSentences, read_sentences
from firth.run.run import Run

documents = st.lists(st.integers(1, 5), min_size=1, max_size=6).map(
    lambda sizes: np.repeat(np.arange(len(sizes)), sizes)
)


@given(documents, st.integers(1, 3))
def test_neighbours_are_those_of_the_document(found: np.ndarray, k: int) -> None:
    """Up to k on each side, never another document's, never the sentence itself."""
    around, there = neighbours(found, np.arange(len(found)), k)
    for i, (row, exists) in enumerate(zip(around, there, strict=True)):
        expected = [
            j
            for j in range(i - k, i + k + 1)
            if j != i and 0 <= j < len(found) and found[j] == found[i]
        ]
        assert row[exists].tolist() == expected


@given(documents, st.integers(1, 7))
def test_an_epoch_meets_every_centre_once(found: np.ndarray, size: int) -> None:
    """Each sentence with a neighbour, once, in batches of at most `size`."""
    met = []
    for centres, negatives in batches(found, CbosConfig(batch=size), 3, 0):
        assert len(centres) <= size
        assert negatives.shape == (len(centres), 2)
        assert ((negatives >= 0) & (negatives < len(found))).all()
        met += centres.tolist()
    sizes = np.bincount(found)
    assert sorted(met) == [i for i in range(len(found)) if sizes[found[i]] > 1]


def test_order_is_a_function_of_seed_and_epoch() -> None:
    """The same again; another epoch or another seed, another order."""

    def drawn(seed: int, epoch: int) -> list[list[int]]:
        ((centres, negatives),) = batches(np.zeros(50, int), CbosConfig(batch=50), seed, epoch)
        return [centres.tolist(), *negatives.tolist()]

    assert drawn(3, 0) == drawn(3, 0)
    assert drawn(3, 0) != drawn(3, 1)
    assert drawn(3, 0) != drawn(4, 0)


DOCUMENTS = np.array([0] * 5 + [1] * 2 + [2] * 4)
CENTRES = np.array([0, 2, 2, 5, 10])
NEGATIVES = np.array([[1, 7], [9, 9], [0, 2], [5, 6], [3, 10]])


def made(compose: object, k: int) -> Batch:
    """A batch with missing neighbours, repeated sentences and a negative that is its centre."""
    batch: Batch = compose(DOCUMENTS, CENTRES, NEGATIVES, k)  # type: ignore[operator]
    return batch


def by_autograd(
    vectors: np.ndarray, batch: Batch, likeness: Likeness, temperature: float
) -> tuple[float, np.ndarray]:
    """The same with torch."""
    given = torch.tensor(vectors, dtype=torch.float64, requires_grad=True)
    shares = torch.tensor(batch.shares, dtype=torch.float64)
    anchors = (given[torch.tensor(batch.members)] * shares[:, :, None]).sum(1)
    candidates = given[torch.tensor(batch.candidates)]
    if likeness is Likeness.COSINE:
        anchors = torch.nn.functional.normalize(anchors, dim=-1)
        candidates = torch.nn.functional.normalize(candidates, dim=-1)
    logits = torch.einsum("bcd,bd->bc", candidates, anchors) / temperature
    logits = logits.masked_fill(~torch.tensor(batch.open), -torch.inf)
    logs = torch.log_softmax(logits, dim=1)
    targets = torch.tensor(batch.targets, dtype=torch.float64)
    loss = -(targets * torch.where(targets > 0, logs, 0.0)).sum()
    torch.autograd.backward(loss)
    assert given.grad is not None
    return loss.item(), given.grad.numpy()


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("temperature", [1.0, 0.3])
@pytest.mark.parametrize("likeness", Likeness)
@pytest.mark.parametrize("compose", [context_predicts_centre, centre_predicts_neighbours])
def test_gradients_are_those_of_automatic_differentiation(
    compose: object, likeness: Likeness, temperature: float, k: int
) -> None:
    """Each objective, each likeness: loss and gradient of torch in double precision."""
    batch = made(compose, k)
    vectors = np.random.default_rng(4).standard_normal((len(DOCUMENTS), 6)).astype(np.float32)
    loss, gradient = loss_and_gradient(vectors, batch, likeness, temperature)
    expected_loss, expected = by_autograd(vectors, batch, likeness, temperature)
    assert np.abs(expected).max() > 0.1, "premise: there is a gradient"
    assert loss == pytest.approx(expected_loss, rel=1e-4)
    np.testing.assert_allclose(gradient, expected, atol=2e-5 / temperature)


def test_cbos_is_equations_five_to_seven() -> None:
    """Plain loops over the printed equations give the loss."""
    k, total = 2, 0.0
    vectors = np.random.default_rng(5).standard_normal((len(DOCUMENTS), 4)).astype(np.float32)
    for i, negatives in zip(CENTRES, NEGATIVES, strict=True):
        near = [j for j in range(i - k, i + k + 1) if j != i and 0 <= j < len(DOCUMENTS)]
        context = sum(vectors[j] for j in near if DOCUMENTS[j] == DOCUMENTS[i]) / (2 * k)
        scores = [math.exp(vectors[j] @ context) for j in (i, *negatives)]
        total -= math.log(scores[0] / sum(scores))
    loss, _ = loss_and_gradient(vectors, made(context_predicts_centre, k), Likeness.DOT)
    assert loss == pytest.approx(total, rel=1e-5)


def test_siamese_cbow_is_the_published_loss() -> None:
    """-Σ p log softmax of cosines over the neighbours there are (each 1/|S+|) and the negatives."""
    vectors = np.random.default_rng(6).standard_normal((len(DOCUMENTS), 4)).astype(np.float32)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    total = 0.0
    for i, negatives in zip(CENTRES, NEGATIVES, strict=True):
        near = [
            j for j in (i - 1, i + 1) if 0 <= j < len(DOCUMENTS) and DOCUMENTS[j] == DOCUMENTS[i]
        ]
        odds = [math.exp(unit[i] @ unit[j]) for j in (*near, *negatives)]
        total -= sum(math.log(one / sum(odds)) for one in odds[: len(near)]) / len(near)
    batch = made(centre_predicts_neighbours, 1)
    loss, _ = loss_and_gradient(vectors, batch, Likeness.COSINE)
    assert loss == pytest.approx(total, rel=1e-5)


CONFIG = CbosConfig(dimensions=6, epochs=3, batch=8, min_count=1, learning_rate=0.2)


@pytest.fixture(scope="module")
def sentences(trained_run: Path, tmp_path_factory: pytest.TempPathFactory) -> WordSentences:
    """The tiny corpus."""
    return read_sentences(Run.open(trained_run), CONFIG, tmp_path_factory.mktemp("sentences"))


@pytest.mark.parametrize("optimiser", Optimiser)
def test_a_step_moves_what_the_whole_gradient_moves(
    sentences: WordSentences, optimiser: Optimiser
) -> None:
    """Sparse rows equal a dense step over all sentences and all words (Eq. 4 as a matrix)."""
    config = CONFIG.model_copy(update={"optimiser": optimiser, "spread": 0.5})
    centres, negatives = next(batches(sentences.documents, config, 1, 0))
    batch = context_predicts_centre(sentences.documents, centres, negatives, 1)
    state = first_state(len(sentences.vocabulary), config, seed=2)
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
    real, left = cbos.step, 1.5 * len(sentences) / 8

    def dying(*arguments: object) -> float:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(cbos, "step", dying)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "stopped")
    checkpoint = tmp_path / "stopped" / "checkpoint.safetensors"
    assert checkpoint.is_file(), "premise: an epoch is done"
    monkeypatch.undo()
    damaged = bytearray(checkpoint.read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / checkpoint.name).write_bytes(damaged)
    np.testing.assert_array_equal(train(tmp_path / "stopped"), whole)
    np.testing.assert_array_equal(train(tmp_path / "damaged"), whole)
