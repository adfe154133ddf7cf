"""What one corpus says about words: learned vectors, rarity and spelling; and sums of the vectors.

A sentence is the sum, over its distinct stems, of a learned vector and of a direction by spelling
(`firth.text.stems`), which is as long as the stem's inverse document frequency. A learned vector
is shrunk where its stem is rare: by sqrt(n / (n + k)) for n sentences.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.corpus.numbered import read_sentences
from firth.encoders.encoder import WordStates
from firth.encoders.learning import learn
from firth.run.console import note
from firth.run.errors import TooLittleTextError
from firth.run.files import read_arrays, read_json, write_arrays, write_json
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.text.stems import Idf, fit_idf
from firth.text.types import Floats, Singles, unit
from firth.text.words import stemmer_of, stems, words

WORDS = Stage("words", version=3)
_WORDS, _VECTORS = "words.json", "vectors.safetensors"
NOTHING = "nothing"
"""In the summary of the stage: why nothing was learned from the corpus."""
_RARE = 6.0
"""The inverse document frequency (a word of one sentence in 400) at which a direction by spelling
has length 1. It only sets the scale of `scorer.spelling_weight`."""


@dataclass(frozen=True, eq=False)
class WordSpace:
    """Vectors of stems that a corpus taught, and how many of its sentences have each stem.

    The learned weight of a stem is part of its vector, (V, d). A vector is halved in variance where
    k sentences, `prior_count`, have its stem.
    """

    vocabulary: Sequence[str]
    vectors: Singles
    idf: Idf
    prior_count: float

    def save(self, folder: Path) -> None:
        """Write it into a folder, each file atomically."""
        stored = {"prior_count": self.prior_count, "vocabulary": list(self.vocabulary)}
        write_json(folder / _WORDS, stored)
        write_arrays(folder / _VECTORS, {"vectors": self.vectors})
        self.idf.save(folder)

    @classmethod
    def load(cls, folder: Path) -> "WordSpace":
        """Read what `save` wrote."""
        stored, (arrays, _) = read_json(folder / _WORDS), read_arrays(folder / _VECTORS)
        vocabulary, prior_count = tuple(stored["vocabulary"]), float(stored["prior_count"])
        return cls(vocabulary, arrays["vectors"], Idf.load(folder), prior_count)

    @property
    def stemmer(self) -> str:
        """Name of the stemmer (`firth.text.words.stems`)."""
        return self.idf.stemmer

    @property
    def dimensions(self) -> int:
        """Length d of a learned vector."""
        return int(self.vectors.shape[1])

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The row of each stem in `vectors`."""
        return {stem: number for number, stem in enumerate(self.vocabulary)}

    def unlearned(self) -> "WordSpace":
        """Return a space in which nothing learned counts: stems have spelling and rarity only."""
        return replace(self, prior_count=math.inf)

    def stems(self, text: str) -> list[str]:
        """Return the distinct stems of a text, in order."""
        return list(dict.fromkeys(stems(words(text), self.stemmer)))

    def trusted(self, stem: str) -> float:
        """Return n / (n + k), in [0, 1), for a stem of n sentences; 0 for an unknown stem."""
        n = self.idf.frequencies.get(stem, 0)
        return n / (n + self.prior_count) if n else 0.0

    def rarity(self, stem: str) -> float:
        """Return the length of a stem's direction by spelling, at least 0; 1 for one in 400."""
        return self.idf.weight(stem) / _RARE

    def learned(self, stems: Sequence[str]) -> Floats:
        """Return learned vectors of stems, (n, d), shrunk by sqrt(n / (n + k)); 0 for unknown ones.

        The root mean square of all lengths is 1 before they are shrunk.
        """
        rows = [self.numbers.get(stem, -1) for stem in stems]
        return self._shrunk[rows].astype(np.float64)

    def directions(self, stems: Sequence[str]) -> Floats:
        """Return the vectors of `learned` with lengths of sqrt(n / (n + k)) alone, (n, d)."""
        trusted = np.sqrt([self.trusted(stem) for stem in stems])
        return unit(self.learned(stems)) * trusted[:, None]

    @cached_property
    def _shrunk(self) -> Singles:
        """`learned` of the vocabulary, and a last row of zeros for all other stems."""
        mean_square = np.square(self.vectors, dtype=np.float64).sum(axis=1).mean()
        trusted = np.sqrt([self.trusted(stem) for stem in self.vocabulary])
        factors = (trusted / max(math.sqrt(mean_square), 1e-9)).astype(np.float32)
        return np.vstack((self.vectors * factors[:, None], np.zeros_like(self.vectors[:1])))


class BagEncoder:
    """Encodes a text as the sum of the learned vectors of its distinct stems."""

    word_states: WordStates | None = None

    def __init__(self, space: WordSpace) -> None:
        self.space, self.dimensions = space, space.dimensions
        self.name = f"word vectors ({space.dimensions}-d)"

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return unit vectors of n texts, (n, d); zero for a text without a known stem."""
        sums = np.zeros((len(texts), self.dimensions))
        for row, text in zip(sums, texts, strict=True):
            row += self.space.learned(self.space.stems(text)).sum(axis=0)
        return unit(sums).astype(np.float32)


def build_words(run: Run) -> Outcome:
    """Learn the word vectors of a run's corpus: stage `words`."""
    settings = ["seed", "words"]
    return run.build(WORDS, _fill, settings=settings, inputs={"corpus": Corpus.open(run).digest})


def _fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    settings, scratch = run.settings.words, workspace / SCRATCH
    corpus = Corpus.open(run)
    idf = fit_idf(chain.from_iterable(corpus.batches()), stemmer_of(corpus.language))
    try:
        sentences = read_sentences(run, settings, scratch)
        weights = np.array([idf.weight(stem) for stem in sentences.vocabulary], np.float32)
        seed = derive_seed(run.settings.seed, "fit", "words")
        vectors, summary = learn(sentences, weights, settings, seed, scratch, "Word vectors")
    except TooLittleTextError as error:  # Words are then compared by spelling and rarity alone.
        note(f"words: nothing is learned. {error}")
        known = sorted(idf.frequencies)
        nothing = np.zeros((len(known), 1), np.float32)
        WordSpace(known, nothing, idf, settings.prior_count).save(workspace)
        return {"sentences": len(corpus), "vocabulary": len(known), NOTHING: str(error)}
    WordSpace(sentences.vocabulary, vectors, idf, settings.prior_count).save(workspace)
    return {**sentences.summary, **summary}
