"""The encoder, the two decoders, and the loss of what they write."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class Padded:
    """Sentences as a rectangle of word numbers.

    Attributes:
        pieces: int64, (B, T); 0 after a sentence's end.
        lengths: int64, (B,), at least 1.
    """

    pieces: Tensor
    lengths: Tensor

    @property
    def inside(self) -> Tensor:
        """(B, T): true where there is a word."""
        return torch.arange(self.pieces.shape[1]) < self.lengths[:, None]


@dataclass(frozen=True)
class Sampled:
    """Words that stand for the whole vocabulary in one softmax (Jean et al. 2015, §3).

    Attributes:
        words: int64, (S,), distinct.
        odds: float32, (V,): log of how often a word is expected in such a sample.
    """

    words: Tensor
    odds: Tensor


class SkipThought(nn.Module):
    """A GRU encoder whose last state is the sentence vector, and two GRU decoders.

    A decoder sees the sentence vector at every step beside the word before: the conditional GRU of
    §2.1, whose biases are linear in the vector, with one matrix.

    Args:
        vocabulary: V.
        embedding: Size of a word vector, shared by all three.
        hidden: Size of the sentence vector and of the decoders' states.
    """

    def __init__(self, vocabulary: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.encoder = nn.GRU(embedding, hidden, batch_first=True)
        self.before = nn.GRU(embedding + hidden, hidden, batch_first=True)
        self.after = nn.GRU(embedding + hidden, hidden, batch_first=True)
        self.output = nn.Embedding(vocabulary, hidden)
        nn.init.normal_(self.output.weight, std=0.1)

    def forward(self, sentences: Padded) -> Tensor:
        """Sentence vectors, (B, hidden)."""
        states, _ = self.encoder(self.embedding(sentences.pieces))
        last: Tensor = states[torch.arange(len(states)), sentences.lengths - 1]
        return last

    def loss(self, centres: Padded, before: Padded, after: Padded, sampled: Sampled) -> Tensor:
        """Mean negative log-likelihood of a word of the sentences before and after (§2.1, Eq. 10).

        A rectangle's rows belong together; each word's softmax is over it and the sampled words.
        """
        vectors = self(centres)
        costs = [
            self._written(self.before, vectors, before, sampled),
            self._written(self.after, vectors, after, sampled),
        ]
        return torch.cat(costs).mean()

    def _written(
        self, decoder: nn.GRU, vectors: Tensor, sentences: Padded, sampled: Sampled
    ) -> Tensor:
        """-log p of each word, (number of words,)."""
        words = self.embedding(sentences.pieces)
        # The first word is written from the sentence vector alone.
        previous = functional.pad(words, (0, 0, 1, 0))[:, :-1]
        given = vectors[:, None].expand(-1, words.shape[1], -1)
        states, _ = decoder(torch.cat((previous, given), dim=2))
        inside = sentences.inside
        return sampled_cost(states[inside], sentences.pieces[inside], self.output.weight, sampled)


def sampled_cost(states: Tensor, targets: Tensor, output: Tensor, sampled: Sampled) -> Tensor:
    """-log softmax of each target among itself and the sampled words, corrected for sampling.

    Args:
        states: (N, h).
        targets: (N,), word numbers.
        output: (V, h).
        sampled: The sample, and how likely each word was to be in it.

    Returns:
        (N,). With every word sampled and equal odds it is the full softmax.
    """
    own = (states * output[targets]).sum(dim=1) - sampled.odds[targets]
    others = states @ output[sampled.words].T - sampled.odds[sampled.words]
    others = others.masked_fill(sampled.words == targets[:, None], -torch.inf)
    return torch.logsumexp(torch.cat((own[:, None], others), dim=1), dim=1) - own
