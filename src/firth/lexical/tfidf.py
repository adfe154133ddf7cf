"""Inverse document frequencies, and tf-idf: the terms two texts share, rare ones counting more."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from firth.lexical.arrays import Floats
from firth.lexical.scorer import TextPair, numbered
from firth.lexical.words import Stemmer, stems, words
from firth.run.errors import InputError
from firth.run.files import read_json, write_json

IDF = "idf.json"


@dataclass(frozen=True)
class Idf:
    """How rare each term is; a term is the stem of a word, or the word itself.

    Attributes:
        frequencies: Term → n, the number of sentences that have it.
        sentences: N, the number of sentences read.
        source: Where they come from, in words.
        stemmer: Makes terms of words.

    Example:
        >>> idf = fit_idf(["A ship sailed.", "A storm came."], source="two sentences")
        >>> idf.terms("Ships sailing")
        ['ship', 'sail']
        >>> idf.weight("sail") > idf.weight("a")
        True
    """

    frequencies: Mapping[str, int]
    sentences: int
    source: str
    stemmer: Stemmer

    def terms(self, text: str) -> list[str]:
        """The terms of `text`, in order, as often as it has them."""
        return stems(words(text), self.stemmer)

    def weight(self, term: str) -> float:
        """ln((1 + N) / (1 + n)), at least 0; a term never seen (n = 0) gets the largest."""
        return math.log((1 + self.sentences) / (1 + self.frequencies.get(term, 0)))

    def smooth_weight(self, term: str) -> float:
        """`weight` + 1, as in scikit-learn: what every sentence has still counts."""
        return self.weight(term) + 1

    def unknown(self, text: str) -> list[str]:
        """The distinct words of `text`, in order, whose terms were never seen."""
        said = list(dict.fromkeys(words(text)))
        terms = stems(said, self.stemmer)
        return [w for w, term in zip(said, terms, strict=True) if term not in self.frequencies]

    def save(self, folder: Path) -> None:
        """Write it into `folder`, atomically, without its source."""
        stored = {
            "stemmer": self.stemmer.value,
            "sentences": self.sentences,
            "frequencies": dict(self.frequencies),
        }
        write_json(folder / IDF, stored)

    @classmethod
    def load(cls, folder: Path, source: str = "the corpus") -> "Idf":
        """Read what `save` wrote; raise `InputError` where it is missing or broken."""
        stored = read_json(folder / IDF)
        try:
            stemmer = Stemmer(stored["stemmer"])
            return cls(stored["frequencies"], stored["sentences"], source, stemmer)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{folder / IDF}: not as this version of firth saves it ({error!r}). "
                "Build it again: firth train context --run RUN"
            ) from error


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


def fit_idf(sentences: Iterable[str], source: str, stemmer: Stemmer = Stemmer.PORTER) -> Idf:
    """Count how many of `sentences` have each term; they are read once, as a stream."""
    counts: Counter[str] = Counter()
    n = 0
    for sentence in sentences:
        counts.update(set(stems(words(sentence), stemmer)))
        n += 1
    return Idf(counts, n, source, stemmer)


def fit_frequencies(sentences: Iterable[str], source: str) -> Frequencies:
    """Count the words of `sentences`; they are read once, as a stream."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(words(sentence))
    return Frequencies(counts, counts.total(), source)


OWN = "the evaluated set's own sentences"


class TfIdf:
    """Cosine of idf vectors, in [0, 1]: which terms two texts share, rare ones counting more.

    Terms are Porter's stems, so that forms of a word meet. Each that a text has counts once and
    weighs `Idf.weight`; one that the idf never saw weighs most. A text of which nothing is left has
    similarity 0, except to itself: 1.

    Args:
        idf: Learned beforehand (`fit_idf`), or None: learned from the distinct texts of the pairs
            in each call, so that scores depend on the set they are part of.

    Example:
        >>> tfidf = TfIdf(fit_idf(["A ship sailed.", "A storm came."], source="two sentences"))
        >>> shared_rare, shared_common = tfidf.similarities(
        ...     [("A ship.", "My ships."), ("A ship.", "A storm.")]
        ... )
        >>> bool(shared_rare > shared_common)
        True
    """

    def __init__(self, idf: Idf | None = None) -> None:
        self._idf = idf

    @property
    def name(self) -> str:
        """tf-idf, and where its idf comes from."""
        return f"tf-idf of stems, idf from {self._idf.source if self._idf else OWN}"

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Cosines of `pairs`, shape (n,)."""

        def weigh(texts: list[str]) -> sparse.csr_matrix:
            idf = self._idf or fit_idf(texts, source=OWN)
            found, terms = _counts(texts, idf)
            found.data[:] = 1.0
            return found @ sparse.diags(np.array([idf.weight(term) for term in terms]))

        return _cosines(pairs, weigh)

    def weights(self, text: str) -> dict[str, float]:
        """Term → its weight in the unit vector of `text`; for an idf learned beforehand.

        Raises:
            ValueError: The idf is that of the evaluated set.
        """
        if self._idf is None:
            raise ValueError("tf-idf of the evaluated set: a text alone has no idf")
        weights = {term: self._idf.weight(term) for term in self._idf.terms(text)}
        length = math.hypot(*weights.values()) or 1.0
        return {term: weight / length for term, weight in weights.items()}


class PlainTfIdf:
    r"""Cosine of tf-idf vectors as they are usually made, in [0, 1]; weaker than `TfIdf`.

    A word (lowercased `\w+`) that occurs f times in a text weighs (1 + ln f) · (idf + 1). Scores
    equal those of scikit-learn's `TfidfVectorizer(sublinear_tf=True)` fitted on the sentences of
    the idf, so words it never saw are dropped. A text of which nothing is left has similarity 0,
    except to itself: 1.

    Args:
        idf: As in `TfIdf`, but of words (`fit_idf` with `Stemmer.NONE`).
    """

    def __init__(self, idf: Idf | None = None) -> None:
        self._idf = idf

    @property
    def name(self) -> str:
        """Plain tf-idf, and where its idf comes from."""
        return f"plain tf-idf of words, idf from {self._idf.source if self._idf else OWN}"

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Cosines of `pairs`, shape (n,)."""

        def weigh(texts: list[str]) -> sparse.csr_matrix:
            idf = self._idf or fit_idf(texts, OWN, Stemmer.NONE)
            counts, terms = _counts(texts, idf)
            counts.data = 1.0 + np.log(counts.data)
            weights = [idf.smooth_weight(t) if t in idf.frequencies else 0.0 for t in terms]
            return counts @ sparse.diags(np.array(weights))

        return _cosines(pairs, weigh)


def _counts(texts: list[str], idf: Idf) -> tuple[sparse.csr_matrix, list[str]]:
    """How often each text has each term, shape (n texts, n terms among them), and the terms."""
    counter = CountVectorizer(analyzer=idf.terms, dtype=np.float64)
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # scikit-learn refuses texts that have no word at all
        return sparse.csr_matrix((len(texts), 1), dtype=np.float64), [""]
    return counts, counter.get_feature_names_out().tolist()


def _cosines(pairs: Sequence[TextPair], weigh: Callable[[list[str]], sparse.csr_matrix]) -> Floats:
    """Cosines (n,) of the vectors that `weigh` gives distinct texts; 1 for a text and itself."""
    texts, *sides = numbered(pairs)
    left, right = (np.array(side, dtype=int) for side in sides)
    vectors = normalize(weigh(texts).tocsr(), copy=False) if texts else sparse.csr_matrix((0, 0))
    cosines = np.asarray(vectors[left].multiply(vectors[right]).sum(axis=1)).ravel()
    cosines[[one == two for one, two in pairs]] = 1.0  # also where nothing is left of them
    clipped: Floats = np.clip(cosines, 0.0, 1.0)
    return clipped
