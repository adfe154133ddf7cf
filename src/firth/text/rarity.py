"""Inverse document frequencies of stems, and the stop words that follow from them."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from pathlib import Path

import numpy as np

from firth.run.errors import InputError
from firth.run.files import read_json, write_json
from firth.text.subwords import CommonGrams, common_grams
from firth.text.words import language_of, stems, words

IDF = "idf.json"
_MOST_STEMS = 200_000
"""Stems whose n-grams are counted; rarer ones make no n-gram common."""
_FREQUENT = 0.1
"""A stem in a larger share of the sentences is a stop word in any language. A smaller share would
remove the subjects of a small corpus: with one in 100, *tax* and *school*."""
_ENGLISH = """
a about above across after afterwards again against all almost alone along already also although
always am among amongst amount an and another any anyhow anyone anything anyway anywhere are
aren around as at back be became because become becomes becoming been before beforehand behind
being below beside besides between beyond both but by can cannot cant co con could couldnt de
didn do doesn don done down due during each eg eight either eleven else elsewhere empty enough
etc even ever every everyone everything everywhere except few fifteen fifty find first five for
former formerly forty four from full further get give go had has hasnt have he hence her here
hereafter hereby herein hereupon hers herself him himself his how however hundred i ie if in inc
indeed into is isn it its itself keep last latter latterly least less ll ltd made many may me
meanwhile might more moreover most mostly much must my myself namely neither never nevertheless
next nine no nobody none noone nor not nothing now nowhere of off often on once one only onto or
other others otherwise our ours ourselves out over own per perhaps please put rather re same see
seem seemed seeming seems serious several she should since six sixty so some somehow someone
something sometime sometimes somewhere still such take ten than that the their them themselves
then thence there thereafter thereby therefore therein thereupon these they third this those
though three through throughout thru thus to together too toward towards twelve twenty two un
under until up upon us ve very via was wasn we well were weren what whatever when whence
whenever where whereafter whereas whereby wherein whereupon wherever whether which while whither
who whoever whole whom whose why will with within without would yet you your yours yourself
yourselves
"""
"""scikit-learn's English list without the words that carry meaning (Nothman et al. 2018), with the
remains of contractions."""
ENGLISH_STOP_WORDS = frozenset(_ENGLISH.split())


@dataclass(frozen=True)
class Idf:
    """How many sentences of a corpus have each term.

    A term is the stem of a word, or the word itself where there is no stemmer.

    Attributes:
        frequencies: Number of sentences that have each term.
        sentences: Number of sentences of the corpus.
        stemmer: Name of the stemmer (`firth.text.words.stems`).

    Example:
        >>> idf = fit_idf(["A ship sailed.", "A storm came."], "porter")
        >>> idf.terms("Ships sailing")
        ['ship', 'sail']
        >>> idf.weight("sail") > idf.weight("a")
        True
    """

    frequencies: Mapping[str, int]
    sentences: int
    stemmer: str

    @property
    def language(self) -> str:
        """ISO 639-1 code of the language, as far as the stemmer tells it; else `und`."""
        return language_of(self.stemmer)

    @cached_property
    def common_grams(self) -> CommonGrams:
        """The n-grams that a large part of the sentences has, and their weights."""
        frequent = nsmallest(
            _MOST_STEMS, self.frequencies.items(), key=lambda one: (-one[1], one[0])
        )
        counts = np.array([count for _, count in frequent], float)
        return common_grams([stem for stem, _ in frequent], counts, self.sentences)

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in order, repeated ones included."""
        return stems(words(text), self.stemmer)

    def weight(self, term: str) -> float:
        """Return ln((1 + N) / (1 + n)), at least 0; an unknown term (n = 0) has the largest."""
        return math.log((1 + self.sentences) / (1 + self.frequencies.get(term, 0)))

    def unknown(self, text: str) -> list[str]:
        """Return the distinct words of a text whose terms the corpus does not have, in order."""
        distinct = list(dict.fromkeys(words(text)))
        terms = stems(distinct, self.stemmer)
        return [w for w, term in zip(distinct, terms, strict=True) if term not in self.frequencies]

    def save(self, folder: Path) -> None:
        """Write the counts into a folder, atomically."""
        stored = {
            "stemmer": self.stemmer,
            "sentences": self.sentences,
            "frequencies": dict(self.frequencies),
        }
        write_json(folder / IDF, stored)

    @classmethod
    def load(cls, folder: Path) -> "Idf":
        """Read what `save` wrote.

        Raises:
            InputError: The file is missing or damaged.
        """
        stored = read_json(folder / IDF)
        try:
            return cls(dict(stored["frequencies"]), int(stored["sentences"]), stored["stemmer"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{folder / IDF}: not a table of word counts ({error!r}). Build the run again: "
                "firth build"
            ) from error


def fit_idf(sentences: Iterable[str], stemmer: str) -> Idf:
    """Count the sentences that have each term. The sentences are read once, as a stream."""
    counts: Counter[str] = Counter()
    n = 0
    for sentence in sentences:
        counts.update(set(stems(words(sentence), stemmer)))
        n += 1
    return Idf(counts, n, stemmer)


def stop_words(idf: Idf) -> frozenset[str]:
    """Return the stems that carry no meaning of their sentence.

    They are the stems that more than a tenth of the sentences have and, for English, a list.

    Example:
        >>> idf = fit_idf(["Der Hund bellt."] + 9 * ["Der Mond scheint."], "porter")
        >>> found = stop_words(idf)
        >>> "der" in found, "the" in found, "bill" in found
        (True, True, False)
    """
    least = _FREQUENT * max(idf.sentences, 20)
    frequent = [stem for stem, count in idf.frequencies.items() if count > least]
    english = stems(sorted(ENGLISH_STOP_WORDS), idf.stemmer) if idf.language == "en" else []
    return frozenset((*frequent, *english))


def is_letter(stem: str) -> bool:
    """Return whether a stem is empty or one Latin letter, such as an initial or the end of n't."""
    return not stem or (len(stem) == 1 and stem.isascii() and stem.isalpha())
