"""Contrastive tuning: which text of the batch belongs to this one?

The pairs come from the corpus alone: a sentence and the next one, two spans of a paragraph, or a
title and a sentence of its document.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from firth.corpus.corpus import Corpus, stand_alone
from firth.run.errors import InputError
from firth.run.seeds import derive_seed
from firth.run.settings import AdaptSettings
from firth.text.arrays import Ints
from firth.train.loop import History, Schedule, in_parts, train

PairKind = Literal["neighbors", "crops", "titles"]
Texts = tuple[list[str], list[str]]
"""First and second texts of the pairs of a batch."""
_OVERSAMPLE = 4
"""Pairs that are drawn for each pair of a batch, so that pairs of different documents suffice."""
_WARMUP, _CHECKPOINT_STEPS = 20, 25
_CROP_WORDS = (8, 256)
"""A paragraph with fewer words gives no crops; the words after the last one are ignored."""
_CROP_SHARES = (0.1, 0.5)
"""Smallest and largest share of a paragraph's words that a crop has."""
_NEEDED = {
    "neighbors": "pairs of neighboring sentences; use running text, not single lines",
    "crops": f"paragraphs of {_CROP_WORDS[0]} words or more; use running text",
    "titles": "sentences of documents with a title; use records with a field `title`",
}


class TextPairs:
    """Batches of pairs of texts of a corpus; a batch is a function of its step.

    A batch comes from one source file, and all files are drawn equally often. So the subject does
    not give the pairs away, and the largest file does not dominate. Files with fewer pairs than a
    batch count as one file. The pairs of a batch come from different documents while there are
    enough.

    Args:
        corpus: The corpus.
        settings: Which texts form a pair, and pairs in a batch.
        seed: Decides every draw.

    Raises:
        InputError: The corpus has fewer than two pairs.
    """

    def __init__(self, corpus: Corpus, settings: AdaptSettings, seed: int) -> None:
        self._corpus, self._seed = corpus, seed
        self._kind = pair_kind(settings, corpus)
        self._bounds = np.asarray(corpus.paragraph_bounds)
        self._titles = corpus.document_titles() if self._kind == "titles" else []
        places = self._places()
        if len(places) < 2:
            raise InputError(
                f"tuning needs two pairs, and the corpus has {len(places)} "
                f"{_NEEDED[self._kind]}. Or set adapt.steps to 0"
            )
        self._size = min(settings.batch, len(places))
        self._groups = self._grouped(places)

    def __call__(self, step: int) -> Texts:
        """Return the texts of a step's pairs."""
        chosen, corpus = self.chosen(step), self._corpus
        if self._kind == "neighbors":
            return list(corpus.texts(chosen)), list(corpus.texts(chosen + 1))
        if self._kind == "titles":
            titles = [self._titles[d] for d in corpus.document_of(chosen).tolist()]
            return titles, list(corpus.texts(chosen))
        rng = np.random.default_rng(derive_seed(self._seed, "crops", step))
        spans: Texts = ([], [])
        for start in chosen.tolist():
            end = int(self._bounds[np.searchsorted(self._bounds, start, side="right")])
            words = " ".join(corpus.texts(np.arange(start, end))).split()[: _CROP_WORDS[1]]
            for side in spans:
                side.append(_crop(words, rng))
        return spans

    def chosen(self, step: int) -> Ints:
        """Return the sentence that represents each pair of a step, (batch,)."""
        rng = np.random.default_rng(derive_seed(self._seed, "batch", step))
        group = self._groups[int(rng.integers(len(self._groups)))]
        drawn = rng.choice(group, min(_OVERSAMPLE * self._size, len(group)), replace=False)
        _, where = np.unique(self._corpus.document_of(drawn), return_index=True)
        first = np.sort(where)
        others = np.setdiff1d(np.arange(len(drawn)), first)
        picked: Ints = drawn[np.concatenate((first, others))][: self._size]
        return picked

    def _places(self) -> Ints:
        """Return the sentences that represent a pair each, in ascending order."""
        corpus, places = self._corpus, np.asarray(self._corpus.usual_sentences())
        if self._kind == "crops":
            words = np.concatenate([[0], np.cumsum(corpus.word_counts, dtype=np.int64)])
            long = words[self._bounds[1:]] - words[self._bounds[:-1]] >= _CROP_WORDS[0]
            places = self._bounds[:-1][long]
        elif self._kind == "titles":
            titled = np.array([bool(title) for title in self._titles], dtype=bool)
            places = places[titled[corpus.document_of(places)]]
        else:
            homes = corpus.document_of(places)
            places = places[:-1][(np.diff(places) == 1) & (np.diff(homes) == 0)]
        found: Ints = places.astype(np.int64)
        return found

    def _grouped(self, places: Ints) -> list[Ints]:
        """Return the pairs of each source file; small files are merged."""
        sources = np.asarray(self._corpus.source_numbers())[self._corpus.document_of(places)]
        groups = [places[sources == source] for source in np.unique(sources)]
        large = [group for group in groups if len(group) >= self._size]
        small = [group for group in groups if len(group) < self._size]
        pooled: Ints = np.concatenate(small) if small else np.empty(0, np.int64)
        if 0 < len(pooled) < self._size:  # They do not fill a batch even together.
            return [np.concatenate((pooled, large[0])), *large[1:]]
        return [*large, *([pooled] if len(pooled) else [])]


def _crop(words: Sequence[str], rng: np.random.Generator) -> str:
    """Return a random run of a tenth to a half of the words, at least four of them."""
    low, high = (max(4, round(share * len(words))) for share in _CROP_SHARES)
    size = min(int(rng.integers(low, high + 1)), len(words))
    start = int(rng.integers(len(words) - size + 1))
    return " ".join(words[start : start + size])


def pair_kind(settings: AdaptSettings, corpus: Corpus) -> PairKind:
    """Return the configured kind of pairs; crops where few sentences have a neighbor."""
    if settings.pairs == "neighbors" and stand_alone(corpus):
        return "crops"
    return settings.pairs


def trained_types(kind: PairKind, steps: int) -> set[str]:
    """Return the types of label-free questions that tuning optimizes, and so cannot justify it.

    `next-sentence` is always among them: tuning raises it while agreement with human ratings falls.
    """
    return {"next-sentence", "same-paragraph"} if steps and kind == "crops" else {"next-sentence"}


def tune(
    vectors: Callable[[Sequence[str], int], Tensor],
    trained: nn.Module,
    batches: TextPairs,
    settings: AdaptSettings,
    rate: float,
    seed: int,
    scratch: Path,
) -> History:
    """Tune a part of a frozen encoder in place, and freeze it again.

    Args:
        vectors: Returns unit vectors with gradients, (n, d), of texts cut at so many tokens.
        trained: The part that learns.
        batches: Pairs to learn from.
        settings: Steps, temperature, tokens of a text, micro-batches.
        rate: Peak of Adam's rate.
        seed: Seeds dropout.
        scratch: Folder of the checkpoint.
    """
    trained.requires_grad_(True)

    def loss(batch: Texts) -> Tensor:
        texts = [*batch[0], *batch[1]]
        parts = settings.micro_batches
        found = in_parts(lambda rows: vectors(texts[rows], settings.max_tokens), len(texts), parts)
        one, two = found[: len(batch[0])], found[len(batch[0]) :]
        logits, own = one @ two.T / settings.temperature, torch.arange(len(one))
        return (functional.cross_entropy(logits, own) + functional.cross_entropy(logits.T, own)) / 2

    schedule = Schedule(
        steps=settings.steps,
        rate=rate,
        warmup=min(_WARMUP, settings.steps // 2),
        checkpoint_steps=_CHECKPOINT_STEPS,
        seed=seed,
        report_steps=-(-settings.steps // 10),
        micro_batches=settings.micro_batches,
    )
    history = train(trained, batches, loss, schedule, scratch, "Tuning the encoder")
    trained.requires_grad_(False)
    return history
