"""Stems of a corpus: how rare each is, and how it is spelled.

Words that are spelled alike share character n-grams (Bojanowski et al. 2017). Every stem, known or
not, has a direction: the sum of one direction for each of its n-grams, as a unit vector. The cosine
of two stems is then the number of shared n-grams over the geometric mean of their numbers of
n-grams. Forms that a stemmer keeps apart (*israel*, *israeli*) and misspelt words are partly
similar. N-grams that a large part of the sentences has, such as an article that is written with its
word, say little, and count less.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from firth.run.files import read_json, write_json
from firth.text.lexicon import lexicon_of
from firth.text.types import Floats
from firth.text.words import SEVERAL, language_of, stemmer_of, stems, stems_of

if TYPE_CHECKING:
    from scipy import sparse

Keys = npt.NDArray[np.uint64]
IDF = "idf.json"
SHORTEST, LONGEST = 3, 5
"""Characters of an n-gram, `<` and `>` at the ends of a word included."""
_SYLLABLES = (
    "\u1200-\u139f\u13a0-\u13ff\u1400-\u167f\u2d80-\u2ddf\ua000-\ua4cf\ua500-\ua63f"
    "\uab00-\uab2f\uac00-\ud7af"
)
_SYLLABIC = re.compile(f"[{_SYLLABLES}]")
"""A letter that is a syllable: Ethiopic, Hangul, Cherokee, Canadian, Yi and Vai.
Such a letter says as much as two of an alphabet, so that n-grams have 1 to 3 of them."""
_ENDS = ord("<"), ord(">")
_FEWER = 2
"""Characters that an n-gram of a syllabary has less: chosen on Amharic."""
_MOST_STEMS = 200_000
"""Stems whose n-grams are counted; rarer ones make no n-gram common."""
_FREQUENT = 0.1
"""A stem in a larger share of the sentences is a stop word in any language. A smaller share would
remove the subjects of a small corpus: with one in 100, *tax* and *school*."""
_RARE, _LEAST, _UNIT = 2.0, 1 / 16, 64
_ODD = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
"""Constants of xxHash, which mix the parts of a key."""


# --- Spelling ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CommonGrams:
    """N-grams that count less than others: ascending keys, (n,), and weights below 1, (n,)."""

    keys: Keys
    weights: Floats


def gram_table(
    stems: Sequence[str], common: CommonGrams | None = None, pieces: Sequence[str] = ()
) -> "sparse.csr_matrix":
    """Return the weight of each n-gram (column) in each of some distinct stems.

    The n-grams of `<stem>` have 3 to 5 characters, or 1 to 3 in a syllabary; `common` ones weigh
    less than 1. A stem with a digit is one n-gram, because 1984 and 1985 are not similar. Further
    rows are `pieces` of words, with `<` or `>` where a word begins or ends.
    """
    table, keys = _table([*(f"<{stem}>" for stem in stems), *pieces])
    if common is not None and len(common.keys):
        places = np.minimum(np.searchsorted(common.keys, keys), len(common.keys) - 1)
        weights = np.where(common.keys[places] == keys, common.weights[places], 1.0)
        table.data = weights[table.indices]
    return table


def word_grams(words: Sequence[str]) -> "sparse.csr_matrix":
    """Return 1 where a word (row) has an n-gram (column) of 2 to 4 characters, its ends included.

    Digits are characters here: they tell a model number that is written in two ways.
    """
    return _table([f"<{word}>" for word in words], (2, 4), numbers=True)[0]


def _table(
    framed: Sequence[str],
    lengths_of_grams: tuple[int, int] = (SHORTEST, LONGEST),
    numbers: bool = False,
) -> "tuple[sparse.csr_matrix, Keys]":
    """Return 1 where a text (row) has an n-gram (column), and the ascending keys of the n-grams.

    Without `numbers`, a text with a digit is one n-gram.

    A key mixes 21 bits of each character. That two of a million n-grams have the same key has a
    probability of 1 in 10 million.
    """
    from scipy import sparse

    shortest, longest = lengths_of_grams
    lengths = np.array([len(text) for text in framed], np.int64)
    fewer = np.array([_FEWER if _SYLLABIC.search(text) else 0 for text in framed], np.int64)
    is_single = np.array([not numbers and any(map(str.isdigit, text)) for text in framed], bool)
    is_single |= lengths < shortest - fewer  # one n-gram
    text = "".join(framed)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    holders, of_letters = np.repeat(np.arange(len(framed)), lengths), np.repeat(fewer, lengths)
    rest = np.repeat(np.where(is_single, 0, np.cumsum(lengths)), lengths) - np.arange(len(codes))
    packed = [codes]  # one, two and three characters from each on
    for n in (1, 2):
        following = np.concatenate((codes[n:], np.zeros(min(n, len(codes)), np.uint64)))
        packed.append(packed[-1] << np.uint64(21) | following)
    rows = [np.flatnonzero(is_single)]
    keys = [np.array([_key(framed[row]) for row in rows[0].tolist()], np.uint64)]
    for n in range(max(1, shortest - int(fewer.max(initial=0))), longest + 1):
        size = n + of_letters
        at = np.flatnonzero((rest >= n) & (size >= shortest) & (size <= longest))
        if n == 1:
            at = at[~np.isin(codes[at], _ENDS)]
        rows.append(holders[at])
        width = min(n, 3)
        first, last = packed[width - 1][at], packed[width - 1][at + n - width]  # all characters
        mixed = last * np.uint64(_ODD[1]) + np.uint64(n * _ODD[2] % 2**64)
        keys.append(first * np.uint64(_ODD[0]) ^ mixed)
    distinct, columns = np.unique(np.concatenate(keys), return_inverse=True)
    cells = np.ones(len(columns)), (np.concatenate(rows), columns)
    table = sparse.csr_matrix(cells, (len(framed), max(1, len(distinct))))
    table.data[:] = 1.0  # also where a stem has an n-gram twice
    return table, distinct


def _key(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


# --- Rarity --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Idf:
    """How many sentences of a corpus have each term.

    A term is the stem of a word, or the word itself where there is no stemmer. There are the number
    of sentences with each term, the number of all, and the stemmer's name (`firth.text.words`).
    """

    frequencies: Mapping[str, int]
    sentences: int
    stemmer: str

    @property
    def language(self) -> str:
        """ISO 639-1 code of the language, or several, as the stemmer tells it; else `und`."""
        return language_of(self.stemmer)

    @cached_property
    def common_grams(self) -> CommonGrams:
        """The n-grams that more than one sentence in 7 has, and their weights.

        Each weighs half of its inverse document frequency, and at least a sixteenth. The frequency
        is the sum over the stems that have the n-gram, which is rather too high.
        """
        frequent = nsmallest(
            _MOST_STEMS, self.frequencies.items(), key=lambda item: (-item[1], item[0])
        )
        table, keys = _table([f"<{stem}>" for stem, _ in frequent])
        counts = np.array([count for _, count in frequent], float) @ table
        rarities = np.log((1 + self.sentences) / (1 + np.minimum(counts, self.sentences)))
        # Multiples of a power of 2: sums of their products are exact in any order.
        weights = np.rint(_UNIT * np.clip(rarities / _RARE, _LEAST, 1.0)) / _UNIT
        return CommonGrams(keys[weights < 1], weights[weights < 1])

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in order, repeated ones included."""
        return stems_of(text, self.stemmer)

    def weight(self, term: str) -> float:
        """Return ln((1 + N) / (1 + n)), at least 0; an unknown term (n = 0) has the largest."""
        return math.log((1 + self.sentences) / (1 + self.frequencies.get(term, 0)))

    def save(self, folder: Path) -> None:
        """Write the counts into a folder, atomically."""
        stored = {"stemmer": self.stemmer, "sentences": self.sentences}
        write_json(folder / IDF, stored | {"frequencies": dict(self.frequencies)})

    @classmethod
    def load(cls, folder: Path) -> "Idf":
        """Read what `save` wrote."""
        return cls(**read_json(folder / IDF))


def fit_idf(sentences: Iterable[str], stemmer: str) -> Idf:
    """Count the sentences that have each term. The sentences are read once, as a stream."""
    counts: Counter[str] = Counter()
    n = 0
    for sentence in sentences:
        counts.update(set(stems_of(sentence, stemmer)))
        n += 1
    return Idf(counts, n, stemmer)


def tf_idf(counts: "sparse.csr_matrix", weights: Floats) -> "sparse.csr_matrix":
    """Return counts, (n, terms), times the weights of terms, (terms,); each row has length 1 or 0.

    A weight of 0 leaves a term out.
    """
    from scipy import sparse

    weighted = sparse.csr_matrix(counts @ sparse.diags(weights))
    weighted.eliminate_zeros()
    lengths = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1 / np.where(lengths > 0, lengths, 1.0)) @ weighted)


def stop_words(idf: Idf) -> frozenset[str]:
    """Return the stems that carry no meaning of their sentence.

    They are the stems that more than a tenth of the sentences have and, for English, a list.
    """
    least = _FREQUENT * max(idf.sentences, 20)
    frequent = [stem for stem, count in idf.frequencies.items() if count > least]
    is_english = "en" in idf.language.split(SEVERAL)
    english = stems(sorted(lexicon_of("en").stop), stemmer_of("en")) if is_english else []
    return frozenset((*frequent, *english))
