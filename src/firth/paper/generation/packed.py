"""Sentences packed one after another, without padding, and the way to a padded array and back."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from firth.paper.generation.forest import Tokens
from firth.paper.generation.roles import Role


class _Spread(torch.autograd.Function):
    """Rows of x to distinct places of a longer, otherwise zero array; the gradient goes back."""

    @staticmethod
    def forward(ctx, x: Tensor, places: Tensor, size: int) -> Tensor:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(places)
        return x.new_zeros(size, *x.shape[1:]).index_copy_(0, places, x)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[no-untyped-def]
        (places,) = ctx.saved_tensors
        return grad.index_select(0, places), None, None


class _Collect(torch.autograd.Function):
    """Rows of x at distinct places; faster to differentiate than general indexing."""

    @staticmethod
    def forward(ctx, x: Tensor, places: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(places)
        ctx.size = len(x)
        return x.index_select(0, places)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None]:  # type: ignore[no-untyped-def]
        (places,) = ctx.saved_tensors
        return grad.new_zeros(ctx.size, *grad.shape[1:]).index_copy_(0, places, grad), None


def spread(x: Tensor, places: Tensor, size: int) -> Tensor:
    """An array of `size` rows that has those of `x` at `places`, all distinct, and zeros."""
    found: Tensor = _Spread.apply(x, places, size)  # type: ignore[no-untyped-call]
    return found


def collect(x: Tensor, places: Tensor) -> Tensor:
    """The rows of `x` at `places`, all distinct."""
    found: Tensor = _Collect.apply(x, places)  # type: ignore[no-untyped-call]
    return found


@dataclass(frozen=True)
class Packed:
    """Sentences one after another.

    Attributes:
        tokens: (t,) ids.
        roles: (t,) sentence position of each token.
        positions: (t,) position of each token in its sentence.
        lengths: (n,) tokens of each sentence; all ≥ 1.
    """

    tokens: Tensor
    roles: Tensor
    positions: Tensor
    lengths: Tensor

    @classmethod
    def of(
        cls, sentences: Sequence[Tokens], roles: Sequence[Role], device: torch.device
    ) -> "Packed":
        """Pack non-empty sentences, each with its sentence position."""
        lengths = [len(tokens) for tokens in sentences]
        return cls.from_tensors(
            torch.tensor([t for tokens in sentences for t in tokens], device=device),
            torch.tensor([int(role) for role in roles], device=device),
            torch.tensor(lengths, device=device),
        )

    @classmethod
    def from_tensors(cls, tokens: Tensor, roles: Tensor, lengths: Tensor) -> "Packed":
        """Pack tokens (t,) of sentences with the given roles (n,) and lengths (n,)."""
        starts = lengths.cumsum(0) - lengths
        positions = torch.arange(len(tokens), device=tokens.device)
        positions = positions - starts.repeat_interleave(lengths)
        return cls(tokens, roles.repeat_interleave(lengths), positions, lengths)

    @property
    def longest(self) -> int:
        """Tokens of the longest sentence."""
        return int(self.lengths.max())

    @property
    def places(self) -> Tensor:
        """(t,) place of each token in the padded (n · longest) array."""
        rows = torch.arange(len(self.lengths), device=self.lengths.device)
        return rows.repeat_interleave(self.lengths) * self.longest + self.positions

    @property
    def real(self) -> Tensor:
        """(n, longest) which places hold a token."""
        return torch.arange(self.longest, device=self.lengths.device) < self.lengths[:, None]
