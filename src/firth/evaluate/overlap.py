"""Find texts in a stream of sentences: the same, or nearly so, up to case and punctuation.

Nearly means a Jaccard similarity of the sets of consecutive word pairs (bigrams) of at least a
threshold. The search is exact: the number of bigrams that two texts share is a sparse product, so
nothing is missed as hashing into bands would. Memory holds the texts searched for and one block of
the stream.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from firth.lexical.words import normal_form

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MIN_WORDS = 6
"""Shorter texts are found in any large corpus by chance."""
THRESHOLD = 0.7
"""One word of 14 changed in the middle, or three words of ten added at an end."""
_BLOCK = 20_000
_CANDIDATES = 8


class Kind(StrEnum):
    """How a text was found."""

    EXACT = "exact"
    """The same words in the same order."""
    NEAR = "near"
    """Bigrams with a Jaccard similarity of at least the threshold."""


@dataclass(frozen=True)
class Match:
    """A text and the sentence that is most like it.

    Attributes:
        kind: How it was found.
        text: What was searched for.
        sentence: What was found.
        similarity: Jaccard similarity of their bigrams, in [threshold, 1].
    """

    kind: Kind
    text: str
    sentence: str
    similarity: float


class Finder:
    """Texts to be found in any number of sentences.

    Args:
        texts: What to look for. Those of fewer than `min_words` words are never found.
        min_words: At least 2.
        threshold: Least Jaccard similarity of bigrams, in (0, 1].

    Example:
        >>> finder = Finder(["The ship left the old harbour in a storm."])
        >>> finder.read(["So it was.", "the ship left the old harbour in a storm"])
        >>> [str(match.kind) for match in finder.matches()]
        ['exact']
    """

    def __init__(
        self, texts: Sequence[str], min_words: int = MIN_WORDS, threshold: float = THRESHOLD
    ) -> None:
        self._min_words, self._threshold = min_words, threshold
        self._numbers: dict[str, int] = {}
        self._texts: list[str] = []
        for text in texts:
            normal = normal_form(text)
            if normal.count(" ") >= min_words - 1 and normal not in self._numbers:
                self._numbers[normal] = len(self._texts)
                self._texts.append(text)
        self._features: dict[tuple[str, str], int] = {}
        bigrams = [_bigrams(normal) for normal in self._numbers]
        for found in bigrams:
            for bigram in sorted(found):
                self._features.setdefault(bigram, len(self._features))
        rows = [[self._features[bigram] for bigram in found] for found in bigrams]
        self._sizes = np.array([len(row) for row in rows], dtype=np.float64)
        self._index = self._matrix(rows, self._sizes)
        self._best = np.zeros(len(rows))
        self._found: dict[int, str] = {}
        self._exact: dict[int, str] = {}

    def __len__(self) -> int:
        """Number of distinct texts that are looked for."""
        return len(self._texts)

    def wanted(self, text: str) -> bool:
        """Whether `text` is among those looked for."""
        return normal_form(text) in self._numbers

    def read(self, sentences: Iterable[str]) -> None:
        """Look for the texts in some sentences."""
        kept: list[str] = []
        rows: list[list[int]] = []
        sizes: list[float] = []
        for sentence in sentences:
            normal = normal_form(sentence)
            if normal.count(" ") < self._min_words - 1:
                continue
            number = self._numbers.get(normal)
            if number is not None:
                self._exact.setdefault(number, sentence)
            bigrams = _bigrams(normal)
            known = [
                feature for bigram in bigrams if (feature := self._features.get(bigram)) is not None
            ]
            # J >= t needs at least t of the sentence's own bigrams to be shared with the text.
            if len(known) >= self._threshold * len(bigrams):
                kept.append(sentence)
                rows.append(known)
                sizes.append(len(bigrams))
                if len(rows) == _BLOCK:
                    self._compare(kept, rows, np.array(sizes))
                    kept, rows, sizes = [], [], []
        if rows:
            self._compare(kept, rows, np.array(sizes))

    def matches(self) -> list[Match]:
        """Every text found so far, in the order they were given; exact before near."""
        matches = []
        for number, text in enumerate(self._texts):
            if number in self._exact:
                matches.append(Match(Kind.EXACT, text, self._exact[number], 1.0))
            elif number in self._found:
                similarity = float(self._best[number])
                matches.append(Match(Kind.NEAR, text, self._found[number], similarity))
        return matches

    def _compare(self, kept: list[str], rows: list[list[int]], sizes: np.ndarray) -> None:
        """Keep, for each text, the sentence of the block with the largest Jaccard similarity."""
        from sparse_dot_topn import sp_matmul_topn

        block = self._matrix(rows, sizes)
        # Rows are scaled to a product of |A n B| / sqrt(|A||B|), which is never below J.
        found = sp_matmul_topn(
            self._index, block.T.tocsr(), top_n=_CANDIDATES, threshold=0.999 * self._threshold
        ).tocoo()
        texts, sentences = found.row, found.col
        scale = np.sqrt(self._sizes[texts] * sizes[sentences])
        shared = np.round(found.data * scale)
        jaccard = shared / (self._sizes[texts] + sizes[sentences] - shared)
        for place in np.flatnonzero(jaccard >= self._threshold - 1e-9).tolist():
            text = int(texts[place])
            if jaccard[place] > self._best[text]:
                self._best[text] = jaccard[place]
                self._found[text] = kept[int(sentences[place])]

    def _matrix(self, rows: Sequence[Sequence[int]], sizes: np.ndarray) -> "csr_matrix":
        from scipy.sparse import csr_matrix

        lengths = [len(row) for row in rows]
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        columns = np.fromiter((f for row in rows for f in row), np.int64, int(starts[-1]))
        weights = np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), lengths)
        shape = (len(rows), max(len(self._features), 1))
        matrix = csr_matrix((weights, columns, starts), shape=shape)
        matrix.sort_indices()
        return matrix


def _bigrams(normal: str) -> set[tuple[str, str]]:
    words = normal.split(" ")
    return set(pairwise(words))
