"""The overlap of sentences, and all partners of a sentence whose overlap and length fit.

No pair is looked at in vain: an inverted index holds, for each word, the sentences it is in, in the
order of their lengths, so that those of a fitting length are one slice. To reach the least overlap,
two sentences must share words of a certain weight; so the most frequent words of a sentence, as
many as weigh less, need not be looked up (prefix filtering: Chaudhuri et al. 2006; Bayardo et al.
2007). What is left is compared exactly: nothing is missed, and nothing is approximate.
"""

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.relatedness.pairs.settings import OverlapMeasure

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_SLACK = 1e-6
"""Sums of idf weights are rounded; a bound this much lower loses nothing, and all is checked."""


@dataclass(frozen=True, eq=False)
class Bags:
    """The words of n sentences, numbered from the rarest (0) to the most frequent: of sentence i
    `flat[starts[i]:starts[i+1]]`, each once, ascending, so that rare ones come first; how long each
    is, repeated words included, (n,); and in how many sentences each word is, (n_words,).
    """

    starts: Ints
    flat: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int32]
    frequencies: Ints

    def __len__(self) -> int:
        return len(self.lengths)

    def weights(self, measure: OverlapMeasure) -> Floats:
        """What each word counts, shape (n_words,): 1, or ln((1 + n) / (1 + df)) + 1.

        The latter is `firth.lexical.tfidf` over these sentences.
        """
        if measure is not OverlapMeasure.IDF:
            return np.ones(len(self.frequencies))
        return np.log((1 + len(self)) / (1 + self.frequencies)) + 1

    def sizes(self, weights: Floats) -> Floats:
        """Sum of the weights of each sentence's words, shape (n,)."""
        if not len(self.flat):
            return np.zeros(len(self))
        sums = np.concatenate([[0.0], np.cumsum(weights[self.flat])])
        sizes = sums[self.starts[1:]] - sums[self.starts[:-1]]
        # Sums of ones stay exact; others are rounded alike wherever a sentence stands.
        return np.asarray(np.round(sizes, 9), dtype=np.float64)

    def overlaps(self, left: Ints, right: Ints, measure: OverlapMeasure) -> Floats:
        """Overlap of sentence `left[k]` with `right[k]`, shape of `left`; two empty ones: 1."""
        weights = self.weights(measure)
        sizes = self.sizes(weights)
        found = np.empty(len(left))
        step = 1 << 16
        for low in range(0, len(left), step):
            part = slice(low, low + step)
            shared = self._shared(left[part], right[part], weights)
            found[part] = overlap_of(shared, sizes[left[part]], sizes[right[part]], measure)
        return found

    def _shared(self, left: Ints, right: Ints, weights: Floats) -> Floats:
        """Weight of the words that both sentences of a pair have."""
        (rows, ours), (other_rows, others) = self.gather(left), self.gather(right)
        width = np.int64(len(self.frequencies))
        both = np.intersect1d(rows * width + ours, other_rows * width + others, assume_unique=True)
        shared = np.bincount(both // width, weights=weights[both % width], minlength=len(left))
        return shared.astype(np.float64)

    def gather(self, sentences: Ints) -> tuple[Ints, npt.NDArray[np.int32]]:
        """All words of `sentences`: the place of the sentence in the argument, and the word."""
        counts = self.starts[sentences + 1] - self.starts[sentences]
        rows = np.repeat(np.arange(len(sentences)), counts)
        ends = np.cumsum(counts)
        within = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts)
        return rows, self.flat[self.starts[sentences][rows] + within]


def overlap_of(shared: Floats, left: Floats, right: Floats, measure: OverlapMeasure) -> Floats:
    """Overlap from the shared weight and the two sizes, in [0, 1]; 1 where both are empty."""
    doubled, total = (
        (shared, left) if measure is OverlapMeasure.FIRST else (2 * shared, left + right)
    )
    ratio = np.divide(doubled, total, out=np.ones_like(total), where=total > 0)
    return np.clip(np.round(ratio, 9), 0.0, 1.0)


def bags_of(tokens: Sequence[Sequence[str]], replace: Mapping[str, str] | None = None) -> Bags:
    """Number the words of tokenised sentences; `replace` says which word stands for another one
    (lengths are those before).
    """
    numbers: dict[str, int] = {}
    found, counts, of = array("i"), array("i"), (replace or {}).get
    for sentence in tokens:
        kept = dict.fromkeys(of(word, word) for word in sentence)
        found.extend(numbers.setdefault(word, len(numbers)) for word in kept)
        counts.append(len(kept))
    flat, n_words = np.array(found, np.int32), max(len(numbers), 1)
    frequencies = np.bincount(flat, minlength=len(numbers))
    order = np.argsort(frequencies, kind="stable")
    rarity = np.empty(len(numbers), np.int64)
    rarity[order] = np.arange(len(numbers))
    # One sort of (sentence, word) keys sorts the words inside every sentence.
    keys = np.repeat(np.arange(len(tokens)), counts) * n_words + rarity[flat]
    keys.sort()
    starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    lengths = np.array([len(sentence) for sentence in tokens], np.int32)
    return Bags(starts, (keys % n_words).astype(np.int32), lengths, frequencies[order])


def close_in_length(
    left: npt.ArrayLike, right: npt.ArrayLike, tolerance: float
) -> npt.NDArray[np.bool_]:
    """Whether two lengths differ by at most `tolerance` of the larger, elementwise."""
    a, b = np.asarray(left), np.asarray(right)
    return np.asarray(np.abs(a - b) <= tolerance * np.maximum(a, b) + 1e-9)


def length_window(length: int, tolerance: float) -> tuple[int, int]:
    """Shortest and longest partner of a sentence of `length` words (inclusive)."""
    low = math.ceil(length * (1 - tolerance) - 1e-9)
    high = 1 << 30 if tolerance >= 1 else math.floor(length / (1 - tolerance) + 1e-9)
    return low, high


@dataclass(frozen=True, eq=False)
class Partners:
    """Sentences that fit one sentence, ascending numbers, and their overlaps with it, in [low,
    high); both of shape (n,).
    """

    sentences: Ints
    overlaps: Floats


class Index:
    """Sentences by word. Partners are of the same group, (n,), where there are groups, and among
    the sentences `among` (numbers; None: all), though words weigh what they weigh among all.
    """

    def __init__(
        self,
        bags: Bags,
        measure: OverlapMeasure,
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
        """Every other sentence with an overlap in [low, high) and a length that differs by at most
        `tolerance` of the longer one; raise `ValueError` if `low` is not above 0.
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
        total = (
            np.full_like(other, 2 * own) if self._measure is OverlapMeasure.FIRST else own + other
        )
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
