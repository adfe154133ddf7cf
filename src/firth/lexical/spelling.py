"""Spelling: stems written alike are partly the same (Bojanowski et al. 2017).

Every stem, known or not, has a direction of its own: the sum of those of its character n-grams, as
a unit vector. Two stems' directions meet as far as their n-grams do, 1 for equal stems; what the
stemmer leaves apart (*israel*, *israeli*) and what is misspelt meets half way.
"""

import math
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from scipy import sparse

from firth.lexical.arrays import Floats

SHORTEST, LONGEST = 3, 5
_CACHED = 1 << 17


@lru_cache(_CACHED)
def ngrams(stem: str) -> tuple[str, ...]:
    """The distinct n-grams of `<stem>`, of 3 to 5 characters; a stem with a digit is one n-gram.

    (1984 and 1985 are spelled alike, and are not alike.)

    Example:
        >>> ngrams("sea")
        ('<se', 'sea', 'ea>', '<sea', 'sea>', '<sea>')
        >>> ngrams("b52")
        ('<b52>',)
    """
    framed = f"<{stem}>"
    return (framed,) if any(c.isdigit() for c in stem) else runs(framed)


def runs(text: str) -> tuple[str, ...]:
    """The distinct runs of 3 to 5 characters of a text; a shorter one itself."""
    lengths = range(SHORTEST, LONGEST + 1)
    found = (text[i : i + n] for n in lengths for i in range(len(text) - n + 1))
    # Interned, since the n-grams of many stems are kept, and most of them are in many stems.
    return tuple(dict.fromkeys(map(sys.intern, found))) or (text,)


def gram_table(stems: Sequence[str]) -> sparse.csr_matrix:
    """`ngrams` of distinct stems, all at once: a row a stem, a column an n-gram, 1 where it has it.

    Three characters are one number, by their code points of 21 bits; more are told by their first
    three and their last three.
    """
    whole = np.array([not s or any(map(str.isdigit, s)) for s in stems], bool)  # one n-gram
    lengths = np.array([len(stem) + 2 for stem in stems], np.int64)
    text = "".join(f"<{stem}>" for stem in stems)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    holders = np.repeat(np.arange(len(stems)), lengths)
    left = np.repeat(np.where(whole, 0, np.cumsum(lengths)), lengths) - np.arange(len(codes))
    at = np.flatnonzero(left >= SHORTEST)
    numbers = codes[at] << 42 | codes[at + 1] << 21 | codes[at + 2]
    triples = np.zeros_like(codes)
    triples[at] = np.unique(numbers, return_inverse=True)[1]
    rows, keys = [np.flatnonzero(whole)], [~np.flatnonzero(whole)]
    for n in range(SHORTEST, LONGEST + 1):
        at = np.flatnonzero(left >= n)
        rows.append(holders[at])
        keys.append((n * len(codes) + triples[at]) * len(codes) + triples[at + n - SHORTEST])
    columns = np.unique(np.concatenate(keys), return_inverse=True)[1]
    cells = np.ones(len(columns)), (np.concatenate(rows), columns)
    table = sparse.csr_matrix(cells, (len(stems), int(columns.max(initial=-1)) + 1))
    table.data[:] = 1.0  # also where a stem has an n-gram twice
    return table


def alike(one: Sequence[str], two: Sequence[str]) -> Floats:
    """Cosines of the own directions of two lists of stems, (len(one), len(two)), in [0, 1]."""
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


def spelled(weights: Iterable[tuple[str, float]]) -> dict[str, float]:
    """N-gram → its part in the sum of the own directions of stems, each as long as its weight."""
    found: dict[str, float] = {}
    for stem, weight in weights:
        grams = ngrams(stem)
        part = weight / math.sqrt(len(grams))
        for gram in grams:
            found[gram] = found.get(gram, 0.0) + part
    return found


def product(one: dict[str, float], two: dict[str, float]) -> float:
    """Inner product of two sums of directions; exactly symmetric."""
    if len(two) < len(one):
        one, two = two, one
    return math.fsum(part * two[gram] for gram, part in one.items() if gram in two)
