"""Contrastive bag of words: the better training of the same thing CBOS trains.

A sentence is a weighted sum of word vectors, the weights starting as inverse document frequencies.
A sentence must be closest, by cosine, to its neighbour among all second sentences of the batch
(van den Oord et al. 2018): as many negatives as the batch has pairs, at no further cost. Where few
sentences have a neighbour, one half of the words of a sentence must find the other half.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from firth.context.settings import BagConfig
from firth.corpus.context import stand_alone
from firth.corpus.numbered import WordSentences, read_sentences
from firth.lexical.arrays import Ints, Singles, places, starts
from firth.lexical.word_vectors import WordBag
from firth.run.errors import InputError
from firth.run.mapped import create, mapped, write
from firth.run.progress import note
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.training import History, Schedule, train

_Words = tuple[Tensor, Tensor]
_Numbers = tuple[Ints, Ints]
_BLOCK, _PAIRS = 1 << 13, 1 << 17
"""Sentences that are looked at, and pairs that are put into batches, at once."""
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

    All pairs, and their order in an epoch, lie in files: 24 bytes a pair.

    Where texts stand alone (`firth.corpus.context.stand_alone`), each sentence without a
    neighbour gives a pair, too: its words, of which there must be two, fall into two random halves,
    other ones in each epoch.

    Args:
        sentences: The corpus.
        size: Pairs a batch; what an epoch leaves over is dropped.
        seed: Decides the order, a new one for each epoch.
        scratch: Folder of the files; what it has of earlier ones is written anew.
        by_source: Fill each batch from one file of the corpus, where the file has enough.

    Attributes:
        neighbours, parts: How many pairs there are of either kind.
        steps: Of an epoch.
    """

    def __init__(
        self,
        sentences: WordSentences,
        size: int,
        seed: int,
        scratch: Path,
        by_source: bool = False,
    ) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        n, path = len(sentences), scratch / "pairs.i64"
        with path.open("wb") as file:
            self.neighbours = write(file, _with_next(sentences))
            alone = _alone(sentences) if stand_alone(self.neighbours, n) else ()
            # Numbers beyond those of the sentences stand for the parts of one.
            self.parts = write(file, (n + some for some in alone))
        self._sentences, self._seed = sentences, seed
        size = self._size = min(size, len(self))
        self.steps = len(self) // max(1, size)
        pairs = mapped(path, np.int64)
        shuffled, ordered = (
            np.asarray(create(scratch / name, np.int64, pairs.shape))
            for name in ("shuffled.npy", "ordered.npy")
        )
        files = sentences.sources if by_source else np.zeros_like(sentences.sources)

        def source_of(some: Ints) -> Ints:
            return files[sentences.documents[some % n]].astype(np.int64)

        def order(epoch: int) -> tuple[Ints, Ints]:
            shuffled[:] = pairs
            rng = np.random.default_rng(derive_seed(seed, epoch))
            return batched(shuffled, source_of, size, rng, ordered)

        self._order = lru_cache(maxsize=1)(order)

    def __len__(self) -> int:
        """Number of pairs."""
        return self.neighbours + self.parts

    def __call__(self, step: int) -> tuple[_Words, _Words]:
        """Words of the first and of the second sentences (or parts of one) of a step."""
        epoch, place = divmod(step, self.steps)
        batches, order = self._order(epoch)
        chosen, n = batches[order[place]], len(self._sentences)
        near, alone = chosen[chosen < n], chosen[chosen >= n] - n
        firsts, seconds = (self._sentences.gather(at) for at in (near, near + 1))
        if len(alone):
            rng = np.random.default_rng(derive_seed(self._seed, "halves", step))
            one, two = halves(*self._sentences.gather(alone), rng)
            firsts, seconds = _joined(firsts, one), _joined(seconds, two)
        return _tensors(firsts), _tensors(seconds)


def halves(pieces: Ints, offsets: Ints, rng: np.random.Generator) -> tuple[_Numbers, _Numbers]:
    """Words of sentences in two random halves each; of an odd number the second has one more.

    Args:
        pieces: Word numbers of all sentences, one after the other.
        offsets: Where each starts.
        rng: Decides which words go where.
    """
    lengths = np.diff(offsets, append=len(pieces))
    rows = np.repeat(np.arange(len(lengths)), lengths)
    shuffled = pieces[np.lexsort((rng.random(len(pieces)), rows))]
    few = lengths // 2
    first = np.arange(len(pieces)) - offsets[rows] < few[rows]
    rest = lengths - few
    return (shuffled[first], np.cumsum(few) - few), (shuffled[~first], np.cumsum(rest) - rest)


def _joined(one: _Numbers, two: _Numbers) -> _Numbers:
    return np.concatenate((one[0], two[0])), np.concatenate((one[1], two[1] + len(one[0])))


def _tensors(words: _Numbers) -> _Words:
    return torch.from_numpy(words[0]), torch.from_numpy(words[1])


def _with_next(sentences: WordSentences) -> Iterator[Ints]:
    """Numbers of the sentences that the next one of their document follows."""
    for first in range(0, len(sentences), _BLOCK):
        following = sentences.documents[first + 1 : first + _BLOCK + 1]
        here = sentences.documents[first : first + len(following)]
        yield first + np.flatnonzero(here == following)


def _alone(sentences: WordSentences) -> Iterator[Ints]:
    """Numbers of the sentences of two words and more that are all of their document."""
    for first in range(0, len(sentences), _BLOCK):
        last = min(first + _BLOCK, len(sentences))
        around = sentences.documents[max(0, first - 1) : last + 1]
        ends = (int(first == 0), int(last == len(sentences)))
        parted = np.diff(np.pad(around, ends, constant_values=-1)) != 0
        several = np.diff(sentences.bounds[first : last + 1]) > 1
        yield first + np.flatnonzero(parted[:-1] & parted[1:] & several)


def batched(
    pairs: Ints,
    source_of: Callable[[Ints], Ints],
    size: int,
    rng: np.random.Generator,
    ordered: Ints,
) -> tuple[Ints, Ints]:
    """Pairs in random order, in batches of one source each; only what each leaves over shares some.

    Args:
        pairs: All of them; shuffled in place.
        source_of: The source of each of some pairs, from 0.
        size: Pairs a batch; what is left over in the end is dropped.
        rng: Decides all.
        ordered: As long as `pairs`; overwritten.

    Returns:
        The batches, a view of `ordered`, (len(pairs) // size, size), and in which order they come.
    """
    blocks = [slice(first, first + _PAIRS) for first in range(0, len(pairs), _PAIRS)]
    sizes = np.zeros(1 + max(int(source_of(pairs[at]).max()) for at in blocks), np.int64)
    for at in blocks:
        sizes += np.bincount(source_of(pairs[at]), minlength=len(sizes))
    full = sizes // size * size
    whole = int(full.sum())
    begin, rest, seen = starts(full), whole + starts(sizes - full), np.zeros_like(sizes)
    rng.shuffle(pairs)
    for at in blocks:
        sources = source_of(pairs[at])
        nth = seen[sources] + places(sources)
        over = nth - full[sources]
        ordered[np.where(over < 0, begin[sources] + nth, rest[sources] + over)] = pairs[at]
        seen += np.bincount(sources, minlength=len(seen))
    rng.shuffle(ordered[whole:])
    batches = ordered[: len(ordered) // size * size].reshape(-1, size)
    return batches, rng.permutation(len(batches))


def inverse_frequencies(sentences: WordSentences) -> Singles:
    """log((n + 1) / (df + 1)) of each word over n sentences, (V,)."""
    size = len(sentences.vocabulary)
    frequencies = np.zeros(size, np.int64)
    for first in range(0, len(sentences), _BLOCK):
        bounds = sentences.bounds[first : first + _BLOCK + 1]
        rows = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        cells = np.unique(rows * size + sentences.pieces[bounds[0] : bounds[-1]])
        frequencies += np.bincount(cells % size, minlength=size)
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
        scratch: Holds the checkpoint, and what there is of each word, sentence and pair.
        title: Shown beside the bar.

    Returns:
        The word vectors, a summary, and the losses.

    Raises:
        InputError: No word occurs often enough, or there are fewer than two pairs.
        MissingStageError: The run has no corpus.
    """
    sentences = read_sentences(run, config, scratch)
    pairs = Pairs(sentences, config.batch, derive_seed(seed, "order"), scratch, config.by_source)
    if len(pairs) < 2:
        raise InputError(f"{run.path}: got {len(pairs)} sentences of its corpus that have a "
                         "neighbour, or two words that occur often enough, to learn from; "
                         f"{title} needs two at least")  # fmt: skip
    if pairs.parts:
        note(f"{title}: learned from the parts of {pairs.parts:,} sentences without a neighbour, "
             f"and from {pairs.neighbours:,} pairs of neighbouring ones")  # fmt: skip
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

    def loss_of(batch: tuple[_Words, _Words]) -> Tensor:
        # Read at once: each reading has a gradient of the size of the whole vocabulary.
        (firsts, starts), (seconds, more) = batch
        both = torch.cat((firsts, seconds)), torch.cat((starts, more + len(firsts)))
        one, two = model(*both).chunk(2)
        return contrast(one, two, config.temperature)

    history = train(model, pairs, loss_of, schedule, scratch, title)
    title = f"contrastive bag of words ({config.dimensions}-d)"
    bag = WordBag(title, sentences.vocabulary, model.word_vectors(), config.stemmer)
    losses = [round(entry["loss"], 6) for entry in history]
    learned_from = {"neighbours": pairs.neighbours, "parts": pairs.parts}
    summary = {**sentences.summary, "pairs": learned_from, "epochs": epochs, "losses": losses}
    return bag, summary, history
