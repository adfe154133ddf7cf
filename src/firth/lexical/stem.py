"""Stemming, once for each distinct word."""

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any


class Stemmer(StrEnum):
    """What is left of a word before it is looked up."""

    NONE = "none"
    """The lowercased word itself."""
    PORTER = "porter"
    """Porter (1980), which the CBOS paper's toolkit has as its default."""
    ENGLISH = "english"
    """Porter's later Snowball stemmer."""


def stems(words: Sequence[str], stemmer: Stemmer) -> list[str]:
    """The stem of each word, in order.

    Example:
        >>> stems(["sailing", "sailed", "sails"], Stemmer.PORTER)
        ['sail', 'sail', 'sail']
    """
    if stemmer is Stemmer.NONE:
        return list(words)
    found: list[str] = _algorithm(stemmer).stemWords(list(words))
    return found


@lru_cache
def _algorithm(stemmer: Stemmer) -> Any:
    import snowballstemmer  # two dozen languages: not before it is needed

    return snowballstemmer.stemmer(stemmer.value)
