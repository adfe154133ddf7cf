"""Averaged word vectors: mean, max, idf-weighted and SIF-weighted."""

import re
from collections.abc import Callable, Sequence

import numpy as np

from firth.baselines.spec import Spec
from firth.corpus.statistics import fit_frequencies_on_run, fit_idf_on_run
from firth.lexical.arrays import Floats, Singles
from firth.lexical.scorer import CosineScorer, Scorer, TextPair
from firth.lexical.tfidf import OWN, Frequencies, fit_frequencies, fit_idf
from firth.lexical.word_vectors import WordVectors
from firth.lexical.words import Stemmer
from firth.run.errors import InputError

Encode = Callable[[Sequence[str]], Floats]
SIF_A = 1e-3
"""Arora et al. (2017) find 1e-4 to 1e-3 equally good."""
_WORD = re.compile(r"\w+")
_SAMPLE = 20_000
_ZERO = 1e-6


class Averager:
    r"""Turns texts into one vector each.

    Words are runs of `\w`. Each is looked up as written, then in lower case; those without a
    vector are left out.

    Args:
        vectors: Of the words.
        weight: Weight of each lowercased word in the mean; None for equal weights.
        largest: Take the largest value in each dimension instead of the mean.
    """

    def __init__(
        self,
        vectors: WordVectors,
        weight: Callable[[str], float] | None = None,
        *,
        largest: bool = False,
    ) -> None:
        self._vectors, self._weight, self._largest = vectors, weight, largest
        self._known: dict[str, Singles | None] = {}

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors (n, d) of `texts`; zero where no word is known."""
        rows = [self._encode(text) for text in texts]
        return np.array(rows).reshape(len(texts), self._vectors.dimensions)

    def _encode(self, text: str) -> Floats:
        found = [(w, v) for w in _WORD.findall(text) if (v := self._look_up(w)) is not None]
        if not found:
            return np.zeros(self._vectors.dimensions)
        stack: Floats = np.array([vector for _, vector in found], dtype=np.float64)
        if self._largest:
            highest: Floats = stack.max(axis=0)
            return highest
        weight = self._weight
        weights = np.array([weight(w.lower()) for w, _ in found]) if weight else np.ones(len(stack))
        mean: Floats = weights @ stack / len(stack)
        return mean

    def _look_up(self, word: str) -> Singles | None:
        if word not in self._known:
            found = self._vectors.look_up(word)
            self._known[word] = self._vectors.look_up(word.lower()) if found is None else found
        return self._known[word]


class FromSet:
    """A scorer that learns from the texts of the pairs it is asked about.

    Args:
        name: What it is, for people; it must say that it learns from the evaluated set.
        learn: Distinct texts, sorted → how to encode texts.
    """

    def __init__(self, name: str, learn: Callable[[list[str]], Encode]) -> None:
        self.name = name
        self._learn = learn

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Cosines of `pairs`, shape (n,)."""
        texts = sorted({text for pair in pairs for text in pair})
        return CosineScorer(self.name, self._learn(texts)).similarities(pairs)


def check(spec: Spec) -> None:
    """Raise `InputError` for options of `spec` that do not go together."""
    spec.one_of("mean", "mean", "max", "idf", "sif")
    if "set-component" in spec.options and not spec.options.get("sif"):
        raise InputError(f"{spec}: +set-component only goes with +sif=RUN")


def average(vectors: WordVectors, spec: Spec) -> Scorer:
    """The scorer that the options of `spec` ask for, over `vectors`.

    Raises:
        InputError: A named run is none.
        MissingStageError: A named run has no corpus.
    """
    if "content" in spec.options:
        vectors = without_stop_words(vectors)
    how = spec.one_of("mean", "mean", "max", "idf", "sif")
    run = spec.options.get(how)
    if how == "idf":
        return idf_weighted(vectors, run)
    if how == "sif":
        return sif_weighted(vectors, run, own_component="set-component" in spec.options)
    name = f"{how} of the word vectors of {vectors.name}"
    return CosineScorer(name, Averager(vectors, largest=how == "max").encode)


def without_stop_words(vectors: WordVectors) -> WordVectors:
    """The same vectors, but none for a stop word (scikit-learn's English list), however written."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    def look_up(word: str) -> Singles | None:
        return None if word.lower() in ENGLISH_STOP_WORDS else vectors.look_up(word)

    return WordVectors(f"{vectors.name}, stop words left out", vectors.dimensions, look_up)


def idf_weighted(vectors: WordVectors, run: str | None = None) -> Scorer:
    """Mean weighted by idf, of a run's corpus or (None) the evaluated set's own sentences."""
    title = f"idf-weighted mean of the word vectors of {vectors.name}, idf from"
    if run:
        idf = fit_idf_on_run(run, Stemmer.NONE)
        return CosineScorer(f"{title} {idf.source}", Averager(vectors, idf.smooth_weight).encode)
    return FromSet(
        f"{title} {OWN}",
        lambda texts: Averager(vectors, fit_idf(texts, OWN, Stemmer.NONE).smooth_weight).encode,
    )


def sif_weighted(
    vectors: WordVectors, run: str | None = None, *, own_component: bool = False
) -> Scorer:
    """Smooth inverse frequency (Arora, Liang & Ma, ICLR 2017, Algorithm 1).

    Word w weighs a / (a + p(w)), a = 1e-3; the projection on the first principal component (of
    the uncentred vectors) is taken away.

    Args:
        vectors: Of the words.
        run: Gives p(w) and the component (from at most 20,000 of its sentences, evenly spaced);
            None takes both from the evaluated set's own sentences.
        own_component: With a run: the component from the evaluated set all the same, as the paper
            does it.
    """

    def averager(frequencies: Frequencies) -> Averager:
        return Averager(vectors, lambda word: SIF_A / (SIF_A + frequencies.share(word)))

    title = f"SIF-weighted mean of the word vectors of {vectors.name}, word frequencies"
    if run is None:
        return FromSet(
            f"{title} and component from {OWN}",
            lambda texts: _removing(averager(fit_frequencies(texts, OWN)), texts),
        )
    frequencies, sample = fit_frequencies_on_run(run, _SAMPLE)
    source, weighted = frequencies.source, averager(frequencies)
    if own_component:
        name = f"{title} from {source}, component from {OWN}"
        return FromSet(name, lambda texts: _removing(weighted, texts))
    return CosineScorer(f"{title} and component from {source}", _removing(weighted, sample))


def _removing(averager: Averager, texts: Sequence[str]) -> Encode:
    """Encode without the first principal component of the vectors of `texts`."""
    component = first_component(averager.encode(texts))

    def encode(asked: Sequence[str]) -> Floats:
        vectors = averager.encode(asked)
        left = vectors - np.outer(vectors @ component, component)
        # What rounding leaves of a vector along the component has no direction of its own.
        gone = np.linalg.norm(left, axis=1) < _ZERO * np.linalg.norm(vectors, axis=1)
        left[gone] = 0.0
        return left

    return encode


def first_component(vectors: Floats) -> Floats:
    """Unit eigenvector (d,) of Σ v·vᵀ with the largest eigenvalue; zero if all vectors are."""
    if not vectors.any():
        return np.zeros(vectors.shape[1])
    component: Floats = np.linalg.eigh(vectors.T @ vectors)[1][:, -1]
    return component
