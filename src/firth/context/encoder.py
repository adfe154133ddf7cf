"""Sentence vectors by which a sentence fits into contexts: p(y=1 | s, c) ∝ exp(s · c / τ).

Both encoders learn the task of the discriminative model (§3.2.1) in its contrastive form: which of
a batch's sentences stands next to this one (van den Oord et al. 2018). What stands next to a slot
is its context, so a sentence's vector times that of a corpus sentence is its fit there.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from firth.lexical.stem import stems
from firth.lexical.word_vectors import WordBag
from firth.lexical.words import words

Floats = npt.NDArray[np.float64]


class SentenceEncoder(Protocol):
    """Texts → vectors of length 1, or 0 where nothing is known of a text."""

    name: str
    """What it is, for people."""

    def encode(self, texts: Sequence[str], title: str = "Sentence vectors") -> Floats:
        """Vectors of `texts`, shape (n, d); none depends on the other texts."""


class WordVectors:
    """Texts → their distinct words and the vectors of these.

    Args:
        bag: The learned vectors; a word's weight is the length of its vector.
    """

    def __init__(self, bag: WordBag) -> None:
        self._bag = bag
        self._numbers = {word: number for number, word in enumerate(bag.vocabulary)}

    def __call__(self, text: str) -> tuple[list[str], Floats]:
        """The distinct known words of `text` in order, and their vectors, (w, d).

        Where words are stemmed, the first of those with one stem stands for all.
        """
        said = words(text)
        known: dict[int, str] = {}
        for word, stem in zip(said, stems(said, self._bag.stemmer), strict=True):
            if (number := self._numbers.get(stem)) is not None:
                known.setdefault(number, word)
        vectors = self._bag.vectors[list(known)].astype(np.float64)
        return list(known.values()), vectors


class BagEncoder:
    """The sum of the vectors of a text's distinct words, as a unit vector.

    Args:
        vectors: Of words.
        name: What it is, for people.
    """

    def __init__(self, vectors: WordVectors, name: str) -> None:
        self.name = name
        self._vectors = vectors

    def encode(self, texts: Sequence[str], title: str = "Sentence vectors") -> Floats:
        """Vectors of `texts`, shape (n, d)."""
        sums = [self._vectors(text)[1].sum(axis=0) for text in texts]
        return unit(np.array(sums).reshape(len(texts), -1))


def unit(rows: Floats) -> Floats:
    """Each row divided by its length; zero rows stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Floats = rows / np.where(lengths > 0, lengths, 1.0)
    return scaled
