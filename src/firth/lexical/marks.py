"""What turns the meaning of a sentence though it is one word of many: names, numbers, negations."""

import re
from enum import StrEnum

from firth.lexical.words import words

TOKEN = r"[A-Z][a-z][\w\u2019'-]*"
NAME = rf"{TOKEN}(?: (?:[A-Z]\. )?{TOKEN})*"
"""A name: words with capitals, and initials between them."""
NUMBER_WORDS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
"""2 to 12."""
NEGATIONS = (
    "not", "never", "no", "none", "nor", "neither", "nobody", "nothing", "without", "hardly",
    "rarely", "seldom", "barely", "cannot",
)  # fmt: skip
CONTRACTED = r"n['\u2019]t\b"
"""A negation at the end of its verb."""

_CAPITALISED = re.compile(r"[A-Z][\w\u2019'-]*")
_OPENING = re.compile(r"(?:^|\w{3}[.!?:][\"\u201d)]? +|[\"\u201c(])[\"\u201c(]?$")
_CONTRACTED = re.compile(rf"\w+{CONTRACTED}", re.IGNORECASE)


class Mark(StrEnum):
    """What a word is, beside its meaning."""

    NAME = "name"
    NUMBER = "number"
    NEGATION = "negation"


def marks_of(text: str) -> dict[str, Mark]:
    """Lowercased word → what it is, of those that are something. For English; of *didn't*, *didn*.

    A capital at the beginning of a sentence makes no name. (Not of lowercased text, therefore, nor
    of headlines.)

    Example:
        >>> marks = marks_of("The mayor of Bath didn't invite 12 people.")
        >>> {word: mark.value for word, mark in marks.items()}
        {'bath': 'name', 'didn': 'negation', '12': 'number'}
    """
    found: dict[str, Mark] = {}
    for match in _CAPITALISED.finditer(text):
        if match[0] != "I" and not _OPENING.search(text[: match.start()]):
            found |= dict.fromkeys(
                words(match[0].removesuffix("'s").removesuffix("\u2019s")), Mark.NAME
            )
    for match in _CONTRACTED.finditer(text):
        found[words(match[0])[0]] = Mark.NEGATION
    for word in words(text):
        if word in NEGATIONS:
            found[word] = Mark.NEGATION
        elif word in NUMBER_WORDS or any(c.isdigit() for c in word):
            found[word] = Mark.NUMBER
    return found
