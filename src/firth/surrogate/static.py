"""The static start: word vectors averaged, learned on neighbouring sentences of the corpus.

A word starts as a random direction whose length is its inverse document frequency, so that the
mean of a sentence's vectors is a compressed tf-idf vector. Then neighbouring sentences are drawn
together and those of other places pushed apart: words that keep the same company move closer.

What is learned is the direction in which a word moves; how far follows its inverse document
frequency. The distances that suit neighbours bury the words themselves (docs/surrogate.md).
"""

from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer
from torch import Tensor

from firth.coherence.tokens import TokenizedSentences, tokenize_corpus
from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import SPECIAL_TOKENS, open_tokenizer
from firth.run import Run
from firth.seeds import derive_seed
from firth.settings import CorpusConfig
from firth.training import History, Schedule, train

BATCH = 1024
"""Pairs a step; each sentence is told from the batch's other ones."""
LEARNING_RATE = 0.05
SCALE = 1 / 0.07
"""Cosines are multiplied by this before the softmax."""
MAX_TOKENS = 128
"""Tokens read of a sentence while learning the start."""
REPORTS = 20
STEP = 0.5
"""How far a word moves from its first vector, as a share of that vector's length."""

Pair = tuple[dict[str, Tensor], dict[str, Tensor]]


def static_start(run: Run, scratch: Path) -> tuple[SentenceTransformer, History]:
    """A `StaticEmbedding` model with vectors learned on the run's corpus, and its loss history.

    Args:
        run: A run whose corpus and tokenizer are built.
        scratch: Folder for the tokens and the checkpoint; an interrupted call continues from it.
    """
    corpus, tokenizer, config = Corpus.open(run), open_tokenizer(run), run.config.surrogate
    seed = derive_seed(run.config.seed, "surrogate", "start")
    scratch.mkdir(parents=True, exist_ok=True)
    tokens = tokenize_corpus(corpus.batches(), tokenizer, MAX_TOKENS, scratch)
    weights = inverse_frequencies(tokens, tokenizer.get_vocab_size())
    model = _model(tokenizer, random_vectors(weights, config.dimensions, seed))
    firsts = neighbour_pairs(corpus, run.config.corpus)
    if not config.start_epochs or len(firsts) < 2:
        return model, []

    neighbours = Neighbours(tokens, firsts, min(BATCH, len(firsts)), derive_seed(seed, "order"))
    vectors = next(model.parameters())
    first = vectors.detach().clone()
    loss = MultipleNegativesRankingLoss(model, scale=SCALE)
    steps = config.start_epochs * neighbours.steps
    schedule = Schedule(
        steps=steps,
        learning_rate=LEARNING_RATE,
        warmup=steps // 10,
        checkpoint_steps=200,
        seed=derive_seed(seed, "steps"),
        report_steps=-(-steps // REPORTS),
    )
    history = train(
        model,
        neighbours,
        lambda pair: loss(pair, torch.empty(0)),
        schedule,
        scratch,
        "Surrogate: first vectors",
    )
    with torch.no_grad():
        vectors.copy_(moved(first, vectors))
    return model, history


def moved(first: Tensor, learned: Tensor) -> Tensor:
    """`first` moved towards `learned`, each row by `STEP` times its length; shape unchanged."""
    move = learned - first
    lengths = first.norm(dim=1, keepdim=True) * STEP
    found: Tensor = first + move * (lengths / move.norm(dim=1, keepdim=True).clamp_min(1e-12))
    return found


def inverse_frequencies(tokens: TokenizedSentences, vocabulary: int) -> npt.NDArray[np.float32]:
    """log((N + 1) / (df + 1)) of each token over N sentences; 0 for special tokens."""
    frequencies = np.zeros(vocabulary, np.int64)
    for start in range(0, len(tokens), 100_000):
        end = min(start + 100_000, len(tokens))
        bounds = tokens.bounds[start : end + 1]
        rows = np.repeat(np.arange(end - start), np.diff(bounds))
        cells = np.unique(rows * vocabulary + tokens.pieces[bounds[0] : bounds[-1]])
        frequencies += np.bincount(cells % vocabulary, minlength=vocabulary)
    weights = np.log((len(tokens) + 1) / (frequencies + 1))
    weights[: len(SPECIAL_TOKENS)] = 0
    return weights.astype(np.float32)


def random_vectors(
    weights: npt.NDArray[np.float32], dimensions: int, seed: int
) -> npt.NDArray[np.float32]:
    """Random directions of length about `weights` / their mean: (vocabulary, dimensions)."""
    noise = np.random.default_rng(seed).standard_normal((len(weights), dimensions), np.float32)
    lengths = weights / (max(float(weights.mean()), 1e-6) * np.sqrt(dimensions))
    vectors: npt.NDArray[np.float32] = noise * lengths[:, None].astype(np.float32)
    return vectors


def neighbour_pairs(corpus: Corpus, config: CorpusConfig) -> npt.NDArray[np.int64]:
    """Sentences i that are followed by i + 1 in their document, both of a slot's length."""
    usual = (corpus.word_counts >= config.min_words) & (corpus.word_counts <= config.max_words)
    follows = np.ones(len(corpus), bool)
    follows[corpus.document_bounds[1:] - 1] = False
    return np.flatnonzero(follows[:-1] & usual[:-1] & usual[1:])


class Neighbours:
    """Batches of neighbouring sentences, a function of the step alone.

    Args:
        tokens: The sentences.
        firsts: Sentences followed by their neighbour.
        batch: Pairs a step; what an epoch leaves over is dropped.
        seed: Decides the order, a new one for each epoch.
    """

    def __init__(
        self, tokens: TokenizedSentences, firsts: npt.NDArray[np.int64], batch: int, seed: int
    ) -> None:
        self._tokens, self._firsts, self._batch = tokens, firsts, batch
        self.steps = len(firsts) // batch
        """Steps of an epoch."""
        self._order = lru_cache(maxsize=1)(
            lambda epoch: np.random.default_rng(derive_seed(seed, epoch)).permutation(len(firsts))
        )

    def __call__(self, step: int) -> Pair:
        """The sentences of a step, and the neighbour of each."""
        epoch, place = divmod(step, self.steps)
        chosen = self._order(epoch)[place * self._batch : (place + 1) * self._batch]
        firsts = self._firsts[chosen]
        return self._features(firsts), self._features(firsts + 1)

    def _features(self, sentences: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        starts = self._tokens.bounds[sentences]
        lengths = self._tokens.bounds[sentences + 1] - starts
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        pieces = self._tokens.pieces[places].astype(np.int64)
        return {"input_ids": torch.from_numpy(pieces), "offsets": torch.from_numpy(offsets[:-1])}


def _model(tokenizer: Tokenizer, vectors: npt.NDArray[np.float32]) -> SentenceTransformer:
    return SentenceTransformer(
        modules=[StaticEmbedding(tokenizer, vectors)], device="cpu", local_files_only=True
    )
