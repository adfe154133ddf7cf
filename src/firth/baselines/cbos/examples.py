"""Which sentences a step compares: anchors, and the candidates they must tell apart."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from firth.corpus.numbered import Ints
from firth.run.seeds import derive_seed


@dataclass(frozen=True)
class Batch:
    """B questions: which of C candidates goes with the anchor?

    Attributes:
        members: (B, K), sentences whose weighted sum is the anchor.
        shares: (B, K), their weights; 0 where a sentence has fewer neighbours.
        candidates: (B, C), sentences.
        targets: (B, C), the probability each candidate should get; each row sums to 1.
        open: (B, C), false where a candidate takes no part (a neighbour that does not exist).
    """

    members: Ints
    shares: npt.NDArray[np.float32]
    candidates: Ints
    targets: npt.NDArray[np.float32]
    open: npt.NDArray[np.bool_]


def neighbours(documents: Ints, centres: Ints, k: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """The k sentences on each side of each centre, (B, 2k), and which of them exist.

    One exists if it lies in the centre's document; the others are the centre itself.
    """
    offsets = np.concatenate((np.arange(-k, 0), np.arange(1, k + 1)))
    around = centres[:, None] + offsets
    inside = np.clip(around, 0, len(documents) - 1)
    there = (around == inside) & (documents[inside] == documents[centres][:, None])
    return np.where(there, around, centres[:, None]), there


class Order:
    """The centres and negatives of every step, functions of the epoch alone.

    A centre is a sentence with at least one neighbour within k; an epoch meets each once, in
    random order, with m negatives drawn uniformly from all sentences.

    Args:
        documents: Document of each sentence.
        k: Neighbours on each side.
        negatives: m.
        seed: Of the order and the draws.
    """

    def __init__(self, documents: Ints, k: int, negatives: int, seed: int) -> None:
        alike = documents[:-1] == documents[1:]
        near = np.append(alike, False) | np.insert(alike, 0, False)
        self.centres = np.flatnonzero(near)
        self._draw = lru_cache(maxsize=1)(self._epoch)
        self._total, self._negatives, self._seed = len(documents), negatives, seed

    def _epoch(self, epoch: int) -> tuple[Ints, Ints]:
        rng = np.random.default_rng(derive_seed(self._seed, epoch))
        centres = rng.permutation(self.centres)
        return centres, rng.integers(self._total, size=(len(centres), self._negatives))

    def batches(self, epoch: int, size: int) -> list[tuple[Ints, Ints]]:
        """(centres, negatives) of each step of an epoch; the last one may be smaller."""
        centres, negatives = self._draw(epoch)
        edges = [*range(0, len(centres), size), len(centres)]
        return [(centres[a:b], negatives[a:b]) for a, b in pairwise(edges)]


def context_predicts_centre(documents: Ints, centres: Ints, negatives: Ints, k: int) -> Batch:
    """CBOS (Eqs. 5, 6): the anchor is the context, 1/2k of the sum of the neighbours there are;
    the candidates are the centre and m random sentences."""
    members, there = neighbours(documents, centres, k)
    candidates = np.column_stack((centres, negatives))
    targets = np.zeros(candidates.shape, np.float32)
    targets[:, 0] = 1
    shares = there.astype(np.float32) / np.float32(2 * k)
    return Batch(members, shares, candidates, targets, np.ones(candidates.shape, bool))


def centre_predicts_neighbours(documents: Ints, centres: Ints, negatives: Ints, k: int) -> Batch:
    """Siamese CBOW (Kenter et al. 2016, Eqs. 2-4): the anchor is the centre, the candidates are
    its neighbours, equally probable, and m random sentences, not probable at all."""
    near, there = neighbours(documents, centres, k)
    candidates = np.column_stack((near, negatives))
    taking_part = np.column_stack((there, np.ones(negatives.shape, bool)))
    targets = np.zeros(candidates.shape, np.float32)
    targets[:, : 2 * k] = there / there.sum(axis=1, keepdims=True)
    shares = np.ones((len(centres), 1), np.float32)
    return Batch(centres[:, None], shares, candidates, targets, taking_part)
