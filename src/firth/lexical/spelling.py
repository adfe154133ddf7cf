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
