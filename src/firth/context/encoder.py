"""Sentence vectors by which a sentence fits into contexts: p(y=1 | s, c) ∝ exp(s · c / τ).

Both encoders learn the task of the discriminative model (§3.2.1) in its contrastive form: which of
a batch's sentences stands next to this one (van den Oord et al. 2018). What stands next to a
position is its context, so a sentence's vector times that of a corpus sentence is its fit there.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

import numpy as np

from firth.context.settings import Encoder
from firth.lexical.arrays import Floats
from firth.lexical.word_space import WordSpace

ENCODER = "encoder.json"
"""The stage's own record of which encoder it holds, whatever the configuration says by now."""


class SentenceEncoder(Protocol):
    """Texts → vectors of length 1, or 0 where nothing is known of a text."""

    kind: ClassVar[Encoder]
    name: str
    """What it is, for people."""

    @property
    def words(self) -> "ReadWords | None":
        """Reads words in their sentences; None where it has no states of words."""

    def encode(self, texts: Sequence[str], title: str = "Sentence vectors") -> Floats:
        """Vectors of `texts`, shape (n, d); none depends on the other texts."""


ReadWords = Callable[[Sequence[str]], list[Floats]]
"""Texts → directions of their distinct stems, in the order of `WordSpace.stems`, (stems, d) each:
unit vectors, 0 where nothing is known of a word."""


class BagEncoder:
    """The sum of what was learned of a text's distinct words, as a unit vector.

    Args:
        space: The learned vectors, scaled by trust.
    """

    kind: ClassVar[Encoder] = Encoder.BAG
    words: ReadWords | None = None

    def __init__(self, space: WordSpace) -> None:
        self.name = space.bag.title
        self._space = space

    def encode(self, texts: Sequence[str], title: str = "Sentence vectors") -> Floats:
        """Vectors of `texts`, shape (n, d)."""
        sums = np.zeros((len(texts), self._space.bag.vectors.shape[1]))
        for row, text in zip(sums, texts, strict=True):
            row += self._space.learned(self._space.stems(text)).sum(axis=0)
        return unit(sums)


def unit(rows: Floats) -> Floats:
    """Each row divided by its length; zero rows stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Floats = rows / np.where(lengths > 0, lengths, 1.0)
    return scaled
