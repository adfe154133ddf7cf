"""What a score is made of: parts, themes, contexts, words, and words that meet."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from firth.context.themes import Theme
from firth.lexical.marks import Mark

THEMES, WORDS, NUMBERS, EQUAL = "themes", "words", "numbers", "equal"
"""Parts of a score: what contexts tell; what words tell by themselves; what numbers that differ
take away; that texts are equal, where nothing else is known of them."""
SMALL = 0.01
"""Of a score: less is not told in a sentence."""


class Knowledge(StrEnum):
    """What there is to know two texts by."""

    BOTH = "both"
    """Each has a word that the corpus has and that says something."""
    SPELLING = "spelling"
    """One has none, but a word of it is written like one of the other."""
    NONE = "none"
    """Nothing: the score is no claim."""


@dataclass(frozen=True)
class Part:
    """A part of a score.

    Attributes:
        added: What it adds.
        rest: What is not listed of it.
    """

    added: float
    rest: float


@dataclass(frozen=True)
class ContextShare:
    """One corpus sentence.

    Attributes:
        sentence: Its text.
        document: Name of its document.
        position: Its number.
        fit1: How well s1 fits next to it; over all contexts, the root mean square is at most 1.
        fit2: How well s2 does.
        added: What it adds to the score.
    """

    sentence: str
    document: str
    position: int
    fit1: float
    fit2: float
    added: float


@dataclass(frozen=True)
class ThemeShare:
    """Contexts of one theme.

    Attributes:
        theme: Its words and typical sentences.
        added: What its contexts add to the score together.
        share1: Share of s1's fits that is here, in [0, 1]; over all themes, 1 (what contexts see).
        share2: That of s2.
        usual: Share of all contexts that is here: what a text without any leaning would have.
        contexts: Those of its contexts that add most.
        by1: What each of the distinct words of s1 adds of it, half of its products with s2; empty
            where vectors are no sums of words. With `by2` it sums to `added`.
        by2: The same of s2.
    """

    theme: Theme
    added: float
    share1: float
    share2: float
    usual: float
    contexts: tuple[ContextShare, ...] = ()
    by1: tuple[float, ...] = ()
    by2: tuple[float, ...] = ()


@dataclass(frozen=True)
class Word:
    """A word of a text.

    Attributes:
        text: As it is written first.
        added: What the score hangs on it: half of what its meetings with all words of the other
            text add, what was learned included; None where that is not computed.
        known: The corpus has it.
        empty: A stop word: no evidence.
        met: It has a counterpart in the other text.
        mark: Name, number or negation.
    """

    text: str
    added: float | None
    known: bool
    empty: bool
    met: bool
    mark: Mark | None


@dataclass(frozen=True)
class Meeting:
    """A word of the one text and its counterpart in the other.

    Attributes:
        word1: Of s1, as it is written.
        word2: Of s2.
        match: How far they match, in [0, 1]: 1 for forms of one word.
        added: What they add to the score by themselves.
    """

    word1: str
    word2: str
    match: float
    added: float


def named(theme: Theme, count: int = 3) -> str:
    """A theme by its words: *tax, income and rate*."""
    words = theme.words[:count]
    if len(words) < 2:
        return "".join(words) or "other things"
    return f"{', '.join(words[:-1])} and {words[-1]}"


def both(meeting: Meeting) -> str:
    """Two words that meet: one, if they are the same."""
    one, two = meeting.word1, meeting.word2
    return one if one.lower() == two.lower() else f"{one} ~ {two}"


def parts_of(
    similarity: float, listed: Mapping[str, tuple[float, Sequence[float]]]
) -> dict[str, Part]:
    """Parts whose sum is the score: name → what it adds, and what is listed of that.

    What rounding leaves over stands in the first part; equal texts of which nothing is known have
    a part for being equal.
    """
    parts = {name: Part(added, added - math.fsum(found)) for name, (added, found) in listed.items()}
    missing = similarity - math.fsum(part.added for part in parts.values())
    if abs(missing) > 1e-9:
        parts[EQUAL] = Part(missing, missing)
    return parts


def percent_of(score: float, added: float) -> float | None:
    """An amount in per cent of a score; None where the score is too near 0 for that."""
    return 100 * added / score if abs(score) >= SMALL / 2 else None
