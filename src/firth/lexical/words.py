"""Words: what is one, what is left of it when it is stemmed, and when two texts are the same."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

_WORD = re.compile(r"\w+")
_ASCII = bytes(
    ord(c.lower()) if c.isascii() and _WORD.match(c) else ord(" ") for c in map(chr, range(256))
)
"""Bytes of ASCII, lowercased, and a blank for all that is no part of a word."""
_KEPT = 1 << 17


def words(text: str) -> list[str]:
    r"""Lowercased runs of `\w`, in order: what Dice, Jaccard and tf-idf call words.

    Example:
        >>> words("You shall know a word, by its company!")
        ['you', 'shall', 'know', 'a', 'word', 'by', 'its', 'company']
    """
    if text.isascii():  # the same, in a third of the time
        return text.encode().translate(_ASCII).decode().split()
    return _WORD.findall(text.lower())


def has_word(text: str) -> bool:
    """Whether `words` finds any."""
    return _WORD.search(text) is not None


def spans(text: str) -> list[tuple[int, int]]:
    """Where the words of a text begin and end."""
    return [match.span() for match in _WORD.finditer(text)]


def without(text: str, places: Sequence[tuple[int, int]]) -> str:
    """A text without what stands at `places`, in order; blanks are evened.

    Example:
        >>> without("They never row.", [(5, 10)])
        'They row.'
    """
    ends = [0, *(end for _, end in places)]
    starts = [*(start for start, _ in places), len(text)]
    return " ".join("".join(text[a:b] for a, b in zip(ends, starts, strict=True)).split())


def as_written(text: str) -> list[str]:
    """`words`, with their capitals.

    Example:
        >>> as_written("Do they row on the Cam?")
        ['Do', 'they', 'row', 'on', 'the', 'Cam']
    """
    found, said = _WORD.findall(text), words(text)
    # A capital may have a small form of two characters, one of them outside the word (İ).
    return found if [word.lower() for word in found] == said else said


def normal_form(text: str) -> str:
    """NFKC, lowercase, words joined by one blank: two sentences with one normal form are the same.

    Example:
        >>> normal_form("The  cat sat.") == normal_form("the cat, sat")
        True
    """
    return " ".join(words(unicodedata.normalize("NFKC", text)))


def jaccard(a: frozenset[Any], b: frozenset[Any]) -> float:
    """|a ∩ b| / |a ∪ b|, in [0, 1]; 1 for two empty sets."""
    union = len(a | b)
    return len(a & b) / union if union else 1.0


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
    return list(map(_algorithm(stemmer), words))


@lru_cache
def _algorithm(stemmer: Stemmer) -> Callable[[str], str]:
    from Stemmer import Stemmer as Snowball

    # A corpus has a hundred times as many words as different ones: a look-up is faster still.
    return lru_cache(_KEPT)(Snowball(stemmer.value, 0).stemWord)
