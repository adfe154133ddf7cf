"""Training examples: positions with their own centres, and with centres from elsewhere (§3.2.1)."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from firth.paper.coherence.model import Indices
from firth.run.errors import InputError
from firth.run.seeds import derive_seed

Mask = npt.NDArray[np.bool_]


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
        """Draw a replacement for the centre of each chosen position.

        Args:
            chosen: Indices of positions, shape (k,).
            same_document: Take it from the position's own document, otherwise from any other one.
            seed: Decides the choice.

        Returns:
            Sentence numbers, shape (k,); -1 where there is none to be had.
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
    """Positions to learn from and positions of held-out documents, chosen by `seed`.

    At least one document is held out (two of ten or more), unless there is but one.

    Args:
        positions: All positions.
        held_out: Fraction of the documents, in (0, 0.5).
        seed: Decides which documents.

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

    A batch holds groups of positions from one document each. A pass over the positions deals those
    of every document out in a new random order.

    Args:
        positions: What to learn from.
        size: Positions of a batch, rounded up to whole groups.
        group: Positions of a group.
        seed: Decides all choices.
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
