"""What is odd about the pairs of a set and stops nothing: tokenised texts, repeated pairs."""

import re
from collections.abc import Sequence

from firth.evaluate.rows import Row

_TOKENISED = re.compile(r"\S [.,;:!?](\s|$)|\w n't\b|\w 's\b|``|''|-LRB-|-RRB-")


def looks_tokenised(text: str) -> bool:
    """Whether blanks stand where a tokenizer puts them and a writer does not.

    Example:
        >>> looks_tokenised("A man is playing a flute ."), looks_tokenised("A man plays. Why?")
        (True, False)
    """
    return bool(_TOKENISED.search(text))


def oddities(rows: Sequence[Row]) -> list[str]:
    """A line for each oddity found among pairs; the order of a pair's two texts does not count.

    - *tokenised*: at least one of the two texts looks so;
    - *repeated*: the pair came before, with the same score;
    - *contradicting*: the pair came before, with another score.
    """
    tokenised = repeated = contradicting = 0
    seen: dict[tuple[str, ...], set[float]] = {}
    for row in rows:
        tokenised += any(map(looks_tokenised, row.texts))
        scores = seen.setdefault(tuple(sorted(row.texts)), set())
        if scores:
            repeated += row.score in scores
            contradicting += row.score not in scores
        scores.add(row.score)
    found = {
        f"of {len(rows)} pairs look tokenised": tokenised,
        "times a pair repeats an earlier one": repeated,
        "times a pair contradicts an earlier one (same texts, other score)": contradicting,
    }
    return [f"{count} {what}" for what, count in found.items() if count]
