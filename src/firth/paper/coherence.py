"""The discriminative model p(y=1 | c_<, s, c_>), the coherence of a sentence in a context (§3.2.1).

A BiLSTM reads sentences one by one. The last layer turns the sentence in the middle into a query
over contexts, so that the logits of a sentence with any contexts are one product (§3.3).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.functional import layer_norm, logsigmoid

from firth.corpus.corpus import Corpus
from firth.encoders.transformer import device
from firth.paper.tokens import Pairs, TokenTable, encodable
from firth.run.files import read_json, write_json
from firth.run.run import Run
from firth.run.stage import Stage
from firth.text.types import Ints, Singles
from firth.train.loop import write_tensors
from firth.train.tokenizer import open_tokenizer

COHERENCE = Stage("paper/coherence", 7, "torch", "firth paper build")
WEIGHTS, SHAPE, VECTORS = "model.safetensors", "model.json", "vectors.npy"
BATCH_TOKENS = 8_192
"""Padded tokens that are read at once."""


@dataclass(frozen=True)
class Shape:
    """Sizes of the model, and how it reads text; `additive` interaction is Eq. 1 as printed."""

    vocabulary: int
    hidden: int
    interaction: str
    max_tokens: int
    window: int


class SentenceEncoder(nn.Module):
    """One-layer BiLSTM: the last states of both directions, with mean 0 and variance 1.

    A bilinear form of raw states, all near 0 at first, hardly starts to learn.
    """

    def __init__(self, vocabulary: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropped = nn.Dropout(dropout)
        self.tokens = nn.Embedding(vocabulary, hidden)
        nn.init.normal_(self.tokens.weight, std=0.1)
        self.rightward = _lstm(hidden)
        self.leftward = _lstm(hidden)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return vectors (n, 2 · hidden) of tokens (n, longest), padded on the right."""
        # Each direction is an LSTM over text padded on the right, the leftward one over reversed
        # sentences. No state after the last token is read. Packed sequences do the same in three
        # times as long.
        places = torch.arange(tokens.shape[1], device=tokens.device)
        backward = tokens.gather(1, (lengths[:, None] - 1 - places).clamp(min=0))
        last = (lengths - 1)[:, None, None].expand(-1, 1, self.rightward.hidden_size)
        states = []
        for lstm, read in ((self.rightward, tokens), (self.leftward, backward)):
            every, _ = lstm(self.dropped(self.tokens(read)))
            states.append(every.gather(1, last)[:, 0].float())
        vectors = torch.cat(states, dim=1)
        normed: Tensor = self.dropped(layer_norm(vectors, vectors.shape[1:]))
        return normed


def _lstm(hidden: int) -> nn.LSTM:
    lstm = nn.LSTM(hidden, hidden, batch_first=True)
    with torch.no_grad():
        # The forget gate starts open (Jozefowicz et al., 2015), because the vector is read at the
        # end of the sentence. Gates are in the order input, forget, cell, output.
        lstm.get_parameter("bias_ih_l0")[hidden : 2 * hidden] += 1.0
    return lstm


class Query(nn.Module):
    """The last layer: the query and the constant with which a sentence scores contexts.

    Additive, the logit is Eq. 1 as printed, h·[h_<; h_s; h_>] + b: every sentence has the same
    query. Bilinear, h_<ᵀ W_< h_s + h_>ᵀ W_> h_s is added. A side of several sentences is their
    vectors one after another, the nearest first; one beyond the document is 0.
    """

    def __init__(self, size: int, interaction: str, window: int) -> None:
        super().__init__()
        context = 2 * window * size
        self.context = nn.Parameter(torch.zeros(context))
        self.center = nn.Parameter(torch.zeros(size))
        self.bias = nn.Parameter(torch.zeros(()))
        self.interaction = None
        if interaction == "bilinear":
            # Vectors have length sqrt(size): the product of each starts with deviation 1/2.
            self.interaction = nn.Parameter(torch.randn(context, size) / (2 * size))

    def forward(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Return queries (n, 2 · window · size) and constants (n,) of vectors (n, size)."""
        query = self.context.expand(len(vectors), -1)
        if self.interaction is not None:
            query = query + vectors @ self.interaction.T
        return query, vectors @ self.center + self.bias


class CoherenceModel(nn.Module):
    """p(y=1 | c_<, s, c_>) from the vectors of sentences; `dropout` is for training alone."""

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.encoder = SentenceEncoder(shape.vocabulary, shape.hidden, dropout)
        self.query = Query(2 * shape.hidden, shape.interaction, shape.window)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.query.bias.device


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw torch's random numbers in the block from a seed; its state outside does not change."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def save_model(folder: Path, model: CoherenceModel, shape: Shape) -> None:
    """Write shape and weights. The weights, written last, mark the model as complete."""
    write_json(folder / SHAPE, asdict(shape))
    write_tensors(folder / WEIGHTS, model.state_dict())


def load_model(folder: Path) -> tuple[CoherenceModel, Shape]:
    """Return the model that `save_model` wrote, in evaluation mode on the processor."""
    shape = Shape(**read_json(folder / SHAPE))
    with seeded(0):
        model = CoherenceModel(shape)
    model.load_state_dict(load_file(folder / WEIGHTS))
    return model.eval(), shape


# Neighbors of a position


def neighbors(positions: Ints, document_bounds: Ints, window: int) -> Ints:
    """Return the sentences around each position in its document: (n, 2, window), c_< and c_>.

    The nearest sentence comes first; -1 marks the end of the document.
    """
    documents = np.searchsorted(document_bounds, positions, side="right") - 1
    reach = np.arange(1, window + 1)
    around = positions[:, None, None] + np.stack([-reach, reach])
    first, end = document_bounds[documents], document_bounds[documents + 1]
    inside = (around >= first[:, None, None]) & (around < end[:, None, None])
    return np.where(inside, around, -1)


def context_vectors(table: Tensor, rows: Ints) -> Tensor:
    """Return [h_<; h_>], (n, 2 · window · size), from vectors (m, size) and `neighbors` in them."""
    return torch.cat([rows_of(table, column) for column in rows.reshape(len(rows), -1).T], dim=1)


def rows_of(table: Tensor, rows: Ints) -> Tensor:
    """Return rows of a table; those that are -1 are 0."""
    places = torch.from_numpy(rows).to(table.device)
    return table[places.clamp(min=0)] * (places >= 0).unsqueeze(1)


# Reading text


def token_rows(texts: Sequence[str], tokenizer: Tokenizer, max_tokens: int) -> list[list[int]]:
    """Return the first `max_tokens` tokens of each text; an empty text is one `</s>`."""
    end = tokenizer.get_vocab()["</s>"]
    clean = [encodable(text) for text in texts]
    encoded = tokenizer.encode_batch_fast(clean, add_special_tokens=False)
    return [encoding.ids[:max_tokens] or [end] for encoding in encoded]


def encode(encoder: SentenceEncoder, table: TokenTable, sentences: Ints) -> Tensor:
    """Return the vectors of sentences of a table, (n, 2 · hidden), on the encoder's device."""
    where = encoder.tokens.weight.device
    batches, vectors = list(table.batches(sentences, BATCH_TOKENS)), []
    for batch in batches:
        padded = (torch.from_numpy(part).to(where) for part in table.padded(sentences[batch]))
        vectors.append(encoder(*padded))
    place = np.empty(len(sentences), np.int64)
    place[np.concatenate(batches)] = np.arange(len(sentences))
    return torch.cat(vectors)[torch.from_numpy(place).to(where)]


class Coherence:
    """The trained model of a run: the first term of Eq. 3, and the ranking of contexts (§3.3).

    The vectors of all corpus sentences are memory-mapped float16, which changes log probabilities
    by up to about 0.005.

    Args:
        model: In evaluation mode.
        shape: Sizes of the model.
        tokenizer: The run's tokenizer.
        vectors: Vectors of all corpus sentences, (n_sentences, 2 · hidden).
        document_bounds: As in `Corpus`.
    """

    def __init__(
        self,
        model: CoherenceModel,
        shape: Shape,
        tokenizer: Tokenizer,
        vectors: npt.NDArray[np.float16],
        document_bounds: Ints,
    ) -> None:
        self._model, self._shape, self._tokenizer = model, shape, tokenizer
        self._vectors, self._document_bounds = vectors, document_bounds

    @classmethod
    def open(cls, run: Run) -> "Coherence":
        """Open the model of a run; raise `MissingStageError` where there is none."""
        folder = run.folder(COHERENCE)
        model, shape = load_model(folder)
        vectors = np.load(folder / VECTORS, mmap_mode="r")
        bounds = Corpus.open(run).document_bounds
        return cls(model.to(device()), shape, open_tokenizer(run), vectors, bounds)

    def encode(self, sentences: Sequence[str]) -> Singles:
        """Return vectors of sentences, (n, 2 · hidden), which do not depend on one another."""
        if not len(sentences):
            return np.zeros((0, 2 * self._shape.hidden), np.float32)
        table = TokenTable.of(token_rows(sentences, self._tokenizer, self._shape.max_tokens))
        with torch.inference_mode():
            return encode(self._model.encoder, table, np.arange(len(table))).cpu().numpy()

    def rank_scores(self, sentence_vectors: Singles, positions: Ints) -> Singles:
        """Return the logit of p(y=1 | s, c) of every sentence at every position, (s, positions).

        `sentence_vectors` are from `encode`, and positions are sentence numbers in the corpus.
        Reading cached vectors takes longer than the product: many sentences at once are cheaper.
        """
        if not len(positions) or not len(sentence_vectors):
            return np.zeros((len(sentence_vectors), len(positions)), np.float32)
        with torch.inference_mode():
            table, rows = self._around(positions)
            query, constant = self._model.query(torch.from_numpy(sentence_vectors).to(table.device))
            columns = rows.reshape(len(rows), -1).T
            products = table @ torch.cat(query.chunk(len(columns), dim=1)).T
            logits = sum(map(rows_of, products.chunk(len(columns), dim=1), columns))
            scores: Singles = (logits + constant).T.contiguous().cpu().numpy()
            return scores

    def log_probabilities(self, sentences: Sequence[str], positions: Ints, pairs: Pairs) -> Singles:
        """Return log p(y=1 | s, c) of each (sentence, position) in `pairs`, (n,), at most 0.

        Each distinct sentence and position is given once; `pairs` (n, 2) holds indices of both.
        """
        logits = self.rank_scores(self.encode(sentences), positions)
        rows, columns = np.asarray(pairs, np.int64).reshape(-1, 2).T
        return logsigmoid(torch.from_numpy(logits[rows, columns])).numpy()

    def _around(self, positions: Ints) -> tuple[Tensor, Ints]:
        """Return the vectors that positions need, and their neighbors as rows of this table."""
        rows = neighbors(positions, self._document_bounds, self._shape.window)
        # Positions share sentences: each is read once, in the order of the file.
        needed = np.unique(rows[rows >= 0])
        table = torch.from_numpy(np.asarray(self._vectors[needed])).to(self._model.device).float()
        return table, np.where(rows >= 0, np.searchsorted(needed, rows), -1)
