"""The encoder-decoder Transformer of §3.2.2, over packed sentences.

Word, sentence-position and token-position embeddings are added (§3.2.2). The encoder reads each
given sentence by itself; the decoder generates the missing part, attending to all of them
together. So a sentence is encoded once for all contexts it is tried in, and a side of a context
once for all sentences, where reading [c_<; c_>] as one text would encode both anew in every pair.
The one-token text `<mask>` in the place of the missing part is always given too: it is all there
is to attend to when every neighbour is left out.

A word of the missing part often stands in its neighbours, and a small model learns that last. So
the output is a pointer sentinel mixture (Merity et al. 2017): one more attention over the given
parts, where weight on a token is probability of generating that token again, and weight on
`<mask>` is the share of the softmax over the vocabulary:

    p(w) = share · softmax(W h + b)[w] + copied(w)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn import functional

from firth.paper.generation.next_token import next_token_scores
from firth.paper.generation.protocol import Role, Tokens

_SENTINEL = 6.0
"""With 50 tokens to point at, pointing begins with a share of a tenth."""
_LOSS_STEP = 512


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


@dataclass(frozen=True)
class Packed:
    """Sentences one after another, without padding, for all that treats tokens one by one.

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
        tokens = torch.tensor([t for sentence in sentences for t in sentence], device=device)
        lengths = torch.tensor([len(sentence) for sentence in sentences], device=device)
        starts = (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
        numbers = torch.tensor([int(role) for role in roles], device=device)
        positions = torch.arange(len(tokens), device=device) - starts
        return cls(tokens, numbers.repeat_interleave(lengths), positions, lengths)

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest sentence."""
        return int(self.lengths.max())

    @cached_property
    def places(self) -> Tensor:
        """(t,) place of each token in the padded (n · longest) array."""
        rows = torch.arange(len(self.lengths), device=self.lengths.device)
        return rows.repeat_interleave(self.lengths) * self.longest + self.positions

    @property
    def real(self) -> Tensor:
        """(n, longest) which places hold a token."""
        return torch.arange(self.longest, device=self.lengths.device) < self.lengths[:, None]

    def spread(self, x: Tensor) -> Tensor:
        """Rows of x, (t, …), one for each token, as (n, longest, …), padded with zeros."""
        n, longest = len(self.lengths), self.longest
        padded = x.new_zeros(n * longest, *x.shape[1:]).index_copy_(0, self.places, x)
        return padded.view(n, longest, *x.shape[1:])

    def collect(self, padded: Tensor) -> Tensor:
        """The reverse: (n · longest, …) → (t, …)."""
        found: Tensor = _Collect.apply(padded, self.places)  # type: ignore[no-untyped-call]
        return found


@dataclass(frozen=True)
class Shape:
    """Sizes: of vocabulary, hidden states, attention and longest part; layers of both halves.

    Without `pointer` all probability is that of the softmax over the vocabulary.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    feedforward: int
    max_tokens: int
    pointer: bool = True


@dataclass(frozen=True)
class Memory:
    """What the decoder attends to: one row for each sentence it generates.

    Attributes:
        layers: For each decoder layer, keys and values, (n, m, 2 · width); last, where the shape
            has one, the keys of the pointer, (n, m, width / heads).
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


class _SelfAttention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.norm = nn.LayerNorm(shape.width)
        self.inner = nn.Linear(shape.width, 3 * shape.width)
        self.outer = nn.Linear(shape.width, shape.width)

    def forward(self, x: Tensor, packed: Packed, mask: Tensor) -> Tensor:
        q, k, v = packed.spread(self.inner(self.norm(x))).chunk(3, -1)
        out: Tensor = self.outer(packed.collect(_attend(q, k, v, mask, self.heads)))
        return out


class _CrossAttention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.norm = nn.LayerNorm(shape.width)
        self.query = nn.Linear(shape.width, shape.width)
        self.outer = nn.Linear(shape.width, shape.width)

    def forward(self, x: Tensor, packed: Packed, memory: Tensor, mask: Tensor) -> Tensor:
        q, (k, v) = packed.spread(self.query(self.norm(x))), memory.chunk(2, -1)
        out: Tensor = self.outer(packed.collect(_attend(q, k, v, mask, self.heads)))
        return out


class _Feedforward(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(shape.width)
        self.inner = nn.Linear(shape.width, shape.feedforward)
        self.outer = nn.Linear(shape.feedforward, shape.width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.outer(functional.gelu(self.inner(self.norm(x)), approximate="tanh"))
        return out


class _Layer(nn.Module):
    """Of the encoder; with `crosses`, of the decoder."""

    def __init__(self, shape: Shape, dropout: float, crosses: bool) -> None:
        super().__init__()
        self.attention = _SelfAttention(shape)
        self.cross = _CrossAttention(shape) if crosses else None
        self.feedforward = _Feedforward(shape)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, packed: Packed, mask: Tensor, *memory: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(x, packed, mask))
        if self.cross is not None:
            x = x + self.dropout(self.cross(x, packed, *memory))
        return x + self.dropout(self.feedforward(x))  # type: ignore[no-any-return]


class ContextTransformer(nn.Module):
    """Generates a missing part from the parts around it; input and output embeddings are tied.

    Args:
        shape: Sizes.
        dropout: Of embeddings and of every residual branch.
    """

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape = shape
        width, small = shape.width, shape.width // shape.heads
        self.word = nn.Embedding(shape.vocabulary, width)
        self.sentence_position = nn.Embedding(len(Role), width)
        self.token_position = nn.Embedding(shape.max_tokens, width)
        layers = range(shape.layers)
        self.encoder = nn.ModuleList(_Layer(shape, dropout, crosses=False) for _ in layers)
        self.decoder = nn.ModuleList(_Layer(shape, dropout, crosses=True) for _ in layers)
        self.keys_values = nn.ModuleList(nn.Linear(width, 2 * width) for _ in layers)
        if shape.pointer:
            self.pointer_query = nn.Linear(width, small, bias=False)
            self.pointer_key = nn.Linear(width, small, bias=False)
            self.sentinel = nn.Parameter(torch.tensor(_SENTINEL))
        self.bias = nn.Parameter(torch.zeros(shape.vocabulary))
        self.encoder_norm = nn.LayerNorm(width)
        self.decoder_norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=width**-0.5)
        if shape.pointer:
            nn.init.zeros_(self.pointer_query.weight)

    def _embed(self, packed: Packed) -> Tensor:
        word = self.word(packed.tokens)
        place = self.token_position(packed.positions) + self.sentence_position(packed.roles)
        embedded: Tensor = self.dropout(word * self.shape.width**0.5 + place)
        return embedded

    def read(self, packed: Packed) -> list[Tensor]:
        """Read sentences, each by itself, for `Memory.layers`: (t, …) each."""
        x, mask = self._embed(packed), packed.real[:, None, None, :]
        for layer in self.encoder:
            x = layer(x, packed, mask)
        x = self.encoder_norm(x)
        known = [project(x) for project in self.keys_values]
        return [*known, self.pointer_key(x)] if self.shape.pointer else known

    def decode(self, given: Packed, memory: Memory, targets: Tensor) -> Prediction:
        """Predict the next tokens.

        Args:
            given: Decoder inputs: `<s>` and all tokens but the last, with the sentence position of
                the part to be generated.
            memory: What to generate it from.
            targets: (t,) the tokens that really follow.
        """
        x, longest = self._embed(given), given.longest
        causal = torch.ones(longest, longest, dtype=torch.bool, device=x.device).tril()
        mask = memory.real[:, None, None, :]
        for layer, known in zip(self.decoder, memory.layers, strict=False):
            x = layer(x, given, causal, known, mask)
        x = self.decoder_norm(x)
        if not self.shape.pointer:
            nothing = torch.zeros(len(targets), device=x.device)
            return Prediction(x, nothing, nothing)

        keys = memory.layers[-1]
        query = given.spread(self.pointer_query(x))
        scores = torch.bmm(query, keys.transpose(1, 2)).float() * keys.shape[-1] ** -0.5
        scores = scores.masked_fill(~memory.real[:, None], float("-inf"))
        first = torch.arange(keys.shape[1], device=x.device) == 0
        weights = (scores + self.sentinel.float() * first).log_softmax(-1)
        again = (memory.tokens[:, None] == given.spread(targets)[..., None]) & ~first
        copied = torch.where(again, weights, float("-inf")).exp().sum(-1).view(-1)
        share = given.collect(weights[..., 0].reshape(-1))
        return Prediction(x, share, given.collect(copied))

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


def mixture_scores(model: ContextTransformer, prediction: Prediction, targets: Tensor) -> Tensor:
    """log p of each target, float32 of shape (t,)."""
    own = next_token_scores(prediction.states, targets, model.word.weight, model.bias)
    return torch.logaddexp(own + prediction.log_share, prediction.copied.log()).clamp_(max=0)


class _MixtureLoss(torch.autograd.Function):
    """Mean −log p, with its gradients computed on the way, slice by slice."""

    @staticmethod
    def forward(  # type: ignore[no-untyped-def]
        ctx, states, weight, bias, log_share, copied, targets, dtype
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
        mean: Tensor = total / len(targets)
        return mean

    @staticmethod
    def backward(ctx, grad: Tensor):  # type: ignore[no-untyped-def]
        states, weight, *others = ctx.saved_tensors
        scale, (of_states, of_weight) = grad / len(states), ctx.types
        scaled = ((states * scale).to(of_states), (weight * scale).to(of_weight))
        return (*scaled, *(each * scale for each in others), None, None)


def mixture_loss(model: ContextTransformer, prediction: Prediction, targets: Tensor) -> Tensor:
    """Mean of −log p over the targets, for training.

    The logits of a batch, a hundred times larger than all else, are never held at once. Computes in
    bfloat16 under autocast, else in the number format of the states.
    """
    kind, dtype = targets.device.type, prediction.states.dtype
    if torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
    parts = (prediction.states, model.word.weight, model.bias, prediction.log_share)
    with torch.autocast(kind, enabled=False):
        loss: Tensor = _MixtureLoss.apply(  # type: ignore[no-untyped-call]
            *parts, prediction.copied, targets, dtype
        )
    return loss
