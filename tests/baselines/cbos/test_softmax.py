"""Loss and gradient against automatic differentiation and against the equations, word by word."""

import math

import numpy as np
import pytest
import torch

from firth.baselines.cbos.examples import Batch, centre_predicts_neighbours, context_predicts_centre
from firth.baselines.cbos.softmax import loss_and_gradient
from firth.baselines.settings import Likeness

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
