"""How often words occur: in how many sentences (idf), and how many times; of any stream."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

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
