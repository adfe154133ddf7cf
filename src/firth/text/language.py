"""Which language a text is in, by py3langid."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

AUTO, UNKNOWN = "auto", "und"
_CHARACTERS = 1_000
"""Characters of text that are judged at once; a short text alone is often misjudged."""
_BEGINNING = 500
"""Characters of a document that are read."""


def language_of_texts(texts: Iterable[str]) -> str:
    """Return the ISO 639-1 code of the language in which most of some texts are written.

    It is the ISO 639-3 code where the language has no shorter one, and `und` without any text.

    Example:
        >>> language_of_texts(["The ships sailed into the harbour before the storm came."])
        'en'
    """
    votes: Counter[str] = Counter()
    piece: list[str] = []
    size = 0
    for text in texts:
        piece.append(text[:_BEGINNING])
        size += len(piece[-1])
        if size >= _CHARACTERS:
            votes[_languages().classify("\n".join(piece))[0]] += 1
            piece, size = [], 0
    if not votes and size:
        votes[_languages().classify("\n".join(piece))[0]] += 1
    return max(votes, key=lambda code: (votes[code], code), default=UNKNOWN)


@lru_cache(1)
def _languages() -> Any:
    import py3langid

    return py3langid
