"""Contrastive bag of words: the better training of the same thing CBOS trains.

A sentence is a weighted sum of word vectors, the weights starting as inverse document frequencies.
A sentence must be closest, by cosine, to its neighbour among all second sentences of the batch
(van den Oord et al. 2018): as many negatives as the batch has pairs, at no further cost.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from firth.context.settings import BagConfig
from firth.corpus.numbered import WordSentences, read_sentences
from firth.lexical.arrays import Ints, Singles
from firth.lexical.word_vectors import WordBag
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.training import History, Schedule, train

_Words = tuple[Tensor, Tensor]
STEPS, MOST_EPOCHS = 200, 10
"""Where the configuration names no number of epochs: enough steps, but no text learned by heart."""


class Bag(nn.Module):
    """Sentence vectors Σ a_w v_w.

    Args:
        weights: First a_w, (V,).
        dimensions: d; the first v_w are random directions of length about 1.
        seed: Of the directions.
    """

    def __init__(self, weights: Singles, dimensions: int, seed: int) -> None:
        super().__init__()
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal((len(weights), dimensions), np.float32) / np.sqrt(dimensions)
        self.vectors = nn.Parameter(torch.from_numpy(noise.astype(np.float32)))
        self.weights = nn.Parameter(torch.from_numpy(weights.copy()))

    def forward(self, pieces: Tensor, offsets: Tensor) -> Tensor:
        """Unit vectors of sentences given as word numbers and where each starts, (n, d)."""
        weights = self.weights[pieces]
        sums = functional.embedding_bag(
            pieces, self.vectors, offsets, mode="sum", per_sample_weights=weights
        )
        return functional.normalize(sums, dim=1)

    def word_vectors(self) -> Singles:
        """a_w v_w, (V, d)."""
        with torch.no_grad():
            found: Singles = (self.vectors * self.weights[:, None]).numpy()
        return found


def contrast(firsts: Tensor, seconds: Tensor, temperature: float) -> Tensor:
    """Mean cross-entropy of finding each first's own second among all: unit vectors, (n, d)."""
    logits = firsts @ seconds.T / temperature
    return functional.cross_entropy(logits, torch.arange(len(firsts)))


class Pairs:
    """Batches of neighbouring sentences, a function of the step alone.

    Args:
        sentences: The corpus.
        size: Pairs a batch; what an epoch leaves over is dropped.
        seed: Decides the order, a new one for each epoch.
        by_source: Fill each batch from one file of the corpus, where the file has enough.
    """

    def __init__(
        self, sentences: WordSentences, size: int, seed: int, by_source: bool = False
    ) -> None:
        documents = sentences.documents
        firsts: Ints = np.flatnonzero(documents[:-1] == documents[1:])
        sources = sentences.sources[firsts] if by_source else np.zeros(len(firsts), np.int64)
        self._sentences, self._firsts = sentences, firsts
        self._size = min(size, len(firsts))
        self.steps = len(firsts) // max(1, self._size)
        """Steps of an epoch."""
        self._order = lru_cache(maxsize=1)(
            lambda epoch: firsts[
                batched(sources, self._size, np.random.default_rng(derive_seed(seed, epoch)))
            ]
        )

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self._firsts)

    def __call__(self, step: int) -> tuple[_Words, _Words]:
        """Words of the first and of the second sentences of a step."""
        epoch, place = divmod(step, self.steps)
        chosen = self._order(epoch)[place]
        return self._words(chosen), self._words(chosen + 1)

    def _words(self, chosen: Ints) -> _Words:
        pieces, offsets = self._sentences.gather(chosen)
        return torch.from_numpy(pieces), torch.from_numpy(offsets)


def batched(sources: Ints, size: int, rng: np.random.Generator) -> Ints:
    """Shuffled places of `sources` in batches, shape (len(sources) // size, size).

    A batch holds places of one source; only what each source leaves over shares batches.
    """
    order = rng.permutation(len(sources))
    order = order[np.argsort(sources[order], kind="stable")]
    ends = np.cumsum(np.unique(sources, return_counts=True)[1])
    whole, left = [], []
    for places in np.split(order, ends[:-1]):
        full = len(places) // size * size
        whole.append(places[:full])
        left.append(places[full:])
    rest = rng.permutation(np.concatenate(left)) if left else order
    batches = np.concatenate((*whole, rest[: len(rest) // size * size])).reshape(-1, size)
    shuffled: Ints = rng.permutation(batches)
    return shuffled


def inverse_frequencies(sentences: WordSentences) -> Singles:
    """log((n + 1) / (df + 1)) of each word over n sentences, (V,)."""
    rows = np.repeat(np.arange(len(sentences)), np.diff(sentences.bounds))
    size = len(sentences.vocabulary)
    cells = np.unique(rows * size + sentences.pieces)
    frequencies = np.bincount(cells % size, minlength=size)
    found: Singles = np.log((len(sentences) + 1) / (frequencies + 1)).astype("f4")
    return found


def enough_epochs(steps: int) -> int:
    """How often a corpus is read, where once takes so many steps: a small one more often."""
    return min(-(-STEPS // steps), MOST_EPOCHS)


def learn(
    run: Run, config: BagConfig, seed: int, scratch: Path, title: str
) -> tuple[WordBag, Mapping[str, Any], History]:
    """Train a bag on a run's corpus, continuing from a checkpoint in `scratch`.

    Args:
        run: Whose corpus to read.
        config: Sizes and rates.
        seed: Of first vectors and order.
        scratch: Holds the checkpoint.
        title: Shown beside the bar.

    Returns:
        The word vectors, a summary, and the losses.

    Raises:
        InputError: No word occurs often enough, or fewer than two sentences have a neighbour.
        MissingStageError: The run has no corpus.
    """
    sentences = read_sentences(run, config)
    pairs = Pairs(sentences, config.batch, derive_seed(seed, "order"), config.by_source)
    if len(pairs) < 2:
        raise InputError(f"{run.path}: got {len(pairs)} pairs of neighbouring sentences in its "
                         f"corpus; {title} needs two at least")  # fmt: skip
    model = Bag(inverse_frequencies(sentences), config.dimensions, derive_seed(seed, "vectors"))
    epochs = config.epochs or enough_epochs(pairs.steps)
    steps = epochs * pairs.steps
    schedule = Schedule(
        steps=steps,
        learning_rate=config.learning_rate,
        warmup=int(config.warmup * steps),
        checkpoint_steps=200,
        seed=seed,
        report_steps=-(-steps // 10),
    )
    history = train(
        model,
        pairs,
        lambda batch: contrast(model(*batch[0]), model(*batch[1]), config.temperature),
        schedule,
        scratch,
        title,
    )
    title = f"contrastive bag of words ({config.dimensions}-d)"
    bag = WordBag(title, sentences.vocabulary, model.word_vectors(), config.stemmer)
    losses = [round(entry["loss"], 6) for entry in history]
    return bag, {**sentences.summary, "epochs": epochs, "losses": losses}, history
