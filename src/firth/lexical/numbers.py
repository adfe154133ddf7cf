"""Numbers that texts name, and how far two texts differ in them."""

import re
from collections.abc import Sequence
from functools import cache

import numpy as np
from scipy import sparse

from firth.lexical.arrays import Floats
from firth.lexical.marks import NUMBER_WORDS
from firth.lexical.words import words

_DIGITS = re.compile(r"\d+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMERALS = {word: str(value) for value, word in enumerate(NUMBER_WORDS, start=2)}
_SPELLED = frozenset(_NUMERALS)
_NONE = frozenset[str]()


def numbers_in(text: str) -> frozenset[str]:
    """Runs of digits, and English numerals from two to twelve.

    Example:
        >>> sorted(numbers_in("In 1984 two men paid 1,000 for the B52s."))
        ['1000', '1984', '2', '52']
    """
    named = _DIGITS.findall(text)
    if named and "," in text:
        named = _DIGITS.findall(_THOUSANDS.sub("", text))
    named += map(_NUMERALS.__getitem__, _SPELLED.intersection(words(text)))
    return frozenset(named) if named else _NONE  # most texts have none, and share it


def differing(pairs: Sequence[tuple[str, str]]) -> Floats:
    """Of each pair, the share of its numbers that only one text has, in [0, 1]; shape (n,).

    0 where a text has none: who leaves a number out does not say another one.

    Example:
        >>> differing([("4 killed", "four dead"), ("4 killed", "23 killed"), ("4 killed", "dead")])
        array([0., 1., 0.])
    """
    known, found = cache(numbers_in), np.zeros(len(pairs))  # each text is read once, if at all
    for i, (a, b) in enumerate(pairs):
        if (one := known(a)) and (two := known(b)) and one != two:
            found[i] = 1.0 - len(one & two) / len(one | two)
    return found


def all_differing(texts: Sequence[str]) -> Floats:
    """`differing` of all texts with each other, (n, n)."""
    named = [sorted(numbers_in(text)) for text in texts]
    columns = {number: i for i, number in enumerate(sorted({n for some in named for n in some}))}
    bounds = np.cumsum([0, *map(len, named)])
    places = [columns[number] for some in named for number in some]
    held = sparse.csr_matrix((np.ones(len(places)), places, bounds), (len(texts), len(columns)))
    shared, counts = (held @ held.T).toarray(), np.diff(bounds)
    either = counts[:, None] + counts - shared
    found: Floats = np.where(
        np.outer(counts, counts) > 0, 1.0 - shared / np.maximum(either, 1), 0.0
    )
    return found
