"""Loss and gradient of telling candidates apart, worked out by hand: Eqs. 5 to 7.

By hand because a step of ten sentences takes longer to record for automatic differentiation than to
compute; `tests/baselines/cbos` compares with automatic differentiation.
"""

import numpy as np
import numpy.typing as npt

from firth.baselines.cbos.examples import Batch
from firth.baselines.settings import Likeness

Floats = npt.NDArray[np.float32]
_TINY = np.float32(1e-12)


def loss_and_gradient(
    vectors: Floats, batch: Batch, likeness: Likeness, temperature: float = 1.0
) -> tuple[float, Floats]:
    """-Σ p(s_j) log p(s_j | anchor) over the batch (Eq. 7), and its gradient.

    Args:
        vectors: Sentence vectors, (n, d); the batch's numbers are rows of it.
        batch: Anchors and candidates.
        likeness: How anchor and candidate are compared.
        temperature: Divides the likenesses before the softmax; 1 as printed.

    Returns:
        The summed loss, and its derivative with respect to `vectors`, (n, d).
    """
    members, candidates = vectors[batch.members], vectors[batch.candidates]
    anchors = np.einsum("bk,bkd->bd", batch.shares, members)
    if likeness is Likeness.COSINE:
        anchors, anchor_lengths = _unit(anchors)
        candidates, lengths = _unit(candidates)
    logits = np.matmul(candidates, anchors[:, :, None])[:, :, 0] / np.float32(temperature)
    logits[~batch.open] = -np.inf
    logits -= logits.max(axis=1, keepdims=True)
    odds = np.exp(logits)
    totals = odds.sum(axis=1, keepdims=True)
    wanted = batch.targets > 0
    loss = float((batch.targets * (np.log(totals) - np.where(wanted, logits, 0))).sum())

    slope = (odds / totals - batch.targets) / np.float32(temperature)
    to_candidates = slope[:, :, None] * anchors[:, None, :]
    to_anchors = np.matmul(slope[:, None, :], candidates)[:, 0, :]
    if likeness is Likeness.COSINE:
        to_candidates = _through_unit(to_candidates, candidates, lengths)
        to_anchors = _through_unit(to_anchors, anchors, anchor_lengths)
    to_members = batch.shares[:, :, None] * to_anchors[:, None, :]
    gradient = np.zeros_like(vectors)
    np.add.at(gradient, batch.candidates, to_candidates)
    np.add.at(gradient, batch.members, to_members)
    return loss, gradient


def _unit(vectors: Floats) -> tuple[Floats, Floats]:
    lengths: Floats = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True)) + _TINY
    return vectors / lengths, lengths


def _through_unit(gradient: Floats, unit: Floats, lengths: Floats) -> Floats:
    along = (gradient * unit).sum(axis=-1, keepdims=True)
    found: Floats = (gradient - along * unit) / lengths
    return found
