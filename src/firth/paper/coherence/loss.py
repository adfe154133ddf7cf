"""What training minimises, and what is measured on held-out documents."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from firth.paper.coherence.examples import Batch, Indices, Slots
from firth.paper.coherence.model import CoherenceModel
from firth.paper.coherence.neighbours import Sides, sides_of
from firth.run.seeds import derive_seed

TESTED = 2_000
"""Held-out slots, at most, on which accuracy is measured."""

Encode = Callable[[Indices], Tensor]
"""Sentence numbers (n,) to vectors (n, size)."""


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

    A slot's negatives are all other centres of the batch, which stand for a random draw: those
    from its own document and those from others weigh the same, half of the negatives each. This
    has the mean of one drawn negative a slot, and a far smaller variance, for no further reading.
    """
    sides = sides_of(batch.slots, document_bounds, window)
    read = Read.of(encode, batch.slots, sides.left, sides.right)
    with torch.autocast("cpu", enabled=False):
        query, constant = model.query(read.vectors(batch.slots))
        logits = query @ read.contexts(sides).T + constant[:, None]
        positive = softplus(-logits.diagonal()).mean()
        kinds = [torch.from_numpy(kind) for kind in (batch.same_document, batch.elsewhere)]
        wrong = softplus(logits)
        negatives = [wrong[kind].mean() for kind in kinds if kind.any()]
        if not negatives:
            return positive / 2
        return (positive + torch.stack(negatives).mean()) / 2


class HeldOut:
    """Accuracy on slots of documents that were not learned from.

    Args:
        slots: All held-out slots; at most `TESTED` of them are used.
        document_bounds: As in `Corpus`.
        seed: Decides slots and replacements, so that every call measures on the same examples.
    """

    def __init__(self, slots: Slots, document_bounds: Indices, seed: int) -> None:
        rng = np.random.default_rng(derive_seed(seed, "slots"))
        chosen = np.sort(rng.permutation(len(slots))[:TESTED])
        self._slots = slots.sentences[chosen]
        self._sides = sides_of(self._slots, document_bounds, slots.window)
        self._replacements = {
            "same_document": slots.replacements(chosen, True, derive_seed(seed, "same")),
            "random": slots.replacements(chosen, False, derive_seed(seed, "random")),
        }

    def measure(self, model: CoherenceModel, encode: Encode) -> dict[str, float]:
        """Accuracies in [0, 1] at p = 1/2, and binary cross-entropy in nats.

        `accuracy_same_document` and `accuracy_random` are over equal numbers of positives and of
        negatives of that kind; `accuracy` and `held_out_loss` are over both kinds, half of the
        negatives each. Chance is 0.5 and 0.693. Empty when there is nothing to measure on.
        """
        accuracy: dict[str, float] = {}
        loss: list[float] = []
        if not len(self._slots):
            return accuracy
        with torch.inference_mode():
            read = Read.of(
                encode,
                self._slots,
                self._sides.left,
                self._sides.right,
                *self._replacements.values(),
            )
            for kind, replacements in self._replacements.items():
                found = np.flatnonzero(replacements >= 0)
                if not len(found):
                    continue
                contexts = read.contexts(Sides(self._sides.left[found], self._sides.right[found]))
                positive = model.logits(read.vectors(self._slots[found]), contexts)
                negative = model.logits(read.vectors(replacements[found]), contexts)
                right = (positive > 0).float().mean() + (negative <= 0).float().mean()
                accuracy[f"accuracy_{kind}"] = right.item() / 2
                loss.append((softplus(-positive).mean() + softplus(negative).mean()).item() / 2)
        if not accuracy:
            return {}
        mean = sum(accuracy.values()) / len(accuracy)
        return {"accuracy": mean, **accuracy, "held_out_loss": sum(loss) / len(loss)}
