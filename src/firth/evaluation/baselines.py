"""Plain baselines, which learn nothing but word counts: word overlap, tf-idf, n-grams of stems.

A text without any word has similarity 0, except with itself: 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from firth.corpus.corpus import Corpus
from firth.encoders.words import WORDS
from firth.run.errors import InputError
from firth.run.run import Run
from firth.text.stems import Idf, fit_idf, gram_table, tf_idf
from firth.text.types import Floats, PairScorer, TextPair, numbered
from firth.text.words import language_of_texts, stemmer_of, words

BASELINES = ("dice", "tfidf", "ngrams")
PREFIX = "baseline:"


def open_baseline(name: str, run: str | Path | Run | None = None) -> PairScorer:
    """Open a baseline: `dice`, `tfidf` or `ngrams`.

    A run gives word counts and language. By default both are those of the distinct texts that are
    scored in one call.
    """
    if name not in BASELINES:
        raise InputError(
            f"{PREFIX}{name}: no such baseline. Expected one of {', '.join(BASELINES)}"
        )
    if name == "dice":
        return Dice()
    idf = None if run is None else idf_of_run(Run.open(run))
    return TfIdf(idf, ngrams=name == "ngrams")


def idf_of_run(run: Run) -> Idf:
    """Return the word counts of a run's corpus: those of its word vectors, where they are built."""
    if run.has(WORDS):
        return Idf.load(run.folder(WORDS))
    corpus = Corpus.open(run)
    return fit_idf(chain.from_iterable(corpus.batches()), stemmer_of(corpus.language))


@dataclass(frozen=True)
class Dice:
    """Word overlap, 2 |A & B| / (|A| + |B|) of the sets A and B of words, in [0, 1].

    It alone explains much of human relatedness (Abdalla et al. 2021, section 4.1).
    """

    name: str = f"{PREFIX}dice"

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the Dice coefficients of n pairs, (n,)."""
        texts, left, right = numbered(pairs)
        sets = [frozenset(words(text)) for text in texts]
        return np.array(
            [
                2 * len(sets[a] & sets[b]) / ((len(sets[a]) + len(sets[b])) or 1) if a != b else 1
                for a, b in zip(left, right, strict=True)
            ],
            dtype=np.float64,
        )


@dataclass(frozen=True)
class TfIdf:
    """Cosine of idf vectors, in [0, 1]: shared stems count, rare ones more.

    Each distinct stem of a text weighs ln((1 + N) / (1 + n)), where n of N sentences have it. A
    stem that the counts lack weighs most. With n-grams, stems that are spelled alike are partly
    equal: a text is the sum of the directions of its stems (`firth.text.stems`), each as long as
    its idf. Without an `idf`, the distinct texts of each call are counted, so that scores depend on
    them.
    """

    idf: Idf | None = None
    ngrams: bool = False

    @property
    def name(self) -> str:
        """A name for tables."""
        return f"{PREFIX}{'ngrams' if self.ngrams else 'tfidf'}"

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the cosines of n pairs, (n,)."""
        from scipy.sparse import csr_matrix

        texts, left, right = numbered(pairs)
        if not texts:
            return np.empty(0)
        idf = self.idf or fit_idf(texts, stemmer_of(language_of_texts(texts)))
        numbers: dict[str, int] = {}
        columns, starts = list[int](), [0]
        for text in texts:
            columns += [numbers.setdefault(t, len(numbers)) for t in dict.fromkeys(idf.terms(text))]
            starts.append(len(columns))
        weights = np.array([idf.weight(term) for term in numbers])
        cells = np.ones(len(columns)), np.array(columns, np.int64), starts
        rows = tf_idf(csr_matrix(cells, (len(texts), len(numbers))), weights)
        if self.ngrams:
            grams = gram_table(list(numbers))
            same = np.ones(grams.shape[1])
            rows = tf_idf(rows @ tf_idf(grams, same), same)
        cosines = np.asarray(rows[left].multiply(rows[right]).sum(axis=1)).ravel()
        cosines[np.equal(left, right)] = 1.0
        clipped: Floats = np.clip(cosines, 0.0, 1.0)
        return clipped
