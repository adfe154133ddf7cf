"""Tuning a language model's upper layers: which sentence of the batch stands next to this one?"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from firth.context.bag import contrast
from firth.context.language_model import PromptEncoder, upper_layers
from firth.context.settings import TuneConfig
from firth.corpus.corpus import Corpus
from firth.corpus.settings import CorpusConfig
from firth.corpus.statistics import usual_sentences
from firth.lexical.arrays import Ints
from firth.run.errors import InputError
from firth.run.seeds import derive_seed
from firth.run.training import History, Schedule, train

Texts = tuple[list[str], list[str]]


class Neighbours:
    """Batches of neighbouring sentences, a function of the step alone.

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
        InputError: Fewer than two pairs of neighbouring sentences.
    """

    def __init__(self, corpus: Corpus, limits: CorpusConfig, config: TuneConfig, seed: int) -> None:
        usual = np.zeros(len(corpus), bool)
        usual[usual_sentences(corpus, limits)] = True
        documents = corpus.document_of(np.arange(len(corpus)))
        firsts: Ints = np.flatnonzero(usual[:-1] & usual[1:] & (documents[:-1] == documents[1:]))
        if len(firsts) < 2:
            raise InputError(
                f"got {len(firsts)} pairs of neighbouring sentences in the corpus; tuning needs "
                "two at least. Build the corpus from running text, not from single lines."
            )
        self._corpus, self._seed = corpus, seed
        self._size, self._surplus = min(config.batch, len(firsts)), config.surplus
        self._groups = self._grouped(firsts)

    def __call__(self, step: int) -> Texts:
        """First and second sentences of the pairs of a step."""
        chosen = self.chosen(step)
        return self._corpus.texts(chosen), self._corpus.texts(chosen + 1)

    def chosen(self, step: int) -> Ints:
        """Numbers of the first sentences of a step's pairs, (size,)."""
        rng = np.random.default_rng(derive_seed(self._seed, "batch", step))
        group = self._groups[int(rng.integers(len(self._groups)))]
        drawn = rng.choice(group, min(self._surplus * self._size, len(group)), replace=False)
        _, where = np.unique(self._corpus.document_of(drawn), return_index=True)
        first = np.sort(where)
        others = np.setdiff1d(np.arange(len(drawn)), first)
        picked: Ints = drawn[np.concatenate((first, others))][: self._size]
        return picked

    def _grouped(self, firsts: Ints) -> list[Ints]:
        sources = self._corpus.source_of(firsts)
        groups = [firsts[sources == source] for source in np.unique(sources)]
        large = [group for group in groups if len(group) >= self._size]
        small = [group for group in groups if len(group) < self._size]
        pooled: Ints = np.concatenate(small) if small else np.empty(0, np.int64)
        # Too few to fill a batch even together: they join the first group.
        if 0 < len(pooled) < self._size:
            return [np.concatenate((pooled, large[0])), *large[1:]]
        return [*large, *([pooled] if len(pooled) else [])]


def tune(
    encoder: PromptEncoder,
    batches: Neighbours,
    config: TuneConfig,
    seed: int,
    scratch: Path,
) -> tuple[nn.ModuleList, History]:
    """Tune the upper layers of an encoder's model, in place.

    Args:
        encoder: Its scale stays as it is.
        batches: What to learn from.
        config: How long and how fast.
        seed: Of the training loop.
        scratch: Holds the checkpoint.

    Returns:
        The tuned layers (none where `config.steps` is 0), and the losses.

    Raises:
        InputError: The model has no list of layers.
    """
    if not config.steps:
        return nn.ModuleList(), []
    layers = upper_layers(encoder.states.model, config.layers)
    encoder.states.model.requires_grad_(False)
    layers.requires_grad_(True)
    mean = torch.from_numpy(encoder.mean).float()
    deviation = torch.from_numpy(encoder.deviation).float()

    def vectors(texts: Sequence[str]) -> Tensor:
        states = encoder.states.last(encoder.states.tokens(texts, config.max_tokens))
        return functional.normalize((states.float().cpu() - mean) / deviation, dim=1)

    def loss(batch: Texts) -> Tensor:
        firsts, seconds = batch
        found = vectors([*firsts, *seconds])
        one, two = found[: len(firsts)], found[len(firsts) :]
        return (contrast(one, two, config.temperature) + contrast(two, one, config.temperature)) / 2

    schedule = Schedule(
        steps=config.steps,
        learning_rate=config.learning_rate,
        warmup=min(config.warmup, config.steps // 2),
        checkpoint_steps=config.checkpoint_steps,
        seed=seed,
        report_steps=-(-config.steps // 10),
    )
    history = train(layers, batches, loss, schedule, scratch, "Context: tuning the language model")
    layers.requires_grad_(False)
    return layers, history
