"""Tuning a pretrained encoder: which text of the batch belongs to this one?"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
from torch import Tensor, nn

from firth.check.items import Kind
from firth.context.bag import contrast
from firth.context.settings import Pairs, TuneConfig
from firth.corpus.context import stand_alone
from firth.corpus.corpus import Corpus
from firth.corpus.settings import CorpusConfig
from firth.corpus.statistics import usual_sentences
from firth.lexical.arrays import Ints
from firth.run.errors import InputError
from firth.run.parts import in_parts
from firth.run.seeds import derive_seed
from firth.run.training import History, Schedule, train

Texts = tuple[list[str], list[str]]
_SHORTEST = 8
"""Words of a paragraph that gives crops: of fewer, two spans say nothing."""
_LONGEST = 256
"""Words of a paragraph that crops are taken from."""
_SPAN = (0.1, 0.5)
"""Shares of a paragraph that a crop has."""


class Batches(ABC):
    """Batches of pairs of texts, a function of the step alone.

    A batch comes from one file of the corpus, and all files are drawn equally often, so that
    neither the subject gives the pairs away nor the largest file drowns the others. Files with
    fewer pairs than a batch count as one. Pairs of a batch come from different documents as far as
    there are enough.

    Args:
        corpus: The corpus.
        limits: Shortest and longest sentence.
        config: Pairs a batch, and how many are drawn for it.
        seed: Decides every draw.

    Raises:
        InputError: Fewer than two pairs.
    """

    what: ClassVar[str]
    """What the pairs are, and what to build the corpus from, for people."""

    def __init__(self, corpus: Corpus, limits: CorpusConfig, config: TuneConfig, seed: int) -> None:
        self.corpus, self.seed = corpus, seed
        self.usual = np.zeros(len(corpus), bool)
        for some in usual_sentences(corpus, limits).blocks():
            self.usual[some] = True
        places = self.places()
        if len(places) < 2:
            found, advice = self.what.split("; ")
            raise InputError(
                f"got {len(places)} {found} in the corpus; tuning needs two at least. {advice}, or "
                "set context.tune.steps to 0"
            )
        self._size, self._surplus = min(config.batch, len(places)), config.surplus
        self._groups = self._grouped(places)

    @abstractmethod
    def places(self) -> Ints:
        """Numbers, ascending, of the sentences that stand for a pair each."""

    @abstractmethod
    def __call__(self, step: int) -> Texts:
        """First and second texts of the pairs of a step."""

    def chosen(self, step: int) -> Ints:
        """Places of a step's pairs, (size,)."""
        rng = np.random.default_rng(derive_seed(self.seed, "batch", step))
        group = self._groups[int(rng.integers(len(self._groups)))]
        drawn = rng.choice(group, min(self._surplus * self._size, len(group)), replace=False)
        _, where = np.unique(self.corpus.document_of(drawn), return_index=True)
        first = np.sort(where)
        others = np.setdiff1d(np.arange(len(drawn)), first)
        picked: Ints = drawn[np.concatenate((first, others))][: self._size]
        return picked

    def _grouped(self, places: Ints) -> list[Ints]:
        sources = self.corpus.source_of(places)
        groups = [places[sources == source] for source in np.unique(sources)]
        large = [group for group in groups if len(group) >= self._size]
        small = [group for group in groups if len(group) < self._size]
        pooled: Ints = np.concatenate(small) if small else np.empty(0, np.int64)
        # Too few to fill a batch even together: they join the first group.
        if 0 < len(pooled) < self._size:
            return [np.concatenate((pooled, large[0])), *large[1:]]
        return [*large, *([pooled] if len(pooled) else [])]


class Neighbours(Batches):
    """A sentence and the next one of its document, both of usual length."""

    what = "pairs of neighbouring sentences; Build it from running text, not from single lines"

    def places(self) -> Ints:
        """The first sentences."""
        documents = self.corpus.document_of(np.arange(len(self.corpus)))
        next_to = documents[:-1] == documents[1:]
        firsts: Ints = np.flatnonzero(self.usual[:-1] & self.usual[1:] & next_to)
        return firsts

    def __call__(self, step: int) -> Texts:
        """First and second sentences of the pairs of a step."""
        chosen = self.chosen(step)
        return self.corpus.texts(chosen), self.corpus.texts(chosen + 1)


class Crops(Batches):
    """Two random spans of one paragraph, drawn independently: they may overlap."""

    what = "paragraphs of eight words or more; Build it from running text"

    def places(self) -> Ints:
        """The first sentences of paragraphs."""
        bounds = np.asarray(self.corpus.paragraph_bounds)
        words = np.concatenate([[0], np.cumsum(self.corpus.word_counts, dtype=np.int64)])
        long = words[bounds[1:]] - words[bounds[:-1]] >= _SHORTEST
        firsts: Ints = bounds[:-1][long].astype(np.int64)
        return firsts

    def __call__(self, step: int) -> Texts:
        """Two spans of each paragraph of a step."""
        rng = np.random.default_rng(derive_seed(self.seed, "crops", step))
        bounds = np.asarray(self.corpus.paragraph_bounds)
        found: Texts = ([], [])
        for start in self.chosen(step).tolist():
            end = int(bounds[np.searchsorted(bounds, start, side="right")])
            words = " ".join(self.corpus.texts(np.arange(start, end))).split()[:_LONGEST]
            for spans in found:
                spans.append(_span(words, rng))
        return found


class Titles(Batches):
    """The title of a document and a sentence of it, of usual length."""

    what = "sentences of documents with a title; Build it from records with a field `title`"

    def places(self) -> Ints:
        """Sentences of documents that have a title."""
        count = self.corpus.n_documents
        titled = np.array([bool(self.corpus.document_title(d)) for d in range(count)], dtype=bool)
        usual = np.flatnonzero(self.usual)
        found: Ints = usual[titled[self.corpus.document_of(usual)]]
        return found

    def __call__(self, step: int) -> Texts:
        """Titles and sentences of a step."""
        chosen = self.chosen(step)
        titles = [self.corpus.document_title(d) for d in self.corpus.document_of(chosen)]
        return titles, self.corpus.texts(chosen)


PAIRS: dict[Pairs, type[Batches]] = {
    Pairs.NEIGHBOURS: Neighbours,
    Pairs.CROPS: Crops,
    Pairs.TITLES: Titles,
}


def learnable(config: TuneConfig, corpus: Corpus) -> TuneConfig:
    """The configuration, with crops for neighbours where texts stand alone."""
    alone = stand_alone(len(corpus) - corpus.n_documents, len(corpus))
    if config.pairs is Pairs.NEIGHBOURS and alone:
        return config.model_copy(update={"pairs": Pairs.CROPS})
    return config


def counting(config: TuneConfig) -> tuple[Kind, ...]:
    """The kinds by which a candidate can be admitted: those that training does not ask for.

    `next` never counts: it is the figure that tuning raises while people's ratings fall.
    """
    asked = {Kind.NEXT}
    if config.steps and config.pairs is Pairs.CROPS:
        asked.add(Kind.CROP)
    return tuple(kind for kind in Kind if kind not in asked)


class Tunable(Protocol):
    """An encoder as training sees it."""

    def vectors(self, texts: Sequence[str], max_tokens: int) -> Tensor:
        """Unit vectors, (n, d), through which gradients flow; of texts cut at `max_tokens`."""


def tune(
    encoder: Tunable,
    trained: nn.Module,
    batches: Batches,
    config: TuneConfig,
    learning_rate: float,
    seed: int,
    scratch: Path,
) -> History:
    """Tune a part of an encoder in place; the rest of it must be frozen.

    Args:
        encoder: Its scale stays as it is.
        trained: Which part of it learns; frozen again at the end.
        batches: What to learn from.
        config: How long.
        learning_rate: Adam's, at its peak.
        seed: Of the training loop.
        scratch: Holds the checkpoint.
    """
    trained.requires_grad_(True)

    def loss(batch: Texts) -> Tensor:
        firsts, seconds = batch
        texts = [*firsts, *seconds]
        found = in_parts(
            lambda some: encoder.vectors(texts[some], config.max_tokens), len(texts), config.parts
        )
        one, two = found[: len(firsts)], found[len(firsts) :]
        return (contrast(one, two, config.temperature) + contrast(two, one, config.temperature)) / 2

    schedule = Schedule(
        steps=config.steps,
        learning_rate=learning_rate,
        warmup=min(config.warmup, config.steps // 2),
        checkpoint_steps=config.checkpoint_steps,
        seed=seed,
        report_steps=-(-config.steps // 10),
        parts=config.parts,
        shared_by="context.tune.parts",
    )
    history = train(trained, batches, loss, schedule, scratch, "Context: tuning the model")
    trained.requires_grad_(False)
    return history


def _span(words: Sequence[str], rng: np.random.Generator) -> str:
    """A random run of a tenth to a half of some words, at least four of them."""
    low, high = (max(4, round(share * len(words))) for share in _SPAN)
    size = min(int(rng.integers(low, high + 1)), len(words))
    start = int(rng.integers(len(words) - size + 1))
    return " ".join(words[start : start + size])
