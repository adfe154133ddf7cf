"""The coherence stage: learn the model, then cache the vectors of all sentences (§3.2.1, §3.3)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import softplus

from firth.corpus import CORPUS, TOKENIZER
from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import open_tokenizer
from firth.paper.coherence import COHERENCE
from firth.paper.coherence.model import (
    WEIGHTS,
    CoherenceModel,
    Indices,
    Settings,
    context_vectors,
    load_model,
    neighbours,
    save_model,
)
from firth.paper.coherence.reading import (
    VECTORS,
    TokenizedSentences,
    encode,
    encode_corpus,
    tokenize_corpus,
)
from firth.paper.settings import Interaction
from firth.run.errors import InputError
from firth.run.files import read_json, write_json
from firth.run.parts import in_parts
from firth.run.precision import device, number_format
from firth.run.progress import note
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH, Outcome
from firth.run.training import History, Schedule, train

HISTORY = "history.json"
ADDITIVE = (
    "coherence.interaction additive, Eq. 1 as printed, cannot rank: it adds a score of the "
    "sentence to one of the context, so that contexts have the same order for every sentence, and "
    "accuracy stays at chance. bilinear can (docs/coherence.md)"
)
REPORTS = 20
"""Entries of the history, at most."""
TESTED = 2_000
"""Held-out positions, at most, on which accuracy is measured."""

Mask = npt.NDArray[np.bool_]
Encode = Callable[[Indices], Tensor]
"""Sentence numbers (n,) to vectors (n, size)."""


def train_coherence(run: Run) -> Outcome:
    """Learn p(y=1 | c_<, s, c_>) on the run's corpus, as `run.config.coherence` says.

    The summary holds the last training loss, and what `HeldOut.measure` found.

    Raises:
        MissingStageError: The run has no corpus or no tokenizer.
        InputError: The corpus has too few sentences to learn from.
    """
    return run.build(COHERENCE, _build, reads=[CORPUS, TOKENIZER], settings=["coherence", "seed"])


def _build(run: Run, workspace: Path) -> Mapping[str, Any]:
    corpus, tokenizer, config = Corpus.open(run), open_tokenizer(run), run.config.coherence
    scratch = workspace / SCRATCH
    tokens = tokenize_corpus(corpus.batches(), tokenizer, config.max_tokens, scratch)
    if not (workspace / WEIGHTS).is_file():
        settings = Settings(
            vocabulary=tokenizer.get_vocab_size(),
            embedding=config.embedding,
            hidden=config.hidden,
            interaction=config.interaction,
            max_tokens=config.max_tokens,
            window=corpus.window,
        )
        if config.interaction is Interaction.ADDITIVE:
            note(ADDITIVE)
        model, history = _learned(run, corpus, tokens, settings, scratch)
        write_json(workspace / HISTORY, history)
        save_model(workspace, model, settings)
    model, _ = load_model(workspace)
    model.to(device())
    encode_corpus(model.encoder, tokens, workspace / VECTORS, scratch)
    last = read_json(workspace / HISTORY)[-1]
    return {"sentences": len(corpus), "positions": len(corpus.positions()), **last}


def _learned(
    run: Run, corpus: Corpus, tokens: TokenizedSentences, settings: Settings, scratch: Path
) -> tuple[CoherenceModel, History]:
    config = run.config.coherence
    seed = derive_seed(run.config.seed, "coherence")
    bounds, sentences = corpus.document_bounds, corpus.positions()
    positions = TrainingPositions(sentences, corpus.document_of(sentences), corpus.window)
    learned, tested = split(positions, config.held_out, derive_seed(seed, "held out"))
    where = device()
    model = CoherenceModel.seeded(settings, derive_seed(seed, "weights")).to(where)
    held_out = HeldOut(tested, bounds, derive_seed(seed, "held out", "examples"))

    def read(sentences: Indices) -> Tensor:
        return encode(model.encoder, tokens, sentences)

    schedule = Schedule(
        steps=config.steps,
        learning_rate=config.learning_rate,
        warmup=int(config.steps * config.warmup),
        checkpoint_steps=config.checkpoint_steps,
        seed=derive_seed(seed, "steps"),
        report_steps=-(-config.steps // REPORTS),
        bfloat16=number_format(config.precision, where) is torch.bfloat16,
        parts=config.parts,
        shared_by="coherence.parts",
    )

    def read_in_parts(sentences: Indices) -> Tensor:
        return in_parts(lambda some: read(sentences[some]), len(sentences), config.parts)

    history = train(
        model,
        BatchSource(learned, config.batch, config.per_document, derive_seed(seed, "batches")),
        lambda batch: batch_loss(model, read_in_parts, batch, bounds, corpus.window),
        schedule,
        scratch,
        "Training coherence",
        lambda _: held_out.measure(model, read),
    )
    return model, history


@dataclass(frozen=True)
class TrainingPositions:
    """Positions in the corpus to learn from or to be tested on.

    A replacement for the centre of a position is itself the centre of one of them, so that a
    sentence is a negative centre as often as a positive one: nothing can be learned from a
    sentence without its context. The neighbours of a position never replace its centre.

    Attributes:
        sentences: Sentence numbers, int64 of shape (n,), ascending.
        documents: Document of each.
        window: Sentences on each side of a position that make its context.
    """

    sentences: Indices
    documents: Indices
    window: int

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, part: Mask) -> "TrainingPositions":
        """Those of a mask of shape (n,)."""
        return TrainingPositions(self.sentences[part], self.documents[part], self.window)

    def replacements(self, chosen: Indices, same_document: bool, seed: int) -> Indices:
        """Draw a replacement for the centre of each position of the indices `chosen`, shape (k,).

        It comes from the position's own document, or from any other one; -1 where there is none.
        """
        documents, centres = self.documents[chosen], self.sentences[chosen]
        first = np.searchsorted(self.documents, documents)
        last = np.searchsorted(self.documents, documents, side="right")
        near = np.maximum(first, np.searchsorted(self.sentences, centres - self.window))
        far = np.minimum(last, np.searchsorted(self.sentences, centres + self.window, side="right"))
        # An interval of indices to draw from, and a hole in it.
        start = first if same_document else np.zeros_like(first)
        end = last if same_document else np.full_like(last, len(self))
        hole, hole_end = (near, far) if same_document else (first, last)
        choices = (end - start) - (hole_end - hole)
        rng = np.random.default_rng(seed)
        drawn = start + rng.integers(0, np.maximum(choices, 1))
        drawn += np.where(drawn >= hole, hole_end - hole, 0)
        found = choices > 0
        return np.where(found, self.sentences[np.where(found, drawn, 0)], -1)


def split(
    positions: TrainingPositions, held_out: float, seed: int
) -> tuple[TrainingPositions, TrainingPositions]:
    """Positions to learn from, and those of a fraction of the documents, which are `held_out`.

    At least one document is held out (two of ten or more), unless there is but one.

    Raises:
        InputError: What is left offers no negative example.
    """
    documents = np.unique(positions.documents)
    at_least = min(len(documents) // 2, 2 if len(documents) >= 10 else 1)
    wanted = max(round(held_out * len(documents)), at_least)
    chosen = np.random.default_rng(seed).permutation(documents)[:wanted]
    held = np.isin(positions.documents, chosen)
    learned, tested = positions[~held], positions[held]
    alone = not len(learned) or learned.documents[0] == learned.documents[-1]
    if alone and (not len(learned) or np.ptp(learned.sentences) <= positions.window):
        raise InputError(
            f"the corpus has {len(positions)} sentences that can be learned from, in "
            f"{len(documents)} documents: too few to learn coherence from. Such a sentence has a "
            "neighbour on each side in its document, and corpus.min_words to corpus.max_words "
            "words; add longer documents."
        )
    return learned, tested


@dataclass(frozen=True)
class Batch:
    """The positions of one training step; every centre is tried at every position.

    Attributes:
        positions: Sentence numbers, int64 of shape (n,).
        same_document: Whether centre i is a negative for position j from j's own document, (n, n).
        elsewhere: Whether centre i is a negative for position j from another document, (n, n).
    """

    positions: Indices
    same_document: Mask
    elsewhere: Mask


class BatchSource:
    """The batch of each training step, a function of seed and step alone.

    A batch of `size`, rounded up to whole groups, holds groups of `group` positions from one
    document each. A pass deals the positions of every document out in a new random order.
    """

    def __init__(self, positions: TrainingPositions, size: int, group: int, seed: int) -> None:
        self._positions = positions
        self._group = min(group, len(positions))
        self._groups = -(-size // self._group)
        self._seed = seed
        self._dealt = lru_cache(maxsize=2)(self._deal)

    def __call__(self, step: int) -> Batch:
        """The batch of `step`, counted from 0."""
        per_pass = len(self._positions) // self._group
        numbers = step * self._groups + np.arange(self._groups)
        rows = [self._dealt(int(number // per_pass))[number % per_pass] for number in numbers]
        chosen = np.concatenate(rows)
        sentences = self._positions.sentences[chosen]
        documents = self._positions.documents[chosen]
        together = documents[:, None] == documents
        near = np.abs(sentences[:, None] - sentences) <= self._positions.window
        return Batch(sentences, together & ~near, ~together)

    def _deal(self, number: int) -> Indices:
        """Groups of one pass, shape (groups, group); the few left over wait for the next."""
        n = len(self._positions)
        rng = np.random.default_rng(derive_seed(self._seed, "pass", number))
        shuffled = np.lexsort((rng.random(n), self._positions.documents))
        # A random start, so that the groups that straddle two documents are others every time.
        shuffled = np.roll(shuffled, int(rng.integers(n)))[: n // self._group * self._group]
        return rng.permutation(shuffled.reshape(-1, self._group))


class Read:
    """Every sentence that some examples need, read once.

    Sentence numbers come in arrays of any shape; -1 stands for none.
    """

    def __init__(self, encode: Encode, *sentences: Indices) -> None:
        numbers = np.unique(np.concatenate([part.ravel() for part in sentences]))
        self._numbers = numbers[numbers >= 0]
        self._table = encode(self._numbers)

    def _rows(self, sentences: Indices) -> Indices:
        return np.where(sentences < 0, -1, np.searchsorted(self._numbers, sentences))

    def vectors(self, sentences: Indices) -> Tensor:
        """Vectors of `sentences` (n,), shape (n, size)."""
        return self._table[torch.from_numpy(self._rows(sentences)).to(self._table.device)]

    def contexts(self, around: Indices) -> Tensor:
        """[h_<; h_>] of n contexts given by `neighbours`, shape (n, 2 * size)."""
        return context_vectors(self._table, self._rows(around))


def batch_loss(
    model: CoherenceModel, encode: Encode, batch: Batch, document_bounds: Indices, window: int
) -> Tensor:
    """Binary cross-entropy of a batch, in nats; positives weigh as much as negatives.

    A position's negatives are all other centres of the batch, which stand for a random draw: those
    from its own document and those from others weigh the same, half of the negatives each. This
    has the mean of one drawn negative a position, and a far smaller variance, for no more reading.
    """
    around = neighbours(batch.positions, document_bounds, window)
    read = Read(encode, batch.positions, around)
    where = next(model.parameters()).device
    with torch.autocast(where.type, enabled=False):
        query, constant = model.query(read.vectors(batch.positions))
        logits = query @ read.contexts(around).T + constant[:, None]
        positive = softplus(-logits.diagonal()).mean()
        kinds = [kind for kind in (batch.same_document, batch.elsewhere) if kind.any()]
        wrong = softplus(logits)
        negatives = [wrong[torch.from_numpy(kind).to(where)].mean() for kind in kinds]
        if not negatives:
            return positive / 2
        return (positive + torch.stack(negatives).mean()) / 2


class HeldOut:
    """Accuracy at positions of documents that were not learned from, at most `TESTED` of them.

    `seed` decides positions and replacements, so that every call measures the same examples.
    """

    def __init__(self, positions: TrainingPositions, document_bounds: Indices, seed: int) -> None:
        rng = np.random.default_rng(derive_seed(seed, "slots"))
        chosen = np.sort(rng.permutation(len(positions))[:TESTED])
        self._centres = positions.sentences[chosen]
        self._around = neighbours(self._centres, document_bounds, positions.window)
        self._replacements = {
            "same_document": positions.replacements(chosen, True, derive_seed(seed, "same")),
            "random": positions.replacements(chosen, False, derive_seed(seed, "random")),
        }

    def measure(self, model: CoherenceModel, encode: Encode) -> dict[str, float]:
        """Accuracies in [0, 1] at p = 1/2, and binary cross-entropy in nats.

        `accuracy_same_document` and `accuracy_random` are over equal numbers of positives and of
        negatives of that kind; `accuracy` and `held_out_loss` are over both kinds, half of the
        negatives each. Chance is 0.5 and 0.693. Empty when there is nothing to measure on.
        """
        accuracy: dict[str, float] = {}
        loss: list[float] = []
        if not len(self._centres):
            return accuracy
        centres, replaced = self._centres, self._replacements
        with torch.inference_mode():
            read = Read(encode, centres, self._around, *replaced.values())
            for kind, replacements in replaced.items():
                found = np.flatnonzero(replacements >= 0)
                if not len(found):
                    continue
                contexts = read.contexts(self._around[found])
                positive = model.logits(read.vectors(centres[found]), contexts)
                negative = model.logits(read.vectors(replacements[found]), contexts)
                right = (positive > 0).float().mean() + (negative <= 0).float().mean()
                accuracy[f"accuracy_{kind}"] = right.item() / 2
                loss.append((softplus(-positive).mean() + softplus(negative).mean()).item() / 2)
        if not accuracy:
            return {}
        mean = sum(accuracy.values()) / len(accuracy)
        return {"accuracy": mean, **accuracy, "held_out_loss": sum(loss) / len(loss)}
