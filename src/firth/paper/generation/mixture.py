"""The pointer sentinel mixture: a next token comes from the vocabulary, or again from the evidence.

p(w) = share · softmax(W h + b)[w] + copied(w)
"""

import torch
from torch import Tensor
from torch.nn import functional

from firth.paper.generation.next_token import next_token_scores
from firth.paper.generation.transformer import ContextTransformer, Prediction

_LOSS_STEP = 512


def mixture_scores(model: ContextTransformer, prediction: Prediction, targets: Tensor) -> Tensor:
    """log p of each target, float32 of shape (t,)."""
    own = next_token_scores(prediction.states, targets, model.word.weight, model.bias)
    return torch.logaddexp(own + prediction.log_share, prediction.copied.log()).clamp_(max=0)


class _MixtureLoss(torch.autograd.Function):
    """Mean −log p, with its gradients computed on the way, slice by slice."""

    @staticmethod
    def forward(  # type: ignore[no-untyped-def]
        ctx,
        states: Tensor,
        weight: Tensor,
        bias: Tensor,
        log_share: Tensor,
        copied: Tensor,
        targets: Tensor,
        dtype: torch.dtype,
    ) -> Tensor:
        h, w, share = states.to(dtype), weight.to(dtype), log_share.exp()
        total = states.new_zeros((), dtype=torch.float32)
        for_states = torch.empty_like(states, dtype=torch.float32)
        for_weight = torch.zeros_like(weight, dtype=torch.float32)
        for_bias, for_share = torch.zeros_like(bias), torch.empty_like(share)
        for_copied = torch.empty_like(copied)
        for first in range(0, len(h), _LOSS_STEP):
            now = slice(first, first + _LOSS_STEP)
            rows, wanted = h[now], targets[now, None]
            logits = functional.linear(rows, w).float().add_(bias)
            shifted = logits.sub_(logits.logsumexp(-1, keepdim=True))
            own = shifted.gather(1, wanted)[:, 0].exp_() * share[now]
            whole = own + copied[now]
            total -= whole.log().sum()
            # The gradient with respect to the logits is that of −log softmax, times how much of
            # the probability came from the vocabulary.
            part = (own / whole)[:, None]
            error = shifted.exp_().mul_(part).scatter_add_(1, wanted, -part)
            for_bias += error.sum(0)
            rounded = error.to(dtype)
            for_states[now] = rounded @ w
            for_weight += rounded.T @ rows
            for_share[now] = -part[:, 0]
            for_copied[now] = -whole.reciprocal()
        ctx.save_for_backward(for_states, for_weight, for_bias, for_share, for_copied)
        ctx.types = states.dtype, weight.dtype
        return total / len(targets)

    @staticmethod
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        states, weight, bias, share, copied = ctx.saved_tensors
        scale = grad / len(states)
        of_states, of_weight = ctx.types
        return (
            (states * scale).to(of_states),
            (weight * scale).to(of_weight),
            bias * scale,
            share * scale,
            copied * scale,
            None,
            None,
        )


def mixture_loss(model: ContextTransformer, prediction: Prediction, targets: Tensor) -> Tensor:
    """Mean of −log p over the targets, for training.

    The logits of a batch, a hundred times larger than all else, are never held at once. Computes in
    bfloat16 under autocast, else in the number format of the states.
    """
    kind = targets.device.type
    dtype = prediction.states.dtype
    if torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
    with torch.autocast(kind, enabled=False):
        loss: Tensor = _MixtureLoss.apply(  # type: ignore[no-untyped-call]
            prediction.states,
            model.word.weight,
            model.bias,
            prediction.log_share,
            prediction.copied,
            targets,
            dtype,
        )
    return loss
