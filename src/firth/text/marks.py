"""Names, numbers and negations: single words that can turn the meaning of a sentence.

Numerals in words and negations are those of a language's file (`firth.text.lexicon`). In other
languages only digits are numbers. A name is known by its capital, where nouns in general have none.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cache

from firth.text.lexicon import lexicon_of
from firth.text.words import words

_NOUNS_WITH_CAPITALS = ("de", "lb")


@cache
def numerals_of(language: str) -> dict[str, str]:
    """Return the numerals of a language from two on, each with its value; none where unknown."""
    numerals = lexicon_of(language).numerals
    return {word: str(value) for word, value in numerals.items() if value > 1}


def negations_of(language: str) -> frozenset[str]:
    """Return words that negate a sentence of a language; none where they are unknown."""
    return lexicon_of(language).negations


_WORD = re.compile(r"[^\W\d_][\w\u2019'-]*")
_OPENING = re.compile(r"(?:^|\w{3}[.!?:][\"\u201d)]? +|[\"\u201c(])[\"\u201c(]?$")
_BEFORE = 16
"""Characters before a word that tell whether it opens a sentence."""
_LOWER_CASE_USES = 10
_CONTRACTED = re.compile(r"\b\w\w++(?<=n)['\u2019]t\b", re.IGNORECASE)
"""A negation at the end of an English verb."""
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


class Mark(StrEnum):
    """Kinds of words that a similarity of meaning overlooks."""

    NAME = "name"
    NUMBER = "number"
    NEGATION = "negation"


def names_in(texts: Iterable[str]) -> frozenset[str]:
    """Return lower-case words that are names wherever they have a capital.

    They have a capital inside a sentence at least twice, and at most one in ten uses has none.

    Example:
        >>> sorted(names_in(["She met Bath.", "They like Bath.", "Some Bath people took a walk."]))
        ['bath']
        >>> sorted(names_in(["She met Bath.", "They like Bath.", "He took a bath."]))
        []
    """
    capital: Counter[str] = Counter()
    lower: Counter[str] = Counter()
    for text in texts:
        lower.update(word for word in _WORD.findall(text) if word[0].islower())
        for name_words, opens in _capitalised(text):
            if not opens:
                capital.update(name_words)
    return frozenset(
        word for word, n in capital.items() if n > 1 and _LOWER_CASE_USES * lower[word] <= n
    )


def marks_of(text: str, language: str, names: frozenset[str] = frozenset()) -> dict[str, Mark]:
    """Return the lower-case words of a text that are names, numbers or negations.

    A capital at the beginning of a sentence makes no name, unless the word is in `names` (from
    `names_in`). Of *didn't* the word is *didn*. The language `und` knows names and digits only.

    Example:
        >>> marks = marks_of("The mayor of Bath didn't invite 12 people.", "en")
        >>> {word: mark.value for word, mark in marks.items()}
        {'bath': 'name', 'didn': 'negation', '12': 'number'}
    """
    marks: dict[str, Mark] = {}
    for name_words, opens in [] if language in _NOUNS_WITH_CAPITALS else _capitalised(text):
        if not opens or names.issuperset(name_words):
            marks |= dict.fromkeys(name_words, Mark.NAME)
    for match in _CONTRACTED.finditer(text) if language == "en" else ():
        marks[words(match[0])[0]] = Mark.NEGATION
    for word in words(text):
        if word in negations_of(language):
            marks[word] = Mark.NEGATION
        elif word in numerals_of(language) or any(c.isdigit() for c in word):
            marks[word] = Mark.NUMBER
    return marks


def numbers_in(text: str, language: str) -> frozenset[str]:
    """Return the numbers of a text in digits, and the values of its numerals.

    Example:
        >>> sorted(numbers_in("In 1984 two men paid 1,000.50 for the B52s.", "en"))
        ['1000.50', '1984', '2', '52']
    """
    numbers = _DIGITS.findall(text)
    if numbers and "," in text:
        numbers = _DIGITS.findall(_THOUSANDS.sub("", text))
    if spelled := numerals_of(language):
        numbers += map(spelled.__getitem__, spelled.keys() & words(text))
    return frozenset(numbers)


def _capitalised(text: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the words of each capitalised token, and whether it opens a sentence."""
    for match in _WORD.finditer(text):
        if match[0][0].isupper() and match[0] != "I":
            name_words = words(match[0].removesuffix("'s").removesuffix("\u2019s"))
            start = match.start()
            yield name_words, bool(_OPENING.search(text, max(0, start - _BEFORE), start))
