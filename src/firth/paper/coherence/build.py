"""The coherence stage: learn the model, then cache the vectors of all sentences (§3.2.1, §3.3)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from firth.corpus import CORPUS, TOKENIZER
from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import open_tokenizer
from firth.paper.coherence import COHERENCE
from firth.paper.coherence.examples import Batch, BatchSource, TrainingPositions, split
from firth.paper.coherence.model import (
    WEIGHTS,
    CoherenceModel,
    Indices,
    Settings,
    Sides,
    load_model,
    save_model,
    sides_of,
)
from firth.paper.coherence.reading import (
    VECTORS,
    TokenizedSentences,
    encode,
    encode_corpus,
    tokenize_corpus,
)
from firth.run.files import read_json, write_json
from firth.run.precision import number_format
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH, Outcome
from firth.run.training import History, Schedule, train

HISTORY = "history.json"
REPORTS = 20
"""Entries of the history, at most."""
TESTED = 2_000
"""Held-out positions, at most, on which accuracy is measured."""

Encode = Callable[[Indices], Tensor]
"""Sentence numbers (n,) to vectors (n, size)."""


def train_coherence(run: Run) -> Outcome:
    """Learn p(y=1 | c_<, s, c_>) on the run's corpus, as `run.config.coherence` says.

    The summary holds the last entry of the history: training loss, and loss and accuracies on the
    held-out documents (see `HeldOut.measure`).

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
        model, history = _learned(run, corpus, tokens, settings, scratch)
        write_json(workspace / HISTORY, history)
        save_model(workspace, model, settings)
    model, _ = load_model(workspace)
    encode_corpus(model.encoder, tokens, workspace / VECTORS, scratch)
    last = read_json(workspace / HISTORY)[-1]
    return {"sentences": len(corpus), "positions": len(corpus.slots()), **last}


def _learned(
    run: Run, corpus: Corpus, tokens: TokenizedSentences, settings: Settings, scratch: Path
) -> tuple[CoherenceModel, History]:
    config = run.config.coherence
    seed = derive_seed(run.config.seed, "coherence")
    bounds, sentences = corpus.document_bounds, corpus.slots()
    positions = TrainingPositions(sentences, corpus.document_of(sentences), corpus.window)
    learned, tested = split(positions, config.held_out, derive_seed(seed, "held out"))
    model = settings.model(derive_seed(seed, "weights"))
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
        bfloat16=number_format(config.precision, torch.device("cpu")) is torch.bfloat16,
    )
    history = train(
        model,
        BatchSource(learned, config.batch, config.per_document, derive_seed(seed, "batches")),
        lambda batch: batch_loss(model, read, batch, bounds, corpus.window),
        schedule,
        scratch,
        "Training coherence",
        lambda: held_out.measure(model, read),
    )
    return model, history


@dataclass(frozen=True)
class Read:
    """Every sentence that some examples need, read once.

    Attributes:
        table: Vectors of the distinct sentences.
        numbers: Sentence number of each row of `table`, ascending.
    """

    table: Tensor
    numbers: Indices

    @classmethod
    def of(cls, encode: Encode, *sentences: Indices) -> "Read":
        """Read the distinct ones of `sentences`; -1 stands for none."""
        numbers = np.unique(np.concatenate([part.ravel() for part in sentences]))
        numbers = numbers[numbers >= 0]
        return cls(encode(numbers), numbers)

    def rows(self, sentences: Indices) -> Indices:
        """Rows of `sentences`, same shape, -1 staying -1."""
        return np.where(sentences < 0, -1, np.searchsorted(self.numbers, sentences))

    def vectors(self, sentences: Indices) -> Tensor:
        """Vectors of `sentences` (n,), shape (n, size)."""
        return self.table[torch.from_numpy(self.rows(sentences))]

    def contexts(self, sides: Sides) -> Tensor:
        """[h_<; h_>] of n contexts, shape (n, 2 * size)."""
        return Sides(self.rows(sides.left), self.rows(sides.right)).vectors(self.table)


def batch_loss(
    model: CoherenceModel, encode: Encode, batch: Batch, document_bounds: Indices, window: int
) -> Tensor:
    """Binary cross-entropy of a batch, in nats; positives weigh as much as negatives.

    A position's negatives are all other centres of the batch, which stand for a random draw: those
    from its own document and those from others weigh the same, half of the negatives each. This
    has the mean of one drawn negative a position, and a far smaller variance, for no more reading.
    """
    sides = sides_of(batch.positions, document_bounds, window)
    read = Read.of(encode, batch.positions, sides.left, sides.right)
    with torch.autocast("cpu", enabled=False):
        query, constant = model.query(read.vectors(batch.positions))
        logits = query @ read.contexts(sides).T + constant[:, None]
        positive = softplus(-logits.diagonal()).mean()
        kinds = [torch.from_numpy(kind) for kind in (batch.same_document, batch.elsewhere)]
        wrong = softplus(logits)
        negatives = [wrong[kind].mean() for kind in kinds if kind.any()]
        if not negatives:
            return positive / 2
        return (positive + torch.stack(negatives).mean()) / 2


class HeldOut:
    """Accuracy at positions of documents that were not learned from.

    Args:
        positions: All held-out positions; at most `TESTED` of them are used.
        document_bounds: As in `Corpus`.
        seed: Decides positions and replacements, so that every call measures the same examples.
    """

    def __init__(self, positions: TrainingPositions, document_bounds: Indices, seed: int) -> None:
        rng = np.random.default_rng(derive_seed(seed, "slots"))
        chosen = np.sort(rng.permutation(len(positions))[:TESTED])
        self._centres = positions.sentences[chosen]
        self._sides = sides_of(self._centres, document_bounds, positions.window)
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
        centres, sides, replaced = self._centres, self._sides, self._replacements
        with torch.inference_mode():
            read = Read.of(encode, centres, sides.left, sides.right, *replaced.values())
            for kind, replacements in replaced.items():
                found = np.flatnonzero(replacements >= 0)
                if not len(found):
                    continue
                contexts = read.contexts(Sides(sides.left[found], sides.right[found]))
                positive = model.logits(read.vectors(centres[found]), contexts)
                negative = model.logits(read.vectors(replacements[found]), contexts)
                right = (positive > 0).float().mean() + (negative <= 0).float().mean()
                accuracy[f"accuracy_{kind}"] = right.item() / 2
                loss.append((softplus(-positive).mean() + softplus(negative).mean()).item() / 2)
        if not accuracy:
            return {}
        mean = sum(accuracy.values()) / len(accuracy)
        return {"accuracy": mean, **accuracy, "held_out_loss": sum(loss) / len(loss)}
