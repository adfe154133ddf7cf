"""The coherence model: a BiLSTM reads sentences one by one, a last layer judges them together.

The last layer turns the sentence in the middle into a *query* over contexts, so that the logits of
one sentence with any number of contexts are one matrix product over cached sentence vectors.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from firth.paper.settings import Interaction
from firth.run.files import read_json, write_atomically, write_json

WEIGHTS, SETTINGS = "model.safetensors", "model.json"
Indices = npt.NDArray[np.int64]


class SentenceEncoder(nn.Module):
    """One-layer BiLSTM; a sentence is the last states of both directions (§3.2.1).

    The concatenated states are normalised to mean 0 and variance 1 (layer normalisation without
    weights): a bilinear form of raw states, all near 0 at first, hardly starts to train.

    The arguments are as in `Settings`.
    """

    def __init__(self, vocabulary: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.pieces = nn.Embedding(vocabulary, embedding)
        nn.init.normal_(self.pieces.weight, std=0.1)
        self.rightward = _lstm(embedding, hidden)
        self.leftward = _lstm(embedding, hidden)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Vectors of sentences, float32 of shape (n, 2 * hidden).

        `tokens` are int64 of shape (n, longest), padded on the right; `lengths` (n,), at least 1.
        """
        # Each direction is an LSTM of its own over text padded on the right, the leftward one
        # over reversed sentences: padding comes after the last real piece in both, and states
        # there are never read. PyTorch's packed sequences do the same three times slower.
        places = torch.arange(tokens.shape[1], device=tokens.device)
        reversed_places = (lengths[:, None] - 1 - places).clamp(min=0)
        last = (lengths - 1)[:, None, None].expand(-1, 1, self.rightward.hidden_size)
        states = []
        for lstm, read in (
            (self.rightward, tokens),
            (self.leftward, tokens.gather(1, reversed_places)),
        ):
            every, _ = lstm(self.pieces(read))
            states.append(every.gather(1, last)[:, 0].float())
        vectors = torch.cat(states, dim=1)
        return nn.functional.layer_norm(vectors, vectors.shape[1:])


def _lstm(embedding: int, hidden: int) -> nn.LSTM:
    lstm = nn.LSTM(embedding, hidden, batch_first=True)
    with torch.no_grad():
        # Remember by default (Jozefowicz et al., 2015): what counts is said all along a sentence,
        # and is read off at its end. Gates are in the order input, forget, cell, output.
        lstm.get_parameter("bias_ih_l0")[hidden : 2 * hidden] += 1.0
    return lstm


class Query(nn.Module):
    """What a sentence asks of contexts.

    Additive, it is Eq. 1 as printed, h·[h_<; h_s; h_>] + b: the query is the same for every
    sentence. Bilinear, h_<ᵀ W_< h_s + h_>ᵀ W_> h_s is added to the logit.
    """

    def __init__(self, size: int, interaction: Interaction) -> None:
        super().__init__()
        self.context = nn.Parameter(torch.zeros(2 * size))
        self.centre = nn.Parameter(torch.zeros(size))
        self.bias = nn.Parameter(torch.zeros(()))
        self.interaction = None
        if interaction is Interaction.BILINEAR:
            # Vectors have length sqrt(size): each of the two products starts with deviation 1/2.
            self.interaction = nn.Parameter(torch.randn(2 * size, size) / (2 * size))

    def forward(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Queries of shape (n, 2 * size) and constants of shape (n,) of sentences (n, size)."""
        query = self.context.expand(len(vectors), -1)
        if self.interaction is not None:
            query = query + vectors @ self.interaction.T
        return query, vectors @ self.centre + self.bias


@dataclass(frozen=True)
class Settings:
    """What is needed to build the model and to read text as it was trained to.

    Attributes:
        vocabulary: Number of word pieces.
        embedding: Size of a word piece's vector.
        hidden: Hidden size of each LSTM direction.
        interaction: The last layer.
        max_tokens: Word pieces read of a sentence.
        window: Sentences on each side of a position that make its context.
    """

    vocabulary: int
    embedding: int
    hidden: int
    interaction: Interaction
    max_tokens: int
    window: int


class CoherenceModel(nn.Module):
    """p(y=1 | c_<, s, c_>), the probability that s stands between c_< and c_>."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.encoder = SentenceEncoder(settings.vocabulary, settings.embedding, settings.hidden)
        self.query = Query(2 * settings.hidden, settings.interaction)

    @classmethod
    def seeded(cls, settings: Settings, seed: int = 0) -> "CoherenceModel":
        """With random weights; torch's random state is left alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(settings)

    def logits(self, sentences: Tensor, contexts: Tensor) -> Tensor:
        """Logits (n,) of h_s (n, 2 * hidden), each with the [h_<; h_>] (n, 4 * hidden) in its row.

        The sigmoid is p(y=1 | s, c).
        """
        query, constant = self.query(sentences)
        logits: Tensor = (query * contexts).sum(1) + constant
        return logits


def neighbours(positions: Indices, document_bounds: Indices, window: int) -> Indices:
    """The sentences around each position, in its document: (n, 2, window), c_< and then c_>.

    Nearest first; -1 where the document ends.
    """
    documents = np.searchsorted(document_bounds, positions, side="right") - 1
    reach = np.arange(1, window + 1)
    found = positions[:, None, None] + np.stack([-reach, reach])
    first, end = document_bounds[documents], document_bounds[documents + 1]
    inside = (found >= first[:, None, None]) & (found < end[:, None, None])
    return np.where(inside, found, -1)


def context_vectors(table: Tensor, rows: Indices) -> Tensor:
    """[h_<; h_>], (n, 2 * size), from sentence vectors `table` (m, size) by `neighbours` in it."""
    return torch.cat([mean_rows(table, rows[:, 0]), mean_rows(table, rows[:, 1])], dim=1)


def mean_rows(table: Tensor, rows: Indices) -> Tensor:
    """Mean of the `rows` (n, window) of `table` (m, size), -1 left out; (n, size), 0 for none."""
    if rows.shape[1] == 1 and (rows >= 0).all():
        return table[torch.from_numpy(rows[:, 0]).to(table.device)]
    total = torch.zeros(len(rows), table.shape[1], device=table.device)
    for column in torch.from_numpy(rows).to(table.device).unbind(1):
        total += table[column.clamp(min=0)] * (column >= 0).unsqueeze(1)
    present = torch.from_numpy((rows >= 0).sum(1, keepdims=True)).to(table.device)
    return total / present.clamp(min=1)


def save_model(folder: Path, model: CoherenceModel, settings: Settings) -> None:
    """Write weights and settings; the weights, written last, say that the model is complete."""
    write_json(folder / SETTINGS, asdict(settings))
    with write_atomically(folder / WEIGHTS) as partial:
        save_file({name: value.contiguous() for name, value in model.state_dict().items()}, partial)


def load_model(folder: Path) -> tuple[CoherenceModel, Settings]:
    """The model that `save_model` wrote, in evaluation mode."""
    values = read_json(folder / SETTINGS)
    settings = Settings(**{**values, "interaction": Interaction(values["interaction"])})
    model = CoherenceModel.seeded(settings)
    model.load_state_dict(load_file(folder / WEIGHTS))
    return model.eval(), settings
