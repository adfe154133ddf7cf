"""Character n-grams: words that are spelled alike share some of them (Bojanowski et al. 2017).

Every stem, known or not, has a direction: the sum of one direction for each of its n-grams, as a
unit vector. The cosine of two stems is then the number of shared n-grams over the geometric mean of
their numbers of n-grams. Forms that a stemmer keeps apart (*israel*, *israeli*) and misspelt words
are partly similar. N-grams that a large part of the sentences has, such as an article that is
written with its word, say little, and count less.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
from scipy import sparse

from firth.text.arrays import Floats

Keys = npt.NDArray[np.uint64]
SHORTEST, LONGEST = 3, 5
_CACHED = 1 << 17
_RARE, _LEAST, _UNIT = 2.0, 1 / 16, 64
_ODD = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
"""Constants of xxHash, which mix the parts of a key."""


@dataclass(frozen=True, eq=False)
class CommonGrams:
    """N-grams that count less than others.

    Attributes:
        keys: A number for each, ascending, (n,).
        weights: Their weights, below 1, (n,).
    """

    keys: Keys = field(default_factory=lambda: np.zeros(0, np.uint64))
    weights: Floats = field(default_factory=lambda: np.zeros(0))


@lru_cache(_CACHED)
def ngrams(stem: str) -> tuple[str, ...]:
    """Return the distinct n-grams of `<stem>`, of 3 to 5 characters.

    A stem with a digit is one n-gram, because 1984 and 1985 are not similar.

    Example:
        >>> ngrams("sea")
        ('<se', 'sea', 'ea>', '<sea', 'sea>', '<sea>')
        >>> ngrams("b52")
        ('<b52>',)
    """
    framed = f"<{stem}>"
    if any(c.isdigit() for c in stem):
        return (framed,)
    lengths = range(SHORTEST, LONGEST + 1)
    grams = (framed[i : i + n] for n in lengths for i in range(len(framed) - n + 1))
    # Interned: the n-grams of many stems are kept, and most of them occur in many stems.
    return tuple(dict.fromkeys(map(sys.intern, grams))) or (framed,)


def gram_table(
    stems: Sequence[str], common: CommonGrams | None = None, pieces: Sequence[str] = ()
) -> sparse.csr_matrix:
    """Return `ngrams` of distinct stems as a matrix: the weight of an n-gram (column) in a stem.

    Args:
        stems: Distinct stems.
        common: N-grams that weigh less than 1.
        pieces: Parts of words with `<` or `>` where a word begins or ends; further rows.
    """
    table, keys = _table([*(f"<{stem}>" for stem in stems), *pieces])
    if common is not None and len(common.keys):
        places = np.minimum(np.searchsorted(common.keys, keys), len(common.keys) - 1)
        weights = np.where(common.keys[places] == keys, common.weights[places], 1.0)
        table.data = weights[table.indices]
    return table


def common_grams(stems: Sequence[str], counts: Floats, sentences: int) -> CommonGrams:
    """Return the n-grams that more than one sentence in 7 has.

    Each weighs half of its inverse document frequency, and at least a sixteenth. The frequency is
    the sum over the stems that have the n-gram, which is rather too high.

    Args:
        stems: Distinct stems.
        counts: Number of sentences that have each stem, (n,).
        sentences: Number of all sentences.
    """
    table, keys = _table([f"<{stem}>" for stem in stems])
    rarities = np.log((1 + sentences) / (1 + np.minimum(counts @ table, sentences)))
    # Multiples of a power of 2: sums of their products are exact in any order.
    weights = np.rint(_UNIT * np.clip(rarities / _RARE, _LEAST, 1.0)) / _UNIT
    return CommonGrams(keys[weights < 1], weights[weights < 1])


def _table(framed: Sequence[str]) -> tuple[sparse.csr_matrix, Keys]:
    """Return 1 where a text (row) has an n-gram (column), and the ascending keys of the n-grams.

    A key mixes 21 bits of each character. That two of a million n-grams have the same key has a
    probability of 1 in 10 million.
    """
    lengths = np.array([len(text) for text in framed], np.int64)
    whole = np.array([any(map(str.isdigit, text)) for text in framed], bool)  # one n-gram
    whole |= lengths < SHORTEST
    text = "".join(framed)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    holders = np.repeat(np.arange(len(framed)), lengths)
    left = np.repeat(np.where(whole, 0, np.cumsum(lengths)), lengths) - np.arange(len(codes))
    at = np.flatnonzero(left >= SHORTEST)
    triples = np.zeros_like(codes)
    triples[at] = codes[at] << np.uint64(42) | codes[at + 1] << np.uint64(21) | codes[at + 2]
    rows = [np.flatnonzero(whole)]
    keys = [np.array([_key(framed[row]) for row in rows[0].tolist()], np.uint64)]
    for n in range(SHORTEST, LONGEST + 1):
        at = np.flatnonzero(left >= n)
        rows.append(holders[at])
        first, last = triples[at], triples[at + n - SHORTEST]  # together they have all characters
        mixed = last * np.uint64(_ODD[1]) + np.uint64(n * _ODD[2] % 2**64)
        keys.append(first * np.uint64(_ODD[0]) ^ mixed)
    distinct, columns = np.unique(np.concatenate(keys), return_inverse=True)
    cells = np.ones(len(columns)), (np.concatenate(rows), columns)
    table = sparse.csr_matrix(cells, (len(framed), max(1, len(distinct))))
    table.data[:] = 1.0  # also where a stem has an n-gram twice
    return table, distinct


def _key(whole: str) -> int:
    return int.from_bytes(blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def spelling_cosines(one: Sequence[str], two: Sequence[str]) -> Floats:
    """Return the cosines of two lists of stems by their n-grams, (len(one), len(two)), in [0, 1].

    All n-grams count equally.

    Example:
        >>> float(spelling_cosines(["israel"], ["israel"])[0, 0])
        1.0
    """
    holders: dict[str, list[int]] = {}
    for j, stem in enumerate(two):
        for gram in ngrams(stem):
            holders.setdefault(gram, []).append(j)
    shared = np.zeros((len(one), len(two)))
    for row, stem in zip(shared, one, strict=True):
        for gram in ngrams(stem):
            for j in holders.get(gram, ()):
                row[j] += 1.0
    sizes1, sizes2 = ([len(ngrams(stem)) for stem in stems] for stems in (one, two))
    cosines: Floats = shared / np.sqrt(np.outer(sizes1, sizes2))
    return cosines
