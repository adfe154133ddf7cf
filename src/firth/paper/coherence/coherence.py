"""The trained coherence model: the first term of Eq. 3, and the ranking of contexts (§3.3)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.functional import logsigmoid

from firth.corpus.context import Context
from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import open_tokenizer
from firth.paper.coherence import COHERENCE
from firth.paper.coherence.model import (
    CoherenceModel,
    Indices,
    Settings,
    context_vectors,
    load_model,
    mean_rows,
    neighbours,
)
from firth.paper.coherence.reading import VECTORS, encode, tokenize
from firth.run.run import Run

Vectors = npt.NDArray[np.float32]
Pairs = npt.NDArray[np.int64]
"""Shape (n, 2): rows of (index of a sentence, index of a context)."""

PAIRS_AT_ONCE = 8_192


class Coherence:
    """p(y=1 | s, c): how well a sentence s stands in a context c = (c_<, c_>).

    Each sentence is read on its own; those of the corpus were read when the model was trained, and
    their vectors are memory-mapped.

    Args:
        model: In evaluation mode.
        settings: How it reads text.
        tokenizer: The run's.
        vectors: Of all sentences of the corpus, float16 of shape (n_sentences, 2 * hidden).
        document_bounds: As in `Corpus`.

    Example:
        >>> from firth.corpus.context import Context
        >>> coherence = Coherence.open("run")
        >>> context = Context(("It rained all night.",), ("We stayed at home.",))
        >>> pairs = np.array([[0, 0], [1, 0]])
        >>> scores = coherence.log_probabilities(
        ...     ["The streets were flooded."] * 2, [context], pairs
        ... )
        >>> scores.shape, bool(scores[0] == scores[1])
        ((2,), True)
    """

    def __init__(
        self,
        model: CoherenceModel,
        settings: Settings,
        tokenizer: Tokenizer,
        vectors: npt.NDArray[np.float16],
        document_bounds: Indices,
    ) -> None:
        self._model = model
        self._settings = settings
        self._tokenizer = tokenizer
        self._vectors = vectors
        self._document_bounds = document_bounds

    @classmethod
    def open(cls, run: str | Path | Run) -> "Coherence":
        """The model of a run; raise `MissingStageError` if it is not trained."""
        run = Run.open(run)
        folder = run.folder(COHERENCE)
        model, settings = load_model(folder)
        vectors = np.load(folder / VECTORS, mmap_mode="r")
        bounds = Corpus.open(run).document_bounds
        return cls(model, settings, open_tokenizer(run), vectors, bounds)

    def encode(self, sentences: Sequence[str]) -> Vectors:
        """Vectors of `sentences` (their first `max_tokens` pieces), float32, (n, 2 * hidden).

        A vector does not depend on the other sentences, beyond rounding.
        """
        return self._encode(sentences).numpy()

    def rank_scores(self, sentence_vectors: Vectors, positions: Indices) -> Vectors:
        """Logits of p(y=1 | s, c) of every sentence in the context of every position.

        One product of two matrices: the queries of the sentences, and the cached vectors of the
        sentences around the positions. Reading those vectors takes longer than the product, so that
        many sentences and the union of their positions are far cheaper at once than one by one.

        Args:
            sentence_vectors: From `encode`, float32 of shape (n_sentences, 2 * hidden).
            positions: Sentence numbers in the corpus, int64 of shape (n_positions,).

        Returns:
            float32 of shape (n_sentences, n_positions); higher means more coherent. The log
            probability is log sigmoid of it.
        """
        if not len(positions) or not len(sentence_vectors):
            return np.zeros((len(sentence_vectors), len(positions)), np.float32)
        with torch.inference_mode():
            query, constant = self._model.query(torch.from_numpy(sentence_vectors))
            rows, table = self._around(positions)
            products = table @ torch.cat(query.chunk(2, dim=1)).T
            on_left, on_right = products.chunk(2, dim=1)
            logits = mean_rows(on_left, rows[:, 0]) + mean_rows(on_right, rows[:, 1])
            scores: Vectors = (logits + constant).T.contiguous().numpy()
            return scores

    def log_probabilities(
        self, sentences: Sequence[str], contexts: Sequence[Context], pairs: Pairs
    ) -> Vectors:
        """log p(y=1 | s, c) of each pair, the first term of Eq. 3.

        Args:
            sentences: Every distinct sentence once.
            contexts: Every distinct context once. An empty side counts as the zero vector.
            pairs: Indices of (index of a sentence, index of a context), int64 of shape (n, 2).

        Returns:
            Natural logarithms, ≤ 0, float32 of shape (n,), in the order of `pairs`.
        """
        number: dict[str, int] = {}
        window = max((len(s) for c in contexts for s in (c.left, c.right)), default=0)
        rows = np.full((len(contexts), 2, max(1, window)), -1, np.int64)
        for c, context in enumerate(contexts):
            for side, texts in enumerate((context.left, context.right)):
                rows[c, side, : len(texts)] = [number.setdefault(t, len(number)) for t in texts]
        return self._scored(sentences, rows, self._encode(list(number)), pairs)

    def log_probabilities_at(
        self, sentences: Sequence[str], positions: Indices, pairs: Pairs
    ) -> Vectors:
        """`log_probabilities` for the contexts of `positions`, from cached vectors.

        The cache holds float16: figures differ from those of `log_probabilities` by up to about
        0.005.

        Args:
            sentences: Every distinct sentence once.
            positions: Every distinct position once: sentence numbers in the corpus.
            pairs: Indices of (index of a sentence, index of a position), int64 of shape (n, 2).
        """
        return self._scored(sentences, *self._around(positions), pairs)

    def _encode(self, sentences: Sequence[str]) -> Tensor:
        if not len(sentences):
            return torch.zeros(0, 2 * self._settings.hidden)
        tokens = tokenize(sentences, self._tokenizer, self._settings.max_tokens)
        with torch.inference_mode():
            return encode(self._model.encoder, tokens, np.arange(len(tokens)))

    def _around(self, positions: Indices) -> tuple[Indices, Tensor]:
        """The neighbours of positions as rows of a table of the cached vectors that they need."""
        positions, window = np.asarray(positions, np.int64), self._settings.window
        rows = neighbours(positions, self._document_bounds, window)
        if not len(positions):
            return rows, torch.zeros(0, 2 * self._settings.hidden)
        # Neighbouring positions share sentences: each is fetched once, in the order of the file.
        first = max(0, int(positions.min()) - window)
        wanted = np.zeros(int(positions.max()) + window + 1 - first, bool)
        wanted[rows[rows >= 0] - first] = True
        row = np.cumsum(wanted) - 1
        table = torch.from_numpy(self._vectors[np.flatnonzero(wanted) + first]).float()
        return np.where(rows >= 0, row[np.maximum(rows - first, 0)], -1), table

    def _scored(
        self, sentences: Sequence[str], rows: Indices, table: Tensor, pairs: Pairs
    ) -> Vectors:
        vectors = self._encode(sentences)
        s, c = torch.from_numpy(np.array(pairs, np.int64).reshape(-1, 2).T.copy())
        with torch.inference_mode():
            contexts, found = context_vectors(table, rows), []
            for start in range(0, len(s), PAIRS_AT_ONCE):
                now = slice(start, start + PAIRS_AT_ONCE)
                found.append(logsigmoid(self._model.logits(vectors[s[now]], contexts[c[now]])))
            return torch.cat(found).numpy() if found else np.zeros(0, np.float32)
