"""The encoder-decoder Transformer of §3.2.2, over packed sentences.

Word, sentence-position and token-position embeddings are added (§3.2.2). The encoder reads each
given sentence by itself, once for all contexts, or with `joint` all that are given together. The
decoder generates the missing part, sentence by sentence, and attends to all of them. It also
attends to the text `<mask>`, in case all neighbors are left out.

A word of the missing part often occurs in its neighbors, which a small model learns last. The
output is a pointer sentinel mixture (Merity et al. 2017): the weight of one more attention on a
given token is the probability of generating it again. Its weight on `<mask>` is the share of the
softmax over the vocabulary:

    p(w) = share · softmax(W h + b)[w] + copied(w)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn import functional

from firth.paper.tokens import Part
from firth.text.types import Ints

_SENTINEL = 6.0
"""With 50 tokens to point at, pointing starts with a share of a tenth."""
_LOSS_ROWS = 512
_VOCABULARY_STEP, _ROW_STEP = 2048, 256


@dataclass(frozen=True)
class Packed:
    """Rows of sentences one after another, without padding, for layers that treat tokens singly.

    `tokens`, `offsets` and `positions` are (t,): id, offset of the sentence, and place in it.
    `lengths` are the tokens of the n rows.
    """

    tokens: Tensor
    offsets: Tensor
    positions: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, rows: Sequence[Part], device: torch.device) -> "Packed":
        """Pack rows that are not empty."""
        offsets, sentences = zip(*(given for row in rows for given in row), strict=True)
        sizes = torch.tensor([len(tokens) for tokens in sentences], device=device)
        tokens = torch.tensor([t for tokens in sentences for t in tokens], device=device)
        starts = (sizes.cumsum(0) - sizes).repeat_interleave(sizes)
        positions = torch.arange(len(tokens), device=device) - starts
        lengths = [sum(len(tokens) for _, tokens in row) for row in rows]
        numbers = torch.tensor(offsets, device=device).repeat_interleave(sizes)
        return cls(tokens, numbers, positions, torch.tensor(lengths, device=device))

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest row."""
        return int(self.lengths.max())

    @cached_property
    def starts(self) -> Tensor:
        """The first token of each row, (n,)."""
        return self.lengths.cumsum(0) - self.lengths

    @cached_property
    def places(self) -> Tensor:
        """Place of each token in the padded array, (t,)."""
        rows = torch.arange(len(self.lengths), device=self.lengths.device)
        moved = (rows * self.longest - self.starts).repeat_interleave(self.lengths)
        return torch.arange(len(self.tokens), device=self.lengths.device) + moved

    @property
    def real(self) -> Tensor:
        """Mask of the places that hold a token, (n, longest)."""
        return torch.arange(self.longest, device=self.lengths.device) < self.lengths[:, None]

    def spread(self, x: Tensor) -> Tensor:
        """Pad x (t, …), one entry for each token, with zeros to (n, longest, …)."""
        n, longest = len(self.lengths), self.longest
        padded = x.new_zeros(n * longest, *x.shape[1:]).index_copy_(0, self.places, x)
        return padded.view(n, longest, *x.shape[1:])

    def collect(self, padded: Tensor) -> Tensor:
        """Reverse `spread`: (n · longest, …) to (t, …)."""
        return padded.index_select(0, self.places)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes of the Transformer; without `pointer` its output is the softmax alone.

    `window` is the largest offset of a sentence, and `max_tokens` the most tokens of one. With
    `joint` the encoder reads all given sentences together.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    feedforward: int
    max_tokens: int
    pointer: bool = True
    window: int = 1
    joint: bool = False


@dataclass(frozen=True)
class Memory:
    """What the decoder attends to, one row for each part to generate.

    `layers` are keys and values of each decoder layer, (n, m, 2 · width), and the keys of the
    pointer. The first of `tokens` (n, m) is `<mask>`; `real` masks padding.
    """

    layers: Sequence[Tensor]
    tokens: Tensor
    real: Tensor


@dataclass(frozen=True)
class Prediction:
    """The distribution of the next token at t places.

    `states` (t, width) are to be multiplied with the output embedding; `log_share` (t,) is the
    share of the softmax, and `copied` (t,) the probability of the true token by pointing.
    """

    states: Tensor
    log_share: Tensor
    copied: Tensor


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, heads: int) -> Tensor:
    """Return (n · queries, width) from q (n, queries, width), k and v (n, keys, width)."""
    # Written out: on a processor the fused kernel takes three times as long for texts this short.
    n, queries, width = q.shape
    keys, size = k.shape[1], width // heads

    def by_head(x: Tensor, length: int) -> Tensor:
        return x.reshape(n, length, heads, size).transpose(1, 2).reshape(n * heads, length, size)

    scores = torch.bmm(by_head(q, queries), by_head(k, keys).transpose(1, 2)) * size**-0.5
    scores = scores.float().view(n, heads, queries, keys).masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1).to(v.dtype).view(n * heads, queries, keys)
    mixed = torch.bmm(weights, by_head(v, keys)).view(n, heads, queries, size)
    return mixed.transpose(1, 2).reshape(n * queries, width)


class _Attention(nn.Module):
    """Self-attention; with `crosses`, attention to keys and values that are given."""

    def __init__(self, shape: Shape, crosses: bool) -> None:
        super().__init__()
        self.heads = shape.heads
        self.norm = nn.LayerNorm(shape.width)
        self.inner = nn.Linear(shape.width, shape.width if crosses else 3 * shape.width)
        self.outer = nn.Linear(shape.width, shape.width)

    def forward(
        self, x: Tensor, packed: Packed, mask: Tensor, memory: Tensor | None = None
    ) -> Tensor:
        inner = packed.spread(self.inner(self.norm(x)))
        q, k, v = inner.chunk(3, -1) if memory is None else (inner, *memory.chunk(2, -1))
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
    """A layer of the encoder; with `crosses`, of the decoder."""

    def __init__(self, shape: Shape, dropout: float, crosses: bool) -> None:
        super().__init__()
        self.attention = _Attention(shape, crosses=False)
        self.cross = _Attention(shape, crosses=True) if crosses else None
        self.feedforward = _Feedforward(shape)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        packed: Packed,
        mask: Tensor,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        x = x + self.dropout(self.attention(x, packed, mask))
        if self.cross is not None:
            x = x + self.dropout(self.cross(x, packed, memory_mask, memory))
        return x + self.dropout(self.feedforward(x))  # type: ignore[no-any-return]


class ContextTransformer(nn.Module):
    """Generates a missing part from the parts around it; input and output embeddings are tied."""

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape = shape
        width, small = shape.width, shape.width // shape.heads
        self.word = nn.Embedding(shape.vocabulary, width)
        self.sentence_position = nn.Embedding(2 * shape.window + 1, width)
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

    def _embed(self, tokens: Tensor, packed: Packed) -> Tensor:
        word, offsets = self.word(tokens), packed.offsets + self.shape.window
        place = self.token_position(packed.positions) + self.sentence_position(offsets)
        embedded: Tensor = self.dropout(word * self.shape.width**0.5 + place)
        return embedded

    def read(self, packed: Packed) -> list[Tensor]:
        """Read rows, each by itself, for `Memory.layers`: (t, …) each."""
        x, mask = self._embed(packed.tokens, packed), packed.real[:, None, None, :]
        for layer in self.encoder:
            x = layer(x, packed, mask)
        x = self.encoder_norm(x)
        known = [project(x) for project in self.keys_values]
        return [*known, self.pointer_key(x)] if self.shape.pointer else known

    def decode(self, targets: Packed, start: int, memory: Memory) -> Prediction:
        """Predict each token of the targets from those before it in its row, and from memory.

        The input is the token before it, or `start`, with the offset and place of the target.
        """
        before = targets.tokens.roll(1).index_fill_(0, targets.starts, start)
        x, longest = self._embed(before, targets), targets.longest
        causal = torch.ones(longest, longest, dtype=torch.bool, device=x.device).tril()
        mask = memory.real[:, None, None, :]
        for layer, known in zip(self.decoder, memory.layers, strict=False):
            x = layer(x, targets, causal, known, mask)
        x = self.decoder_norm(x)
        if not self.shape.pointer:
            nothing = torch.zeros(len(before), device=x.device)
            return Prediction(x, nothing, nothing)

        keys = memory.layers[-1]
        query = targets.spread(self.pointer_query(x))
        scores = torch.bmm(query, keys.transpose(1, 2)).float() * keys.shape[-1] ** -0.5
        scores = scores.masked_fill(~memory.real[:, None], float("-inf"))
        first = torch.arange(keys.shape[1], device=x.device) == 0
        weights = (scores + self.sentinel.float() * first).log_softmax(-1)
        again = (memory.tokens[:, None] == targets.spread(targets.tokens)[..., None]) & ~first
        copied = torch.where(again, weights, float("-inf")).exp().sum(-1).view(-1)
        share = targets.collect(weights[..., 0].reshape(-1))
        return Prediction(x, share, targets.collect(copied))

    def start_from(self, counts: Ints) -> None:
        """Start the softmax as the frequencies of the first tokens, from their counts."""
        frequencies = torch.full_like(self.bias, 0.1)
        frequencies[: len(counts)] += torch.from_numpy(counts)
        with torch.no_grad():
            self.bias.copy_((frequencies / frequencies.sum()).log())

    def cast(self, dtype: torch.dtype, device: torch.device) -> "ContextTransformer":
        """Move, and change the number format of all but the output bias, which stays float32."""
        bias = self.bias.data
        self.to(dtype=dtype, device=device)
        self.bias.data = bias.to(device)
        return self


# Probabilities of next tokens, without the logits of a whole batch


def next_token_scores(
    states: Tensor, targets: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """Return log softmax(W h + b) at each target, float32 of shape (m,).

    `states` h are (m, d). Slices of the vocabulary stay in the cache of the processor. Sums are
    float32 in any number format.
    """
    if not len(targets):
        return states.new_zeros(0, dtype=torch.float32)
    parts = torch.split(states, _ROW_STEP)
    totals = torch.cat([_log_totals(part, weight, bias) for part in parts])
    chosen = (states.float() * weight[targets].float()).sum(-1)
    if bias is not None:
        chosen = chosen + bias[targets].float()
    return chosen.sub_(totals).clamp_(max=0)


def _log_totals(states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return log Σ exp(W h + b), float32 of shape (t,)."""
    slices = []
    for begin in range(0, len(weight), _VOCABULARY_STEP):
        logits = functional.linear(states, weight[begin : begin + _VOCABULARY_STEP]).float()
        if bias is not None:
            logits.add_(bias[begin : begin + _VOCABULARY_STEP])
        top = logits.amax(-1, keepdim=True)
        slices.append(logits.sub_(top).exp_().sum(-1).log_().add_(top[:, 0]))
    return torch.stack(slices).logsumexp(0)


def mixture_scores(model: ContextTransformer, prediction: Prediction, targets: Tensor) -> Tensor:
    """Return log p of each target, float32 of shape (t,)."""
    written = next_token_scores(prediction.states, targets, model.word.weight, model.bias)
    return torch.logaddexp(written + prediction.log_share, prediction.copied.log()).clamp_(max=0)


class _MixtureLoss(torch.autograd.Function):
    """Mean −log p. The forward pass computes the gradients too, slice by slice."""

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
        for first in range(0, len(h), _LOSS_ROWS):
            now = slice(first, first + _LOSS_ROWS)
            rows, wanted = h[now], targets[now, None]
            logits = functional.linear(rows, w).float().add_(bias)
            shifted = logits.sub_(logits.logsumexp(-1, keepdim=True))
            written = shifted.gather(1, wanted)[:, 0].exp_() * share[now]
            whole = written + copied[now]
            total -= whole.log().sum()
            # The gradient by the logits is that of −log softmax, times the vocabulary's share in
            # the probability.
            part = (written / whole)[:, None]
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
    """Return the mean of −log p over the targets, for training.

    The logits of a batch are never held at once. Products are bfloat16 under autocast.
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
