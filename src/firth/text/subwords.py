"""Character n-grams: words that are spelled alike share some of them (Bojanowski et al. 2017).

Every stem, known or not, has a direction: the sum of one direction for each of its n-grams, as a
unit vector. The cosine of two stems is then the number of shared n-grams over the geometric mean of
their numbers of n-grams. Forms that a stemmer keeps apart (*israel*, *israeli*) and misspelt words
are partly similar.
"""

import sys
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy import sparse

from firth.text.arrays import Floats

SHORTEST, LONGEST = 3, 5
_CACHED = 1 << 17


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
    return (framed,) if any(c.isdigit() for c in stem) else runs(framed)


def runs(text: str) -> tuple[str, ...]:
    """Return the distinct runs of 3 to 5 characters of a text; a shorter text is its only run."""
    lengths = range(SHORTEST, LONGEST + 1)
    grams = (text[i : i + n] for n in lengths for i in range(len(text) - n + 1))
    # Interned: the n-grams of many stems are kept, and most of them occur in many stems.
    return tuple(dict.fromkeys(map(sys.intern, grams))) or (text,)


def gram_table(stems: Sequence[str]) -> sparse.csr_matrix:
    """Return `ngrams` of distinct stems as a matrix: 1 where a stem (row) has an n-gram (column).

    Three characters become one number from their code points of 21 bits. A longer n-gram is
    identified by its first three and its last three characters.
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


def spelling_cosines(one: Sequence[str], two: Sequence[str]) -> Floats:
    """Return the cosines of two lists of stems by their n-grams, (len(one), len(two)), in [0, 1].

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
