"""What scores learn of a run's corpus: its sentences of usual length, idf, frequencies."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from firth.corpus.corpus import Corpus
from firth.corpus.settings import CorpusConfig
from firth.lexical.arrays import Ints
from firth.lexical.tfidf import Frequencies, Idf, fit_frequencies, fit_idf
from firth.lexical.words import Stemmer
from firth.run.run import Run

_BLOCK = 16_384


FEW_NEIGHBOURS = 0.25
"""Pairs of neighbouring sentences, as a share of all sentences: below it, texts stand alone."""


def stand_alone(neighbours: int, sentences: int) -> bool:
    """Whether so few sentences have a neighbour that models must learn from parts of one."""
    return neighbours < FEW_NEIGHBOURS * sentences


def usual_sentences(corpus: Corpus, limits: CorpusConfig) -> Ints:
    """Numbers, ascending, of the sentences of `min_words` to `max_words` words."""
    counts = corpus.word_counts
    return np.flatnonzero((counts >= limits.min_words) & (counts <= limits.max_words))


def evenly_spaced(chosen: Ints, most: int) -> Ints:
    """At most `most` of `chosen`, evenly spaced over them."""
    places = np.linspace(0, len(chosen) - 1, min(most, len(chosen))).astype(np.int64)
    return chosen[np.unique(places)]


def fit_idf_on_run(path: str | Path | Run, stemmer: Stemmer = Stemmer.PORTER) -> Idf:
    """The idf of a run's corpus: its sentences of `min_words` to `max_words` words.

    Raises:
        InputError: `path` is not a run.
        MissingStageError: The run has no corpus yet.
    """
    run = Run.open(path)
    corpus = Corpus.open(run)
    chosen = usual_sentences(corpus, run.config.corpus)

    def texts() -> Iterator[str]:
        for start in range(0, len(chosen), _BLOCK):
            yield from corpus.texts(chosen[start : start + _BLOCK])

    source = f"the {len(chosen):,} sentences of the corpus of {run.path}"
    return fit_idf(texts(), source, stemmer)


def fit_frequencies_on_run(path: str | Path | Run, sample: int) -> tuple[Frequencies, list[str]]:
    """Word frequencies of a run's corpus, and `sample` of its sentences, evenly spaced.

    Raises:
        InputError: `path` is not a run.
        MissingStageError: The run has no corpus yet.
    """
    run = Run.open(path)
    corpus = Corpus.open(run)
    source = f"the {len(corpus):,} sentences of the corpus of {run.path}"
    frequencies = fit_frequencies((text for batch in corpus.batches() for text in batch), source)
    return frequencies, corpus.texts(evenly_spaced(np.arange(len(corpus)), sample))
