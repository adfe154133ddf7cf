"""Inverse document frequencies, and tf-idf: the words two texts share, rare ones counting more."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from firth.lexical.arrays import Floats
from firth.lexical.scorer import TextPair, numbered
from firth.lexical.words import words
from firth.run.files import read_json, write_json

IDF = "idf.json"


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

    def unknown(self, text: str) -> list[str]:
        """The distinct words of `text` that were never seen, in order."""
        return [word for word in dict.fromkeys(words(text)) if word not in self.frequencies]

    def save(self, folder: Path) -> None:
        """Write it into `folder`, atomically, without its source."""
        stored = {"sentences": self.sentences, "frequencies": dict(self.frequencies)}
        write_json(folder / IDF, stored)

    @classmethod
    def load(cls, folder: Path, source: str = "the corpus") -> "Idf":
        """Read what `save` wrote; raise `InputError` where it is missing or broken."""
        stored = read_json(folder / IDF)
        return cls(stored["frequencies"], stored["sentences"], source)


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


def fit_idf(sentences: Iterable[str], source: str) -> Idf:
    """Count in how many of `sentences` each word occurs; they are read once, as a stream."""
    counts: Counter[str] = Counter()
    n = 0
    for sentence in sentences:
        counts.update(set(words(sentence)))
        n += 1
    return Idf(counts, n, source)


def fit_frequencies(sentences: Iterable[str], source: str) -> Frequencies:
    """Count the words of `sentences`; they are read once, as a stream."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(words(sentence))
    return Frequencies(counts, counts.total(), source)


OWN = "the evaluated set's own sentences"


class TfIdf:
    r"""Cosine of tf-idf vectors of single words (lowercased `\w+`), in [0, 1].

    A word that occurs f times in a text weighs (1 + ln f) · idf(w): sublinear term frequency.
    Scores equal those of scikit-learn's `TfidfVectorizer(sublinear_tf=True)` fitted on the
    sentences of the idf, so words it never saw are dropped. A text of which nothing is left has
    similarity 0, except to itself: 1.

    Args:
        idf: Learned beforehand (`fit_idf`), or None: learned from the distinct texts of the pairs
            in each call, so that scores depend on the set they are part of.
        count_unseen: Let words the idf never saw count as the rarest, instead of dropping them.

    Example:
        >>> tfidf = TfIdf(fit_idf(["A ship sailed.", "A storm came."], source="two sentences"))
        >>> shared_rare, shared_common = tfidf.similarities(
        ...     [("A ship.", "My ship."), ("A ship.", "A storm.")]
        ... )
        >>> bool(shared_rare > shared_common)
        True
    """

    def __init__(self, idf: Idf | None = None, *, count_unseen: bool = False) -> None:
        self._idf = idf
        self._count_unseen = count_unseen

    @property
    def name(self) -> str:
        """tf-idf, and where its idf comes from."""
        unseen = ", unseen words counted" if self._count_unseen else ""
        return f"tf-idf, idf from {self._idf.source if self._idf else OWN}{unseen}"

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Cosines of `pairs`, shape (n,)."""
        texts, *sides = numbered(pairs)
        left, right = (np.array(side, dtype=int) for side in sides)
        vectors = self._vectors(texts, self._idf or fit_idf(texts, source=OWN))
        cosines = np.asarray(vectors[left].multiply(vectors[right]).sum(axis=1)).ravel()
        cosines[[one == two for one, two in pairs]] = 1.0  # also where nothing is left of them
        clipped: Floats = np.clip(cosines, 0.0, 1.0)
        return clipped

    def weights(self, text: str) -> dict[str, float]:
        """Word → its weight in the unit vector of `text`; for an idf learned beforehand.

        Raises:
            ValueError: The idf is that of the evaluated set.
        """
        if self._idf is None:
            raise ValueError("tf-idf of the evaluated set: a text alone has no idf")
        weights = {
            word: (1.0 + math.log(count)) * self._idf.weight(word)
            for word, count in Counter(words(text)).items()
            if self._count_unseen or word in self._idf.frequencies
        }
        length = math.sqrt(math.fsum(weight**2 for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()}

    def _vectors(self, texts: list[str], idf: Idf) -> sparse.csr_matrix:
        """L2-normalised vectors, shape (n texts, n words among them)."""
        counter = CountVectorizer(analyzer=words, dtype=np.float64)
        try:
            counts = counter.fit_transform(texts)
        except ValueError:  # scikit-learn refuses texts that have no word at all
            return sparse.csr_matrix((len(texts), 1), dtype=np.float64)
        counts.data = 1.0 + np.log(counts.data)
        weights = [
            idf.weight(word) if self._count_unseen or word in idf.frequencies else 0.0
            for word in counter.get_feature_names_out()
        ]
        return normalize((counts @ sparse.diags(np.array(weights))).tocsr(), copy=False)
