"""Similarities between runs of sentences of two texts, by any model."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from firth.baselines.spec import PREFIX
from firth.evaluate.models import OriginScorer, resolve_model
from firth.index.encoder import TextEncoder
from firth.lexical.arrays import Floats
from firth.lexical.scorer import Scorer, TextPair
from firth.lexical.words import words
from firth.reuse.align import SHAPES, Windows, run_vectors, windows_of
from firth.reuse.vectors import open_model
from firth.run.run import Run


class Measure(ABC):
    """Compares sentences; `name` is for people."""

    name: str

    @abstractmethod
    def windows(self, a: Sequence[str], b: Sequence[str]) -> Windows:
        """Similarities of runs of sentences of one text with runs of another."""

    @abstractmethod
    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Similarities of some pairs, (n,)."""

    @staticmethod
    def open(model: str | Path | None, run: Run | None, origin: bool = False) -> "Measure":
        """The measure of `firth compare-documents`.

        Args:
            model: Folder or hub name of a sentence-transformers model, or `baseline:NAME`; None: a
                run's own.
            run: Whose Surrogate, or Origin, is asked where no model is named.
            origin: Ask the run's Origin instead.

        Raises:
            InputError: The model is refused or cannot be loaded.
            MissingStageError: The run has no Surrogate, or its Origin is not built.
        """
        if origin and run is not None:
            return _Asked(OriginScorer(run))
        if str(model).startswith(PREFIX):
            return _Asked(resolve_model(str(model)))
        return _Encoded(open_model(model, run))


class _Encoded(Measure):
    """By cosines of vectors."""

    def __init__(self, encoder: TextEncoder) -> None:
        self.name = encoder.name
        self._encoder = encoder

    def windows(self, a: Sequence[str], b: Sequence[str]) -> Windows:
        one, two = (
            run_vectors(np.asarray(self._encoder.encode(texts), np.float64), count_words(texts))
            for texts in (a, b)
        )
        return windows_of(one, two)

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        one, two = (self._encoder.encode([pair[side] for pair in pairs]) for side in (0, 1))
        found: Floats = np.einsum("nd,nd->n", one, two, dtype=np.float64)
        return found


class _Asked(Measure):
    """By a scorer of pairs: a run of sentences is one text."""

    def __init__(self, scorer: Scorer) -> None:
        self.name = scorer.name
        self._scorer = scorer

    def windows(self, a: Sequence[str], b: Sequence[str]) -> Windows:
        found = {}
        for m, n in SHAPES:
            one, two = joined(a, m), joined(b, n)
            scores = self.similarities([(left, right) for left in one for right in two])
            found[m, n] = scores.reshape(len(one), len(two))
        return found

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        return np.asarray(self._scorer.similarities(pairs), np.float64) if pairs else np.empty(0)


def joined(texts: Sequence[str], size: int) -> list[str]:
    """Each run of `size` texts as one."""
    return [" ".join(texts[start : start + size]) for start in range(len(texts) - size + 1)]


def count_words(texts: Sequence[str]) -> Floats:
    """Words of each text, at least 1: a text without any has some weight, too."""
    return np.array([max(1, len(words(text))) for text in texts], dtype=np.float64)
