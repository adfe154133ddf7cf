"""Training examples: a slot with its own centre, and with one that was put there (§3.2.1)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.seeds import derive_seed

Indices = npt.NDArray[np.int64]

RUN = 8
"""Consecutive slots drawn together: they share neighbours, so that a batch reads fewer sentences."""


@dataclass(frozen=True)
class Replacements:
    """What stands in the slots in place of their own centres.

    Attributes:
        sentences: Sentence numbers, shape (n,).
        same_document: Whether each was taken from the slot's own document, shape (n,).
    """

    sentences: Indices
    same_document: npt.NDArray[np.bool_]


class Slots:
    """Slots to learn from or to be tested on, with replacements for their centres.

    Replacements are themselves centres of slots, drawn evenly: a sentence is a positive centre as
    often as a negative one, so that nothing can be learned from a sentence without its context.

    Args:
        slots: Sentence numbers in ascending order.
        document_bounds: Document d is sentences [bounds[d], bounds[d + 1]).
        window: Sentences on each side of a slot that make its context; they never replace it.
    """

    def __init__(self, slots: Indices, document_bounds: Indices, window: int) -> None:
        self._slots = slots
        document = np.searchsorted(document_bounds, slots, side="right") - 1
        # Positions in `slots`: [first, last) the document, [near, far) the window around the slot.
        self._first = np.searchsorted(slots, document_bounds[document])
        self._last = np.searchsorted(slots, document_bounds[document + 1])
        self._near = np.searchsorted(slots, slots - window)
        self._far = np.searchsorted(slots, slots + window, side="right")

    def __len__(self) -> int:
        return len(self._slots)

    def __getitem__(self, positions: Indices) -> Indices:
        return self._slots[positions]

    def replaceable(self) -> npt.NDArray[np.bool_]:
        """Whether each slot's document has a replacement for its centre, shape (len(self),)."""
        return (self._last - self._first) > (self._far - self._near)

    def replacements(
        self, positions: Indices, same_document: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> Replacements:
        """Draw a replacement for the slot at each of `positions`.

        Args:
            positions: Positions among these slots, shape (n,).
            same_document: Whether to take it from the slot's document or from another one. Where
                there is nothing to take, the other kind is taken.
            rng: Source of randomness.

        Raises:
            ValueError: If a slot has no replacement at all; three distant slots suffice for all.
        """
        everything = len(self._slots)
        first, last = self._first[positions], self._last[positions]
        near, far = self._near[positions], self._far[positions]
        inside = last - first - (far - near)
        alone = last - first == everything
        same = np.where(alone, True, same_document & (inside > 0))
        # An interval to draw from, and an interval inside it that must not be drawn.
        start = np.where(same, first, 0)
        choices = np.where(same, inside, everything - (last - first))
        hole = np.where(same, near, first)
        width = np.where(same, far - near, last - first)
        if (choices <= 0).any():
            raise ValueError("a slot has no other sentence that could replace its centre")
        drawn = start + rng.integers(0, choices)
        drawn += np.where(drawn >= hole, width, 0)
        return Replacements(self._slots[drawn], same)


@dataclass(frozen=True)
class Batch:
    """The examples of one step: each slot gives a positive and a negative one.

    Attributes:
        slots: Sentence numbers of the slots and of their own centres, shape (n,).
        replacements: What the negatives have in the slot; every second one from the same document.
    """

    slots: Indices
    replacements: Replacements


@dataclass(frozen=True)
class BatchSource:
    """The batch of each training step, a function of seed and step alone.

    Attributes:
        slots: Slots to learn from.
        size: Slots of a batch.
        seed: Source of all choices.
    """

    slots: Slots
    size: int
    seed: int

    def __call__(self, step: int) -> Batch:
        """Batch of `step`. Runs of consecutive slots come in a new random order every pass."""
        count = len(self.slots)
        run = min(RUN, count)
        runs, wanted = count // run, -(-self.size // run)
        number = step * wanted + np.arange(wanted)
        starts = np.concatenate(
            [self._order(int(each), runs, run)[number[number // runs == each] % runs]
             for each in np.unique(number // runs)]
        )
        positions = (starts[:, None] + np.arange(run)).ravel()[: self.size] % count
        rng = np.random.default_rng(derive_seed(self.seed, "replacements", step))
        same = np.arange(self.size) % 2 == 0
        return Batch(self.slots[positions], self.slots.replacements(positions, same, rng))

    def _order(self, epoch: int, runs: int, run: int) -> Indices:
        rng = np.random.default_rng(derive_seed(self.seed, "order", epoch))
        return rng.permutation(runs) * run + rng.integers(run)
