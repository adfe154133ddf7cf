"""Dice: how many words two texts share."""

from collections.abc import Sequence

import numpy as np

from firth.lexical.arrays import Floats
from firth.lexical.scorer import TextPair
from firth.lexical.words import words


class Dice:
    r"""2·|A ∩ B| / (|A| + |B|) over the sets A and B of lowercased `\w+` words, in [0, 1].

    Abdalla et al. (2021, §4.1) find that this alone explains much of human relatedness. Two texts
    without a word are equal: 1.

    Example:
        >>> Dice().similarities([("A ship sailed.", "The ship sailed.")]).round(2).tolist()
        [0.67]
    """

    name = "Dice"

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Dice coefficients of `pairs`, shape (n,)."""
        sets: dict[str, frozenset[str]] = {}
        for text in (text for pair in pairs for text in pair):
            if text not in sets:
                sets[text] = frozenset(words(text))
        return np.array([_dice(sets[a], sets[b]) for a, b in pairs], dtype=np.float64)


def _dice(a: frozenset[str], b: frozenset[str]) -> float:
    total = len(a) + len(b)
    return 2 * len(a & b) / total if total else 1.0
