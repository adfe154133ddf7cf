"""Words of a text, their stems, and the normal form by which two texts are the same.

A word is a run of letters, combining marks and digits, so that vowel signs of Indic scripts do not
cut it. Stems come from Snowball (PyStemmer) where it knows the language.
"""

import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

_JOINERS = "\u200c\u200d"
"""Zero-width joiners occur inside words of Persian and of Indic scripts."""


def _marks() -> str:
    """Return a character class of all combining marks, which `\\w` does not match."""
    ranges: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code))[0] == "M":
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


_ASCII = bytes(ord(c.lower()) if c.isascii() and c.isalnum() else 32 for c in map(chr, range(256)))
"""ASCII in lower case, with a blank for everything that is not part of a word."""
_KNOWN_STEMS = 1 << 17

NO_STEMMER = "none"
_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "porter",
    "es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish", "fr": "french",
    "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


@lru_cache(1)
def _word_pattern() -> re.Pattern[str]:
    # Built on first use: plain ASCII text never needs it.
    return re.compile(rf"[\w{_JOINERS}{_marks()}]+")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, in order.

    Example:
        >>> words("You shall know a word, by its company!")
        ['you', 'shall', 'know', 'a', 'word', 'by', 'its', 'company']
    """
    if text.isascii():  # the same result in a third of the time
        return text.encode().translate(_ASCII).decode().split()
    return [word.lower() for word in as_written(text)]


def as_written(text: str) -> list[str]:
    """Return the words of a text with their capitals, one for each of `words`.

    Example:
        >>> as_written("Do they row on the Cam?")
        ['Do', 'they', 'row', 'on', 'the', 'Cam']
    """
    # An underscore joins words for `\w`, and separates them here.
    return _word_pattern().findall(text.replace("_", " "))


def spans(text: str) -> list[tuple[int, int]]:
    """Return the first and one-past-last character position of each word."""
    return [match.span() for match in _word_pattern().finditer(text.replace("_", " "))]


def has_word(text: str) -> bool:
    """Return whether the text has any word."""
    return any(map(str.isalnum, text))


def remove_spans(text: str, removed: Sequence[tuple[int, int]]) -> str:
    """Return a text without the given spans, which are in order; white space becomes one blank.

    Example:
        >>> remove_spans("They never row.", [(5, 10)])
        'They row.'
    """
    ends = [0, *(end for _, end in removed)]
    begins = [*(start for start, _ in removed), len(text)]
    return " ".join("".join(text[a:b] for a, b in zip(ends, begins, strict=True)).split())


def normal_form(text: str) -> str:
    """Return NFKC, lower-case words joined by blanks. Texts with equal normal forms are the same.

    Example:
        >>> normal_form("The  cat sat.") == normal_form("the cat, sat")
        True
    """
    return " ".join(words(unicodedata.normalize("NFKC", text)))


def jaccard(a: frozenset[Any], b: frozenset[Any]) -> float:
    """Return |a ∩ b| / |a ∪ b|, in [0, 1]; two empty sets give 1."""
    union = len(a | b)
    return len(a & b) / union if union else 1.0


def stemmer_of(language: str) -> str:
    """Return the name of the stemmer for an ISO 639-1 language; `none` where Snowball has none.

    Example:
        >>> stemmer_of("en"), stemmer_of("de"), stemmer_of("th")
        ('porter', 'german', 'none')
    """
    return _STEMMERS.get(language, NO_STEMMER)


def stems(words: Sequence[str], stemmer: str) -> list[str]:
    """Return the stem of each lower-case word.

    Args:
        words: Words in lower case.
        stemmer: A Snowball algorithm (`porter`, `german`, ...), or `none`.

    Example:
        >>> stems(["sailing", "sailed", "sails"], "porter")
        ['sail', 'sail', 'sail']
    """
    if stemmer == NO_STEMMER:
        return list(words)
    return list(map(_algorithm(stemmer), words))


@lru_cache
def _algorithm(stemmer: str) -> Callable[[str], str]:
    from Stemmer import Stemmer

    # A corpus has a hundred times as many words as distinct ones, and a cache is faster than C.
    return lru_cache(_KNOWN_STEMS)(Stemmer(stemmer, 0).stemWord)
