"""Word vectors: any, to be looked up; and a bag of learned ones, of which sentences are sums."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from firth.lexical.arrays import Floats, Singles
from firth.lexical.scorer import CosineScorer
from firth.lexical.words import Stemmer, stems, words
from firth.run.files import read_json, write_atomically, write_json

WORDS, VECTORS, SETTINGS = "words.json", "vectors.safetensors", "settings.json"


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Word vectors that can be looked up.

    Attributes:
        name: What they are, for people.
        dimensions: Length of a vector.
        look_up: Word → float32 vector of that length, or None where there is none.
    """

    name: str
    dimensions: int
    look_up: Callable[[str], Singles | None]

    @classmethod
    def of(cls, name: str, words: list[str], vectors: Singles) -> "WordVectors":
        """The vectors (n, d) of `words`; of a word given twice the first counts."""
        rows = {word: i for i, word in reversed(list(enumerate(words)))}

        def look_up(word: str) -> Singles | None:
            row = rows.get(word)
            return None if row is None else vectors[row]

        return cls(name, vectors.shape[1], look_up)


@dataclass(frozen=True, eq=False)
class WordBag:
    """Learned word vectors, and how texts become words: a sentence is the sum of its words.

    Attributes:
        title: What it is, for people.
        vocabulary: The words (or stems).
        vectors: float32, (V, d); the weight of a word is part of its vector.
        stemmer: Applied to a text's words before they are looked up.
    """

    title: str
    vocabulary: Sequence[str]
    vectors: Singles
    stemmer: Stemmer

    def save(self, folder: Path) -> None:
        """Write it into `folder`, each file atomically."""
        from safetensors.numpy import save_file

        write_json(folder / SETTINGS, {"title": self.title, "stemmer": self.stemmer.value})
        write_json(folder / WORDS, list(self.vocabulary))
        with write_atomically(folder / VECTORS) as partial:
            save_file({"vectors": np.ascontiguousarray(self.vectors, np.float32)}, partial)

    @classmethod
    def load(cls, folder: Path) -> "WordBag":
        """Read what `save` wrote; raise `InputError` where a file is missing or broken."""
        from safetensors.numpy import load_file

        settings, vocabulary = read_json(folder / SETTINGS), read_json(folder / WORDS)
        vectors = load_file(folder / VECTORS)["vectors"]
        return cls(settings["title"], vocabulary, vectors, Stemmer(settings["stemmer"]))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Word → its row in `vectors`."""
        return {word: number for number, word in enumerate(self.vocabulary)}

    def scorer(self) -> CosineScorer:
        """Cosine of two sentence vectors: sums in which a repeated word counts again."""
        known: dict[str, int | None] = {}

        def encode(texts: Sequence[str]) -> Floats:
            found = [words(text) for text in texts]
            new = [w for w in dict.fromkeys(w for text in found for w in text) if w not in known]
            for word, stem in zip(new, stems(new, self.stemmer), strict=True):
                known[word] = self.numbers.get(stem)
            sums = np.zeros((len(texts), self.vectors.shape[1]))
            for row, text in zip(sums, found, strict=True):
                ids = [i for word in text if (i := known[word]) is not None]
                row += self.vectors[ids].sum(axis=0, dtype=np.float64)
            return sums

        return CosineScorer(self.title, encode)


def load(folder: Path) -> CosineScorer:
    """The scorer of a saved bag."""
    return WordBag.load(folder).scorer()
