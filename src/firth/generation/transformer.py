"""The encoder-decoder Transformer of §3.2.2, over packed sentences.

Word, sentence-position and token-position embeddings are added (§3.2.2). The encoder reads each
given sentence by itself; the decoder generates the missing part, attending to all of them
together. So a sentence is encoded once for all contexts it is tried in, and a side of a context
once for all sentences, where reading [c_<; c_>] as one text would encode both anew in every pair.
The one-token text `<mask>` in the place of the missing part is always given too: it is all there
is to attend to when every neighbour is left out.

Sentences lie one after another, without padding, for all that treats tokens one by one; only
attention pads them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from firth.generation.forest import Tokens
from firth.generation.roles import ROLES, Role


@dataclass(frozen=True)
class Shape:
    """Sizes of the Transformer.

    Attributes:
        vocabulary: Tokens of the tokenizer.
        width: Size of the hidden states.
        layers: Of the encoder, and of the decoder.
        heads: Of each attention.
        feedforward: Inner size of the feed-forward layers.
        max_tokens: Longest part.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    feedforward: int
    max_tokens: int


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
    found: Tensor = _Spread.apply(x, places, size)
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


@dataclass(frozen=True)
class Memory:
    """What the decoder attends to: one row for each sentence it generates.

    Attributes:
        layers: For each decoder layer, keys and values, (n, m, 2 · width).
        real: (n, m) which of them are no padding; at least one in each row.
    """

    layers: Sequence[Tensor]
    real: Tensor


class _Feedforward(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(shape.width)
        self.inner = nn.Linear(shape.width, shape.feedforward)
        self.outer = nn.Linear(shape.feedforward, shape.width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.outer(functional.gelu(self.inner(self.norm(x)), approximate="tanh"))
        return out


class _SelfAttention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.norm = nn.LayerNorm(shape.width)
        self.inner = nn.Linear(shape.width, 3 * shape.width)
        self.outer = nn.Linear(shape.width, shape.width)

    def forward(self, x: Tensor, packed: Packed, places: Tensor, mask: Tensor) -> Tensor:
        n, longest = len(packed.lengths), packed.longest
        inner = spread(self.inner(self.norm(x)), places, n * longest)
        q, k, v = inner.view(n, longest, 3, -1).unbind(2)
        out: Tensor = self.outer(_Collect.apply(_attend(q, k, v, mask, self.heads), places))
        return out


class _CrossAttention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.norm = nn.LayerNorm(shape.width)
        self.query = nn.Linear(shape.width, shape.width)
        self.memory = nn.Linear(shape.width, 2 * shape.width)
        self.outer = nn.Linear(shape.width, shape.width)

    def forward(
        self, x: Tensor, packed: Packed, places: Tensor, memory: Tensor, mask: Tensor
    ) -> Tensor:
        n, longest = len(packed.lengths), packed.longest
        q = spread(self.query(self.norm(x)), places, n * longest).view(n, longest, -1)
        k, v = memory.chunk(2, -1)
        out: Tensor = self.outer(_Collect.apply(_attend(q, k, v, mask, self.heads), places))
        return out


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, heads: int) -> Tensor:
    """(n · queries, width) from q (n, queries, width), k and v (n, keys, width).

    Written out, because the fused kernel takes three times as long on a processor for texts this
    short (measured).
    """
    n, queries, width = q.shape
    keys, size = k.shape[1], width // heads

    def by_head(x: Tensor, length: int) -> Tensor:
        return x.reshape(n, length, heads, size).transpose(1, 2).reshape(n * heads, length, size)

    scores = torch.bmm(by_head(q, queries), by_head(k, keys).transpose(1, 2)) * size**-0.5
    scores = scores.float().view(n, heads, queries, keys).masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1).to(v.dtype).view(n * heads, queries, keys)
    mixed = torch.bmm(weights, by_head(v, keys)).view(n, heads, queries, size)
    return mixed.transpose(1, 2).reshape(n * queries, width)


class _EncoderLayer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention, self.feedforward = _SelfAttention(shape), _Feedforward(shape)


class _DecoderLayer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention, self.cross = _SelfAttention(shape), _CrossAttention(shape)
        self.feedforward = _Feedforward(shape)


class ContextTransformer(nn.Module):
    """Generates a missing part from the parts around it.

    Output and input embeddings are tied.

    Args:
        shape: Sizes.
        dropout: Of embeddings and of every residual branch.
    """

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape = shape
        self.word = nn.Embedding(shape.vocabulary, shape.width)
        self.sentence_position = nn.Embedding(len(ROLES), shape.width)
        self.token_position = nn.Embedding(shape.max_tokens, shape.width)
        self.encoder = nn.ModuleList(_EncoderLayer(shape) for _ in range(shape.layers))
        self.decoder = nn.ModuleList(_DecoderLayer(shape) for _ in range(shape.layers))
        self.encoder_norm = nn.LayerNorm(shape.width)
        self.decoder_norm = nn.LayerNorm(shape.width)
        self.dropout = nn.Dropout(dropout)
        self._initialise()

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.shape.width**-0.5)

    def _embed(self, packed: Packed) -> Tensor:
        word = self.word(packed.tokens)
        place = self.token_position(packed.positions) + self.sentence_position(packed.roles)
        embedded: Tensor = self.dropout(word * self.shape.width**0.5 + place)
        return embedded

    def encode(self, packed: Packed) -> Tensor:
        """Read sentences, each by itself: (t, width)."""
        x, places = self._embed(packed), packed.places
        mask = packed.real[:, None, None, :]
        for layer in self.encoder:
            x = x + self.dropout(layer.attention(x, packed, places, mask))
            x = x + self.dropout(layer.feedforward(x))
        encoded: Tensor = self.encoder_norm(x)
        return encoded

    def memories(self, encoded: Tensor) -> list[Tensor]:
        """Keys and values of encoded tokens for each decoder layer: (t, 2 · width) each."""
        return [layer.cross.memory(encoded) for layer in self.decoder]

    def decode(self, given: Packed, memory: Memory) -> Tensor:
        """States from which the next tokens follow: (t, width).

        Args:
            given: Decoder inputs: `<s>` and all tokens but the last, with the sentence position of
                the part to be generated.
            memory: What to generate it from.
        """
        x, places, longest = self._embed(given), given.places, given.longest
        causal = torch.ones(longest, longest, dtype=torch.bool, device=x.device).tril()
        mask = memory.real[:, None, None, :]
        for layer, known in zip(self.decoder, memory.layers, strict=True):
            x = x + self.dropout(layer.attention(x, given, places, causal))
            x = x + self.dropout(layer.cross(x, given, places, known, mask))
            x = x + self.dropout(layer.feedforward(x))
        decoded: Tensor = self.decoder_norm(x)
        return decoded
