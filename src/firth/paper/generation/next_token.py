"""Log-probabilities of next tokens, without ever holding the logits of a whole batch."""

import torch
from torch import Tensor
from torch.nn import functional

_VOCABULARY_STEP, _ROW_STEP = 2048, 256


def next_token_scores(
    states: Tensor,
    targets: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    rows: Tensor | None = None,
) -> Tensor:
    """log softmax(W h + b) at each target, float32 of shape (m,).

    The vocabulary is passed in slices that stay in the processor's cache; sums of exponentials,
    and the target's own logit, are float32 in any number format.

    Args:
        states: h, (t, d).
        targets: (m,) ids of the tokens that follow.
        weight: W, (vocabulary, d).
        bias: b, (vocabulary,).
        rows: (m,) the state that each target follows; by default each its own.
    """
    if not len(targets):
        return states.new_zeros(0, dtype=torch.float32)
    totals = _log_normalisers(states, weight, bias)
    if rows is not None:
        states, totals = states[rows], totals[rows]
    chosen = (states.float() * weight[targets].float()).sum(-1)
    if bias is not None:
        chosen = chosen + bias[targets].float()
    return chosen.sub_(totals).clamp_(max=0)


def _log_normalisers(states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """log Σ exp(W h + b), float32 of shape (t,)."""
    totals = []
    for first in range(0, len(states), _ROW_STEP):
        rows = states[first : first + _ROW_STEP]
        slices = []
        for begin in range(0, len(weight), _VOCABULARY_STEP):
            logits = functional.linear(rows, weight[begin : begin + _VOCABULARY_STEP]).float()
            if bias is not None:
                logits.add_(bias[begin : begin + _VOCABULARY_STEP])
            top = logits.amax(-1, keepdim=True)
            slices.append(logits.sub_(top).exp_().sum(-1).log_().add_(top[:, 0]))
        totals.append(torch.stack(slices).logsumexp(0))
    return torch.cat(totals)
