"""Sentences as sets of numbered words: the rows that overlaps are computed from."""

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.lexical.words import words
from firth.relatedness.pairs.settings import Measure

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bags:
    """The words of n sentences, numbered from the rarest (0) to the most frequent.

    Attributes:
        starts: Shape (n+1,): the words of sentence i are `flat[starts[i]:starts[i+1]]`.
        flat: Numbers of the distinct words of each sentence, ascending, so rare ones come first.
        lengths: Shape (n,): words of each sentence, repeated ones included.
        frequencies: Shape (n_words,): in how many sentences each word is.
    """

    starts: Ints
    flat: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int32]
    frequencies: Ints

    def __len__(self) -> int:
        return len(self.lengths)

    def weights(self, measure: Measure) -> Floats:
        """What each word counts, shape (n_words,): 1, or ln((1 + n) / (1 + df)) + 1.

        The latter is `firth.lexical.idf` over these sentences.
        """
        if measure is not Measure.IDF:
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

    def overlaps(self, left: Ints, right: Ints, measure: Measure) -> Floats:
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


def overlap_of(shared: Floats, left: Floats, right: Floats, measure: Measure) -> Floats:
    """Overlap from the shared weight and the two sizes, in [0, 1]; 1 where both are empty."""
    doubled, total = (shared, left) if measure is Measure.FIRST else (2 * shared, left + right)
    ratio = np.divide(doubled, total, out=np.ones_like(total), where=total > 0)
    return np.clip(np.round(ratio, 9), 0.0, 1.0)


def bags_of(tokens: Sequence[Sequence[str]], replace: Mapping[str, str] | None = None) -> Bags:
    """Number the words of tokenised sentences.

    Args:
        tokens: The words of each sentence, in order.
        replace: Word → the one that stands for it; lengths are those before.
    """
    numbers: dict[str, int] = {}
    flat, lengths, starts = array("i"), array("i"), array("q", [0])
    for sentence in tokens:
        kept = sentence if replace is None else [replace.get(word, word) for word in sentence]
        flat.extend(numbers.setdefault(word, len(numbers)) for word in dict.fromkeys(kept))
        lengths.append(len(sentence))
        starts.append(len(flat))
    return _numbered_by_rarity(
        np.frombuffer(flat, np.int32) if flat else np.empty(0, np.int32),
        np.array(starts, np.int64),
        np.array(lengths, np.int32),
        len(numbers),
    )


def _numbered_by_rarity(
    flat: npt.NDArray[np.int32], starts: Ints, lengths: npt.NDArray[np.int32], n_words: int
) -> Bags:
    frequencies = np.bincount(flat, minlength=n_words)
    order = np.argsort(frequencies, kind="stable")
    renumbered = np.empty(n_words, np.int32)
    renumbered[order] = np.arange(n_words, dtype=np.int32)
    rows = np.repeat(np.arange(len(lengths)), np.diff(starts))
    # One sort of (sentence, word) keys sorts the words inside every sentence.
    keys = rows * np.int64(max(n_words, 1)) + renumbered[flat]
    keys.sort()
    return Bags(starts, (keys % max(n_words, 1)).astype(np.int32), lengths, frequencies[order])


def tokens_of(text: str) -> list[str]:
    """The words of a sentence, as everywhere in firth (`firth.lexical.words.words`)."""
    return words(text)


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
