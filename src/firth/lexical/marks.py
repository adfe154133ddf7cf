"""What turns the meaning of a sentence though it is one word of many: names, numbers, negations."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
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
_PLAIN = re.compile(r"(?<![\w\u2019'-])[a-z]\w*")
_WITHOUT = 10
_CONTRACTED = re.compile(rf"\w+{CONTRACTED}", re.IGNORECASE)


class Mark(StrEnum):
    """What a word is, beside its meaning."""

    NAME = "name"
    NUMBER = "number"
    NEGATION = "negation"


def names_in(texts: Iterable[str]) -> frozenset[str]:
    """Lowercased words that have a capital within sentences twice at least, and hardly ever none.

    At most one in `_WITHOUT` of their uses is without.

    Example:
        >>> sorted(names_in(["She met Bath.", "They like Bath.", "Some Bath people took a walk."]))
        ['bath']
        >>> sorted(names_in(["She met Bath.", "They like Bath.", "He took a bath."]))
        []
    """
    capital: Counter[str] = Counter()
    without: Counter[str] = Counter()
    for text in texts:
        without.update(_PLAIN.findall(text))
        for said, opens in _capitalised(text):
            if not opens:
                capital.update(said)
    return frozenset(word for word, n in capital.items() if n > 1 and _WITHOUT * without[word] <= n)


def marks_of(text: str, names: frozenset[str] = frozenset()) -> dict[str, Mark]:
    """Lowercased word → what it is, of those that are something. For English; of *didn't*, *didn*.

    A capital at the beginning of a sentence makes no name, but of a word that is known for one.
    (Not of lowercased text, therefore, nor of headlines.)

    Args:
        text: Of a sentence or several.
        names: Lowercased words that are names wherever they have a capital (`names_in`).

    Example:
        >>> marks = marks_of("The mayor of Bath didn't invite 12 people.")
        >>> {word: mark.value for word, mark in marks.items()}
        {'bath': 'name', 'didn': 'negation', '12': 'number'}
    """
    found: dict[str, Mark] = {}
    for said, opens in _capitalised(text):
        if not opens or names.issuperset(said):
            found |= dict.fromkeys(said, Mark.NAME)
    for match in _CONTRACTED.finditer(text):
        found[words(match[0])[0]] = Mark.NEGATION
    for word in words(text):
        if word in NEGATIONS:
            found[word] = Mark.NEGATION
        elif word in NUMBER_WORDS or any(c.isdigit() for c in word):
            found[word] = Mark.NUMBER
    return found


def _capitalised(text: str) -> Iterator[tuple[list[str], bool]]:
    """The words of each that begins with a capital, and whether a sentence begins with it."""
    for match in _CAPITALISED.finditer(text):
        if match[0] != "I":
            said = words(match[0].removesuffix("'s").removesuffix("\u2019s"))
            yield said, bool(_OPENING.search(text[: match.start()]))
