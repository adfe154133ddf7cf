"""What is known of words by one corpus: how rare each is, what it learned of it, how it is spelled.

A sentence is the sum, over its distinct stems, of a learned vector and of a direction of its own.
A learned vector deserves trust by how often its stem was seen: it is scaled by √(n / (n + k)), n
the sentences that have it. The own direction (`firth.lexical.spelling`) is as long as the stem's
inverse document frequency, so that words the corpus never had count too, as the rarest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from firth.lexical.arrays import Floats, Singles
from firth.lexical.tfidf import Idf
from firth.lexical.word_vectors import WordBag
from firth.lexical.words import stems, words
from firth.run.errors import InputError
from firth.run.files import read_json, write_json

SPACE = "space.json"
_RARE = 6.0
"""An inverse document frequency at which an own direction has length 1: a word of one sentence in
400. It only sets the scale in which `own` is given."""


@dataclass(frozen=True, eq=False)
class WordSpace:
    """Stems → learned vectors and own directions.

    Attributes:
        bag: Learned vectors of stems.
        idf: How many sentences have each stem; of the same stemmer.
        trust: k: sentences at which a learned vector is trusted half.
    """

    bag: WordBag
    idf: Idf
    trust: float

    def save(self, folder: Path) -> None:
        """Write it into `folder`, each file atomically."""
        self.bag.save(folder)
        self.idf.save(folder)
        write_json(folder / SPACE, {"trust": self.trust})

    @classmethod
    def load(cls, folder: Path) -> "WordSpace":
        """Read what `save` wrote; raise `InputError` where a file is missing or broken."""
        stored = read_json(folder / SPACE)
        if not isinstance(stored, dict) or not isinstance(stored.get("trust"), int | float):
            raise InputError(
                f"{folder / SPACE}: got {stored!r:.80}; expected a number named `trust`. "
                "Build it again: firth train context --run RUN"
            )
        return cls(WordBag.load(folder), Idf.load(folder), stored["trust"])

    def unlearned(self) -> "WordSpace":
        """The same without trust in anything learned: words are spelled, and more or less rare."""
        return replace(self, trust=math.inf)

    def stems(self, text: str) -> list[str]:
        """The distinct stems of `text`, in order."""
        return list(dict.fromkeys(stems(words(text), self.bag.stemmer)))

    def trusted(self, stem: str) -> float:
        """n / (n + k), in [0, 1], where n sentences have the stem: how far it is known."""
        n = self.idf.frequencies.get(stem, 0)
        return n / (n + self.trust) if n else 0.0

    def rarity(self, stem: str) -> float:
        """Length of a stem's own direction, at least 0: its idf, 1 for what 1 in 400 has."""
        return self.idf.weight(stem) / _RARE

    def learned(self, found: Sequence[str]) -> Floats:
        """Learned vectors of stems, scaled by trust, (len(found), d); 0 where there is none.

        The root mean square of all lengths, before trust, is 1.
        """
        return self._scaled[self._rows(found)].astype(np.float64)

    def directions(self, found: Sequence[str]) -> Floats:
        """As `learned`, each row √(n / (n + k)) long instead."""
        rows = self._rows(found)
        return self._scaled[rows] * self._stretched[rows, None]

    def _rows(self, found: Sequence[str]) -> list[int]:
        return [self.bag.numbers.get(stem, -1) for stem in found]

    @cached_property
    def _stretched(self) -> Floats:
        """What makes `directions` of the rows of `_scaled`."""
        lengths = np.sqrt(np.square(self._scaled, dtype=np.float64).sum(axis=1))
        trusted = np.sqrt([*map(self.trusted, self.bag.vocabulary), 0.0])
        stretched: Floats = trusted / np.where(lengths > 0, lengths, 1.0)
        return stretched

    @cached_property
    def _scaled(self) -> Singles:
        """`learned` of the whole vocabulary; the last row, 0, is that of all other stems."""
        vectors = self.bag.vectors
        typical = np.sqrt(np.square(vectors, dtype=np.float64).sum(axis=1).mean())
        trusted = np.sqrt([self.trusted(stem) for stem in self.bag.vocabulary])
        factors = (trusted / max(float(typical), 1e-9)).astype(np.float32)
        return np.vstack((vectors * factors[:, None], np.zeros_like(vectors[:1])))
