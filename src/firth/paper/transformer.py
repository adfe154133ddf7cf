"""The encoder-decoder Transformer of §3.2.2, of the layers of torch.

Word, sentence-position and token-position embeddings are added (§3.2.2). The encoder reads all
given sentences as one text. The decoder generates the missing part, sentence by sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from firth.paper.tokens import Part
from firth.text.types import Ints

_HEAD = 64
"""Dimensions of an attention head at most (Vaswani et al. 2017)."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes of the Transformer.

    `window` is the largest offset of a sentence, and `max_tokens` the most tokens of one.
    """

    vocabulary: int
    width: int
    layers: int
    max_tokens: int
    window: int = 1


@dataclass(frozen=True)
class Padded:
    """Rows of sentences one after another, padded on the right, (n, longest) each.

    They are the ids of tokens, offsets of sentences, places in them, and which are no padding.
    """

    tokens: Tensor
    offsets: Tensor
    places: Tensor
    real: Tensor

    @classmethod
    def of(cls, rows: Sequence[Part], device: torch.device) -> "Padded":
        """Pad rows that are not empty."""
        cells = [
            torch.tensor([(t, offset, k) for offset, s in row for k, t in enumerate(s)])
            for row in rows
        ]
        sizes = torch.tensor([len(row) for row in cells], device=device)
        padded = nn.utils.rnn.pad_sequence(cells, batch_first=True).to(device)
        real = torch.arange(padded.shape[1], device=device) < sizes[:, None]
        tokens, offsets, places = padded.unbind(-1)
        return cls(tokens, offsets, places, real)


class ContextTransformer(nn.Module):
    """Generates a missing part from the parts around it; input and output embeddings are tied."""

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape, width = shape, shape.width
        self.word = nn.Embedding(shape.vocabulary, width)
        self.sentence_position = nn.Embedding(2 * shape.window + 1, width)
        self.token_position = nn.Embedding(shape.max_tokens, width)
        for embedding in (self.word, self.sentence_position, self.token_position):
            nn.init.normal_(embedding.weight, std=width**-0.5)
        sizes = {"dim_feedforward": 4 * width, "dropout": dropout, "activation": functional.gelu}
        heads, order = max(1, width // _HEAD), {"batch_first": True, "norm_first": True}
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(width, heads, **sizes, **order),  # type: ignore[arg-type]
            shape.layers, nn.LayerNorm(width), enable_nested_tensor=False,
        )  # fmt: skip
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(width, heads, **sizes, **order),  # type: ignore[arg-type]
            shape.layers, nn.LayerNorm(width),
        )  # fmt: skip
        for weight in (*self.encoder.parameters(), *self.decoder.parameters()):
            if weight.dim() > 1:
                nn.init.xavier_uniform_(weight)
        self.bias = nn.Parameter(torch.zeros(shape.vocabulary))
        self.dropout = nn.Dropout(dropout)

    def _embed(self, tokens: Tensor, padded: Padded) -> Tensor:
        offsets = self.sentence_position(padded.offsets + self.shape.window)
        place = self.token_position(padded.places) + offsets
        embedded: Tensor = self.dropout(self.word(tokens) * self.shape.width**0.5 + place)
        return embedded

    def read(self, given: Padded) -> Tensor:
        """Return the states of what is given, (n, longest, width)."""
        states: Tensor = self.encoder(
            self._embed(given.tokens, given), src_key_padding_mask=~given.real
        )
        return states

    def logits(self, targets: Padded, start: int, memory: Tensor, known: Tensor) -> Tensor:
        """Return logits of the tokens of the targets, (t, vocabulary), row after row.

        Each is predicted from those before it in its row, and from memory, (n, m, width), of which
        `known` (n, m) are no padding. The input is the token before it, or `start`, with the offset
        and place of the target.
        """
        before = targets.tokens.roll(1, 1).index_fill(1, targets.tokens.new_zeros(1), start)
        longest = before.shape[1]
        hidden = torch.ones(longest, longest, dtype=torch.bool, device=before.device).triu(1)
        states = self.decoder(
            self._embed(before, targets), memory, tgt_mask=hidden,
            tgt_key_padding_mask=~targets.real, memory_key_padding_mask=~known,
        )  # fmt: skip
        return functional.linear(states[targets.real], self.word.weight, self.bias)

    def start_from(self, counts: Ints) -> None:
        """Start the softmax as the frequencies of the first tokens, from their counts."""
        frequencies = torch.full_like(self.bias, 0.1)
        frequencies[: len(counts)] += torch.from_numpy(counts)
        with torch.no_grad():
            self.bias.copy_((frequencies / frequencies.sum()).log())
