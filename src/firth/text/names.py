"""Names of a corpus: words that have a capital wherever they stand."""

import re
from collections import Counter
from collections.abc import Iterable

from firth.text.words import words

_WORD = re.compile(r"[^\W\d_][\w\u2019'-]*")
_OPENING = re.compile(r"(?:^|\w{3}[.!?:][\"\u201d)]? +|[\"\u201c(])[\"\u201c(]?$")
_BEFORE = 16
"""Characters before a word that tell whether it opens a sentence."""
_LOWER_CASE_USES = 10


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
        for match in _WORD.finditer(text):
            start = match.start()
            opens = _OPENING.search(text, max(0, start - _BEFORE), start)
            if match[0][0].isupper() and match[0] != "I" and not opens:
                capital.update(words(match[0].removesuffix("'s").removesuffix("\u2019s")))
    return frozenset(
        word for word, n in capital.items() if n > 1 and _LOWER_CASE_USES * lower[word] <= n
    )
