"""A bag of word vectors on disk: a sentence is the sum of its words' vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.lexical.cosine import CosineScorer
from firth.lexical.stem import Stemmer, stems
from firth.lexical.words import words
from firth.run.files import read_json, write_atomically, write_json

WORDS, VECTORS, SETTINGS = "words.json", "vectors.safetensors", "settings.json"


@dataclass(frozen=True, eq=False)
class WordBag:
    """Word vectors, and how texts become words.

    Attributes:
        title: What it is, for people.
        vocabulary: The words (or stems).
        vectors: float32, (V, d); the weight of a word is part of its vector.
        stemmer: Applied to a text's words before they are looked up.
    """

    title: str
    vocabulary: Sequence[str]
    vectors: npt.NDArray[np.float32]
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

    def scorer(self) -> CosineScorer:
        """Cosine of two sentence vectors."""
        numbers = {word: i for i, word in enumerate(self.vocabulary)}
        known: dict[str, int | None] = {}

        def encode(texts: Sequence[str]) -> npt.NDArray[np.float64]:
            """Sums of word vectors, (n, d); zero where no word is known."""
            found = [words(text) for text in texts]
            new = [w for w in dict.fromkeys(w for text in found for w in text) if w not in known]
            for word, stem in zip(new, stems(new, self.stemmer), strict=True):
                known[word] = numbers.get(stem)
            sums = np.zeros((len(texts), self.vectors.shape[1]))
            for row, text in zip(sums, found, strict=True):
                ids = [i for word in text if (i := known[word]) is not None]
                row += self.vectors[ids].sum(axis=0, dtype=np.float64)
            return sums

        return CosineScorer(self.title, encode)


def load(folder: Path) -> CosineScorer:
    """The scorer of a saved bag."""
    return WordBag.load(folder).scorer()
