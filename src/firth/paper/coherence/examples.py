"""Training examples: slots with their own centres, and with centres from elsewhere (§3.2.1)."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from firth.run.errors import InputError
from firth.run.seeds import derive_seed

Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

DOCUMENT_SLOTS = 8
"""Slots of one document that stand together in a batch."""


@dataclass(frozen=True)
class Slots:
    """Slots to learn from or to be tested on.

    A replacement for the centre of a slot is itself the centre of one of these slots, so that a
    sentence is a negative centre as often as a positive one: nothing can be learned from a
    sentence without its context. The neighbours of a slot never replace its centre.

    Attributes:
        sentences: Sentence numbers of the slots, int64 of shape (n,), ascending.
        documents: Document of each.
        window: Sentences on each side of a slot that make its context.
    """

    sentences: Indices
    documents: Indices
    window: int

    def __len__(self) -> int:
        return len(self.sentences)

    def replacements(self, chosen: Indices, same_document: bool, seed: int) -> Indices:
        """Draw a replacement for the centre of each chosen slot.

        Args:
            chosen: Positions of slots, shape (k,).
            same_document: Take it from the slot's own document, otherwise from any other one.
            seed: Decides the choice.

        Returns:
            Sentence numbers, shape (k,); -1 where there is none to be had.
        """
        first, last = self._positions_of_document(chosen)
        centres = self.sentences[chosen]
        near = np.maximum(first, np.searchsorted(self.sentences, centres - self.window))
        far = np.minimum(last, np.searchsorted(self.sentences, centres + self.window, side="right"))
        # An interval of positions to draw from, and a hole in it.
        start = first if same_document else np.zeros_like(first)
        end = last if same_document else np.full_like(last, len(self))
        hole, hole_end = (near, far) if same_document else (first, last)
        choices = (end - start) - (hole_end - hole)
        rng = np.random.default_rng(seed)
        drawn = start + rng.integers(0, np.maximum(choices, 1))
        drawn += np.where(drawn >= hole, hole_end - hole, 0)
        found = choices > 0
        return np.where(found, self.sentences[np.where(found, drawn, 0)], -1)

    def _positions_of_document(self, chosen: Indices) -> tuple[Indices, Indices]:
        documents = self.documents[chosen]
        return (
            np.searchsorted(self.documents, documents),
            np.searchsorted(self.documents, documents, side="right"),
        )


def split(slots: Slots, held_out: float, seed: int) -> tuple[Slots, Slots]:
    """Slots to learn from and slots of held-out documents, chosen by `seed`.

    At least one document is held out (two of ten or more), unless there is but one.

    Args:
        slots: All slots.
        held_out: Fraction of the documents, in (0, 0.5).
        seed: Decides which documents.

    Raises:
        InputError: If what is left offers no negative example.
    """
    documents = np.unique(slots.documents)
    at_least = min(len(documents) // 2, 2 if len(documents) >= 10 else 1)
    wanted = max(round(held_out * len(documents)), at_least)
    chosen = np.random.default_rng(seed).permutation(documents)[:wanted]
    held = np.isin(slots.documents, chosen)
    learned, tested = (
        Slots(slots.sentences[part], slots.documents[part], slots.window) for part in (~held, held)
    )
    alone = not len(learned) or learned.documents[0] == learned.documents[-1]
    if alone and (not len(learned) or np.ptp(learned.sentences) <= slots.window):
        raise InputError(
            f"the corpus has {len(slots)} sentences that can be slots, in {len(documents)} "
            "documents: too few to learn coherence from. A slot has a neighbour on each side in "
            "its document, and corpus.min_words to corpus.max_words words; add longer documents."
        )
    return learned, tested


@dataclass(frozen=True)
class Batch:
    """The slots of one training step; every centre is tried in every slot.

    Attributes:
        slots: Sentence numbers, int64 of shape (n,).
        same_document: Whether centre i is a negative for slot j from j's own document, (n, n).
        elsewhere: Whether centre i is a negative for slot j from another document, (n, n).
    """

    slots: Indices
    same_document: Mask
    elsewhere: Mask


class BatchSource:
    """The batch of each training step, a function of seed and step alone.

    A batch holds groups of slots from one document each. A pass over the slots deals every
    document's slots out in a new random order.

    Args:
        slots: Slots to learn from.
        size: Slots of a batch, rounded up to whole groups.
        seed: Decides all choices.
    """

    def __init__(self, slots: Slots, size: int, seed: int) -> None:
        self._slots = slots
        self._group = min(DOCUMENT_SLOTS, len(slots))
        self._groups = -(-size // self._group)
        self._seed = seed
        self._dealt = lru_cache(maxsize=2)(self._deal)

    def __call__(self, step: int) -> Batch:
        """The batch of `step`, counted from 0."""
        per_pass = len(self._slots) // self._group
        numbers = step * self._groups + np.arange(self._groups)
        rows = [self._dealt(int(number // per_pass))[number % per_pass] for number in numbers]
        chosen = np.concatenate(rows)
        slots, documents = self._slots.sentences[chosen], self._slots.documents[chosen]
        together = documents[:, None] == documents
        near = np.abs(slots[:, None] - slots) <= self._slots.window
        return Batch(slots, together & ~near, ~together)

    def _deal(self, number: int) -> Indices:
        """Groups of one pass, shape (groups, slots); the few slots left over wait for the next."""
        rng = np.random.default_rng(derive_seed(self._seed, "pass", number))
        shuffled = np.lexsort((rng.random(len(self._slots)), self._slots.documents))
        whole = len(shuffled) // self._group * self._group
        # A random start, so that the groups that straddle two documents are others every time.
        shuffled = np.roll(shuffled, int(rng.integers(len(shuffled))))[:whole]
        return rng.permutation(shuffled.reshape(-1, self._group))
