"""Unigram frequencies, learned from any stream of sentences."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firth.lexical.words import words
from firth.run.run import Run


@dataclass(frozen=True)
class Frequencies:
    """How often each word occurs.

    Attributes:
        counts: Word → occurrences.
        total: Occurrences of all words.
        source: Where they were counted, in words.
    """

    counts: Mapping[str, int]
    total: int
    source: str

    def share(self, word: str) -> float:
        """p(w), in [0, 1]; 0 for a word never seen."""
        return self.counts.get(word, 0) / self.total if self.total else 0.0


def fit_frequencies(sentences: Iterable[str], source: str) -> Frequencies:
    """Count the words of `sentences`; they are read once, as a stream."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(words(sentence))
    return Frequencies(counts, counts.total(), source)


def fit_frequencies_on_run(path: str | Path | Run, sample: int) -> tuple[Frequencies, list[str]]:
    """Word frequencies of a run's corpus, and `sample` of its sentences, evenly spaced.

    Raises:
        InputError: `path` is not a run.
        MissingStageError: The run has no corpus yet.
    """
    from firth.corpus.corpus import Corpus

    run = Run.open(path)
    corpus = Corpus.open(run)
    source = f"the {len(corpus):,} sentences of the corpus of {run.path}"
    frequencies = fit_frequencies((text for batch in corpus.batches() for text in batch), source)
    chosen = np.unique(np.linspace(0, len(corpus) - 1, min(sample, len(corpus))).astype(np.int64))
    return frequencies, corpus.texts(chosen)
