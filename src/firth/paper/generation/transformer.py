"""The encoder-decoder Transformer of §3.2.2, over packed sentences.

Word, sentence-position and token-position embeddings are added (§3.2.2). The encoder reads each
given sentence by itself; the decoder generates the missing part, attending to all of them
together. So a sentence is encoded once for all contexts it is tried in, and a side of a context
once for all sentences, where reading [c_<; c_>] as one text would encode both anew in every pair.
The one-token text `<mask>` in the place of the missing part is always given too: it is all there
is to attend to when every neighbour is left out.

A word of the missing part often stands in its neighbours, and a small model learns that last. So
the output is a pointer sentinel mixture (Merity et al. 2017): one more attention over the given
parts, where weight on a token is probability of generating that token again, and weight on `<mask>`
is the share of the softmax over the vocabulary.

Sentences lie one after another, without padding, for all that treats tokens one by one; only
attention pads them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from firth.paper.generation.packed import Packed, collect, spread
from firth.paper.generation.roles import ROLES

_SENTINEL = 6.0
"""With 50 tokens to point at, pointing begins with a share of a tenth."""


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


@dataclass(frozen=True)
class Memory:
    """What the decoder attends to: one row for each sentence it generates.

    Attributes:
        layers: For each decoder layer, keys and values, (n, m, 2 · width); last, the keys of the
            pointer, (n, m, width / heads).
        tokens: (n, m) which tokens they are; the first in each row is `<mask>`.
        real: (n, m) which of them are no padding.
    """

    layers: Sequence[Tensor]
    tokens: Tensor
    real: Tensor


@dataclass(frozen=True)
class Prediction:
    """What is known of the next tokens of t places.

    Attributes:
        states: (t, width), to be multiplied with the output embedding.
        log_share: (t,) float32, log of the share of the softmax over the vocabulary.
        copied: (t,) float32, probability of the true next token by pointing at it.
    """

    states: Tensor
    log_share: Tensor
    copied: Tensor


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
        out: Tensor = self.outer(collect(_attend(q, k, v, mask, self.heads), places))
        return out


class _CrossAttention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.norm = nn.LayerNorm(shape.width)
        self.query = nn.Linear(shape.width, shape.width)
        self.outer = nn.Linear(shape.width, shape.width)

    def forward(
        self, x: Tensor, packed: Packed, places: Tensor, memory: Tensor, mask: Tensor
    ) -> Tensor:
        n, longest = len(packed.lengths), packed.longest
        q = spread(self.query(self.norm(x)), places, n * longest).view(n, longest, -1)
        k, v = memory.chunk(2, -1)
        out: Tensor = self.outer(collect(_attend(q, k, v, mask, self.heads), places))
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
    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        self.attention, self.feedforward = _SelfAttention(shape), _Feedforward(shape)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, packed: Packed, places: Tensor, mask: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(x, packed, places, mask))
        return x + self.dropout(self.feedforward(x))  # type: ignore[no-any-return]


class _DecoderLayer(nn.Module):
    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        self.attention, self.cross = _SelfAttention(shape), _CrossAttention(shape)
        self.feedforward = _Feedforward(shape)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        packed: Packed,
        places: Tensor,
        causal: Tensor,
        memory: Tensor,
        mask: Tensor,
    ) -> Tensor:
        x = x + self.dropout(self.attention(x, packed, places, causal))
        x = x + self.dropout(self.cross(x, packed, places, memory, mask))
        return x + self.dropout(self.feedforward(x))  # type: ignore[no-any-return]


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
        self.encoder = nn.ModuleList(_EncoderLayer(shape, dropout) for _ in range(shape.layers))
        self.decoder = nn.ModuleList(_DecoderLayer(shape, dropout) for _ in range(shape.layers))
        self.keys_values = nn.ModuleList(
            nn.Linear(shape.width, 2 * shape.width) for _ in range(shape.layers)
        )
        self.pointer_query = nn.Linear(shape.width, shape.width // shape.heads, bias=False)
        self.pointer_key = nn.Linear(shape.width, shape.width // shape.heads, bias=False)
        self.sentinel = nn.Parameter(torch.tensor(_SENTINEL))
        self.bias = nn.Parameter(torch.zeros(shape.vocabulary))
        self.encoder_norm = nn.LayerNorm(shape.width)
        self.decoder_norm = nn.LayerNorm(shape.width)
        self.dropout = nn.Dropout(dropout)
        self._initialise()

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.shape.width**-0.5)
        nn.init.zeros_(self.pointer_query.weight)

    def _embed(self, packed: Packed) -> Tensor:
        word = self.word(packed.tokens)
        place = self.token_position(packed.positions) + self.sentence_position(packed.roles)
        embedded: Tensor = self.dropout(word * self.shape.width**0.5 + place)
        return embedded

    def read(self, packed: Packed) -> list[Tensor]:
        """Read sentences, each by itself, for `Memory.layers`: (t, …) each."""
        x, places = self._embed(packed), packed.places
        mask = packed.real[:, None, None, :]
        for layer in self.encoder:
            x = layer(x, packed, places, mask)
        x = self.encoder_norm(x)
        return [*(project(x) for project in self.keys_values), self.pointer_key(x)]

    def decode(self, given: Packed, memory: Memory, targets: Tensor) -> Prediction:
        """Predict the next tokens.

        Args:
            given: Decoder inputs: `<s>` and all tokens but the last, with the sentence position of
                the part to be generated.
            memory: What to generate it from.
            targets: (t,) the tokens that really follow.
        """
        x, places, longest = self._embed(given), given.places, given.longest
        causal = torch.ones(longest, longest, dtype=torch.bool, device=x.device).tril()
        mask = memory.real[:, None, None, :]
        for layer, known in zip(self.decoder, memory.layers, strict=False):
            x = layer(x, given, places, causal, known, mask)
        x = self.decoder_norm(x)

        n, keys = len(given.lengths), memory.layers[-1]
        query = spread(self.pointer_query(x), places, n * longest).view(n, longest, -1)
        scores = torch.bmm(query, keys.transpose(1, 2)).float() * keys.shape[-1] ** -0.5
        scores = scores.masked_fill(~memory.real[:, None], float("-inf"))
        first = torch.arange(keys.shape[1], device=x.device) == 0
        weights = (scores + self.sentinel.float() * first).log_softmax(-1)
        wanted = spread(targets, places, n * longest).view(n, longest, 1)
        again = (memory.tokens[:, None] == wanted) & ~first
        copied = torch.where(again, weights, float("-inf")).exp().sum(-1).view(-1)
        return Prediction(x, collect(weights[..., 0].reshape(-1), places), collect(copied, places))

    def start_from(self, counts: Tensor) -> None:
        """Let the softmax begin as the frequencies of tokens, from `counts`, (vocabulary,)."""
        with torch.no_grad():
            self.bias.copy_(((counts + 0.1) / (counts + 0.1).sum()).log())

    def cast(self, dtype: torch.dtype, device: torch.device) -> "ContextTransformer":
        """Move, and change the number format of all but the output bias, which stays float32."""
        bias = self.bias.data
        self.to(dtype=dtype, device=device)
        self.bias.data = bias.to(device)
        return self
