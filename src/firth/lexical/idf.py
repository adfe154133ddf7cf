"""Inverse document frequencies, learned from any stream of sentences."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firth.lexical.words import words
from firth.run.run import Run

_BLOCK = 16_384


@dataclass(frozen=True)
class Idf:
    """How rare each word is: idf(w) = ln((1 + n) / (1 + df(w))) + 1, smoothed as in scikit-learn.

    Attributes:
        frequencies: Word → df(w), the number of sentences that contain it.
        sentences: n, the number of sentences read.
        source: Where they come from, in words.

    Example:
        >>> idf = fit_idf(["A ship sailed.", "A storm came."], source="two sentences")
        >>> idf.weight("ship") > idf.weight("a")
        True
    """

    frequencies: Mapping[str, int]
    sentences: int
    source: str

    def weight(self, word: str) -> float:
        """idf(w), at least 1; a word never seen (df = 0) gets the largest."""
        return math.log((1 + self.sentences) / (1 + self.frequencies.get(word, 0))) + 1


def fit_idf(sentences: Iterable[str], source: str) -> Idf:
    """Count in how many of `sentences` each word occurs; they are read once, as a stream."""
    counts: Counter[str] = Counter()
    n = 0
    for sentence in sentences:
        counts.update(set(words(sentence)))
        n += 1
    return Idf(counts, n, source)


def fit_idf_on_run(path: str | Path | Run) -> Idf:
    """The idf of a run's corpus: its sentences of `min_words` to `max_words` words.

    Raises:
        InputError: `path` is not a run.
        MissingStageError: The run has no corpus yet.
    """
    from firth.corpus.corpus import Corpus

    run = Run.open(path)
    corpus = Corpus.open(run)
    limits = run.config.corpus
    lengths = corpus.word_counts
    chosen = np.flatnonzero((lengths >= limits.min_words) & (lengths <= limits.max_words))

    def texts() -> Iterator[str]:
        for start in range(0, len(chosen), _BLOCK):
            yield from corpus.texts(chosen[start : start + _BLOCK])

    return fit_idf(texts(), source=f"the {len(chosen):,} sentences of the corpus of {run.path}")
