"""What scores learn of a run's corpus: its sentences of usual length, idf, frequencies."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from firth.corpus.corpus import Corpus
from firth.corpus.of_length import OfLength
from firth.corpus.settings import CorpusConfig
from firth.lexical.arrays import Ints
from firth.lexical.tfidf import Frequencies, Idf, fit_frequencies, fit_idf
from firth.lexical.words import Stemmer
from firth.run.run import Run


def usual_sentences(corpus: Corpus, limits: CorpusConfig) -> OfLength:
    """The sentences of `min_words` to `max_words` words."""
    return OfLength(corpus.word_counts, limits.min_words, limits.max_words)


def evenly_spaced(count: int, most: int) -> Ints:
    """At most `most` places, ascending, evenly spaced over `count`."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).astype(np.int64))


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
        for some in chosen.blocks():
            yield from corpus.texts(some)

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
    return frequencies, corpus.texts(evenly_spaced(len(corpus), sample))
