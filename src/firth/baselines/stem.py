"""Stemming, once for each distinct word."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from firth.baseline_settings import Stemmer
from firth.errors import MissingExtraError


def stems(words: Sequence[str], stemmer: Stemmer) -> list[str]:
    """The stem of each word, in order.

    Raises:
        MissingExtraError: snowballstemmer is not installed.

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
    try:
        import snowballstemmer
    except ImportError:
        raise MissingExtraError(f"the stemmer {stemmer.value}", "baselines") from None
    return snowballstemmer.stemmer(stemmer.value)
