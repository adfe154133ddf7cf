"""All partners of a sentence whose overlap and length fit, without looking at every pair.

An inverted index holds, for each word, the sentences it is in, in the order of their lengths, so
that those of a fitting length are one slice. To reach the least overlap, two sentences must share
words of a certain weight; so the most frequent words of a sentence, as many as weigh less, need
not be looked up (prefix filtering: Chaudhuri et al. 2006; Bayardo et al. 2007). What is left is
compared exactly: nothing is missed, and nothing is approximate.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.relatedness.pairs.bags import Bags, Floats, Ints, length_window, overlap_of
from firth.relatedness.pairs.settings import Measure

_SLACK = 1e-6
"""Sums of idf weights are rounded; a bound this much lower loses nothing, and all is checked."""


@dataclass(frozen=True, eq=False)
class Partners:
    """Sentences that fit one sentence.

    Attributes:
        sentences: Ascending numbers, shape (n,).
        overlaps: With the sentence, in [low, high), shape (n,).
    """

    sentences: Ints
    overlaps: Floats


class Index:
    """Sentences by word.

    Args:
        bags: The sentences.
        measure: Of overlap.
        groups: Shape (n,): partners are of the same group; None for no groups.
        among: Numbers of the sentences that can be partners; None for all. Words weigh what they
            weigh among all.
    """

    def __init__(
        self,
        bags: Bags,
        measure: Measure,
        groups: Ints | None = None,
        among: Ints | None = None,
    ) -> None:
        self._bags, self._measure, self._groups = bags, measure, groups
        self._weights = bags.weights(measure)
        self._sizes = bags.sizes(self._weights)
        # Sentences are numbered by length inside; `_order` leads back.
        self._order = np.argsort(bags.lengths, kind="stable")
        rank = np.empty(len(bags), np.int32)
        rank[self._order] = np.arange(len(bags), dtype=np.int32)
        self._lengths = bags.lengths[self._order]
        self._sorted_sizes = self._sizes[self._order]
        longest = int(self._lengths[-1]) if len(bags) else 0
        self._smallest = np.full(longest + 1, np.inf)
        np.minimum.at(self._smallest, self._lengths, self._sorted_sizes)
        self._starts, self._postings = self._invert(bags, rank, among)
        self._member = np.zeros(len(bags.frequencies))

    def partners(self, sentence: int, low: float, high: float, tolerance: float) -> Partners:
        """Every other sentence with an overlap in [low, high) and a length that fits.

        Args:
            sentence: Its number.
            low: Least overlap, above 0.
            high: Overlaps are below it.
            tolerance: Largest difference in length, as a share of the longer sentence.

        Raises:
            ValueError: `low` is not above 0.
        """
        if not low > 0:
            raise ValueError(f"low {low:g}: expected more than 0")
        bags, own = self._bags, self._sizes[sentence]
        words = bags.flat[bags.starts[sentence] : bags.starts[sentence + 1]]
        shortest, longest = length_window(int(bags.lengths[sentence]), tolerance)
        window = slice(
            int(np.searchsorted(self._lengths, shortest, "left")),
            int(np.searchsorted(self._lengths, longest, "right")),
        )
        smallest = np.asarray(self._smallest[shortest : longest + 1].min(initial=np.inf))
        kept = self._prefix(words, float(self._needed(low, own, smallest)))
        candidates, shared = self._look_up(words[:kept], window)
        sizes = self._sorted_sizes[candidates]
        rest = words[kept:]
        possible = shared + self._weights[rest].sum() + _SLACK >= self._needed(low, own, sizes)
        candidates, shared, sizes = candidates[possible], shared[possible], sizes[possible]
        found = self._order[candidates]
        shared = shared + self._shared_with(rest, found)
        overlaps = overlap_of(shared, np.full(len(sizes), own), sizes, self._measure)
        fits = (overlaps >= low) & (overlaps < high) & (found != sentence)
        if self._groups is not None:
            fits &= self._groups[found] == self._groups[sentence]
        found, overlaps = found[fits], overlaps[fits]
        order = np.argsort(found)
        return Partners(found[order], overlaps[order])

    def _needed(self, low: float, own: float, other: Floats) -> Floats:
        """Least weight that sentences of sizes `own` and `other` share to reach the overlap `low`.

        Shape of `other`.
        """
        total = np.full_like(other, 2 * own) if self._measure is Measure.FIRST else own + other
        return np.asarray(low * total / 2 - _SLACK, dtype=np.float64)

    def _prefix(self, words: npt.NDArray[np.int32], needed: float) -> int:
        """How many of the words must be looked up: those left out weigh less than `needed`."""
        weights = np.cumsum(self._weights[words[::-1]])
        return len(words) - int(np.searchsorted(weights, needed, "left"))

    def _look_up(self, words: npt.NDArray[np.int32], window: slice) -> tuple[Ints, Floats]:
        """Sentences in the window with at least one of the words, and the weight they share."""
        parts = []
        for word in words.tolist():
            posting = self._postings[self._starts[word] : self._starts[word + 1]]
            low, high = np.searchsorted(posting, (window.start, window.stop))
            parts.append(posting[low:high])
        if not parts:
            return np.empty(0, np.int64), np.empty(0)
        weights = np.repeat(self._weights[words], [len(part) for part in parts])
        places = np.concatenate(parts) - window.start
        shared: Floats = np.bincount(places, weights=weights).astype(np.float64)
        hit = np.flatnonzero(shared)
        return hit + window.start, shared[hit]

    def _shared_with(self, words: npt.NDArray[np.int32], sentences: Ints) -> Floats:
        """Weight of those of `words` that each sentence has, shape of `sentences`."""
        if not len(words) or not len(sentences):
            return np.zeros(len(sentences))
        self._member[words] = self._weights[words]
        rows, flat = self._bags.gather(sentences)
        shared: Floats = np.bincount(
            rows, weights=self._member[flat], minlength=len(sentences)
        ).astype(np.float64)
        self._member[words] = 0
        return shared

    @staticmethod
    def _invert(
        bags: Bags, rank: npt.NDArray[np.int32], among: Ints | None
    ) -> tuple[Ints, npt.NDArray[np.int32]]:
        """Where each word's places start, and the places of sentences, ascending."""
        if among is None:
            rows, flat = np.repeat(np.arange(len(bags)), np.diff(bags.starts)), bags.flat
        else:
            rows, flat = bags.gather(among)
            rows = among[rows]
        counts = np.bincount(flat, minlength=len(bags.frequencies))
        keys = flat.astype(np.int64) * max(len(bags), 1) + rank[rows]
        keys.sort()
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return starts, (keys % max(len(bags), 1)).astype(np.int32)
