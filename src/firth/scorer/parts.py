"""What a score is made of: named parts, and the evidence of topics, words and contexts behind each.

A component of the score yields parts, and an explanation lists their evidence.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

from firth.text.types import Floats

TOPICS, WORDS, CONTEXTS, EQUAL = "topics", "words", "contexts", "equal"
"""Names of parts: topics of the corpus, aligned words, contexts one by one, and the equality of
texts about which nothing else is known."""
ROUNDING = 1e-9
"""Smaller amounts of a score are rounding errors."""
_UNEXPLAINED = 1e-4
"""A larger remainder between a score and its evidence is an error, and not one of rounding."""


class Knowledge(StrEnum):
    """The evidence that a score rests on."""

    BOTH = "both"
    """Each text has a word with a meaning that the corpus knows."""
    SPELLING = "spelling"
    """One text has none, but a word of it is spelled like a word of the other."""
    NONE = "none"
    """There is no evidence, so the score says nothing."""


@dataclass(frozen=True, kw_only=True)
class ContextShare:
    """A corpus sentence (or a place between sentences) as evidence, and what it adds to the score.

    `fit1` and `fit2` are the fits of the two texts into it. `document` is an id, and `details` has
    further values by name, such as the terms of the fits.
    """

    text: str
    document: str
    fit1: float
    fit2: float
    contribution: float
    title: str = ""
    details: Mapping[str, float] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """Title of the document, or its id."""
        return self.title or self.document


@dataclass(frozen=True)
class TopicShare:
    """A topic as evidence: words that name it, the most telling first, and what it adds."""

    words: tuple[str, ...]
    contribution: float

    def name(self, count: int = 3) -> str:
        """Return the first words of the topic, such as `tax, income, rate`."""
        return ", ".join(self.words[:count]) or "unnamed topic"


@dataclass(frozen=True, kw_only=True)
class Word:
    """A distinct word of a text, as it is written first.

    Attributes:
        contribution: Amount of the score that depends on it; the amounts of both texts sum to the
            score. None where the model cannot be split by words.
        known: Whether the corpus has it.
        stop_word: Whether it carries no meaning.
        matched: Whether the other text has a word that matches it.
    """

    text: str
    contribution: float | None = None
    known: bool = True
    stop_word: bool = False
    matched: bool = False


@dataclass(frozen=True)
class WordMatch:
    """Two aligned words as they are written, and what they add to the score.

    The degree of the match is in [0, 1], and 1 for forms of one word.
    """

    word1: str
    word2: str
    match: float
    contribution: float

    def __str__(self) -> str:
        """Return `tax`, or `boat ~ ship` where the words differ."""
        same = self.word1.lower() == self.word2.lower()
        return self.word1 if same else f"{self.word1} ~ {self.word2}"


_Share = TypeVar("_Share", ContextShare, TopicShare)


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """A named part of a similarity: what it adds, and the evidence that it adds it.

    A component yields them (`firth.scorer.components.Component`). A part needs a name and a
    contribution; the rest is evidence that explanations list. Parts of one name in several
    components become one part of the score.

    Attributes:
        cells: What each stem of the first text (row) adds with each of the second, (n, m), in the
            order of `WordSpace.stems`. The contribution is their sum. None where it cannot be split
            by words.
        matches: Degree to which stems match, (n, m), in [0, 1], or None.
        topics, contexts: Topics and corpus sentences that carry a share of the contribution.
    """

    name: str
    contribution: float
    cells: Floats | None = None
    matches: Floats | None = None
    topics: tuple[TopicShare, ...] = ()
    contexts: tuple[ContextShare, ...] = ()

    def times(self, weight: float) -> "Part":
        """Return the part of a similarity that has this weight in a score."""
        return replace(
            self,
            contribution=weight * self.contribution,
            cells=None if self.cells is None else weight * self.cells,
            topics=_scaled(self.topics, weight),
            contexts=_scaled(self.contexts, weight),
        )


@dataclass(frozen=True)
class Amount:
    """A part of a score: what it adds, and how much of that, `rest`, is not listed as evidence."""

    contribution: float
    rest: float


@dataclass(frozen=True)
class Row:
    """A line of the decomposition. The rows of an explanation sum to its score.

    The label is aligned words, words of a topic, or the rest of a part. `notes` are evidence, and
    `match` is the number of a word match, from 1.
    """

    part: str
    label: str
    contribution: float
    notes: tuple[str, ...] = ()
    match: int | None = None


def parts_of(
    score: float, listed: Mapping[str, tuple[float, Sequence[float]]], *, equal: bool = False
) -> dict[str, Amount]:
    """Return parts that sum to a score.

    Args:
        score: The score.
        listed: Name of a part → its contribution, and those of its listed evidence.
        equal: Whether the texts are equal. What their evidence lacks is then the part `equal`.

    Raises:
        RuntimeError: The contributions of different texts do not sum to the score. Rounding errors
            go into the first part.
    """
    missing = score - math.fsum(contribution for contribution, _ in listed.values())
    if not equal and abs(missing) > _UNEXPLAINED:
        amounts = ", ".join(f"{name} {amount:.6f}" for name, (amount, _) in listed.items())
        raise RuntimeError(
            f"{missing:+.6f} of the score {score:.6f} is not explained; the evidence is {amounts}. "
            "A component yields parts that sum to its similarity"
        )
    is_rounding = abs(missing) <= (ROUNDING if equal else _UNEXPLAINED)
    parts: dict[str, Amount] = {}
    for name, (contribution, evidence) in listed.items():
        if not parts and is_rounding:
            contribution += missing
        parts[name] = Amount(contribution, contribution - math.fsum(evidence))
    if not is_rounding:
        parts[EQUAL] = Amount(missing, missing)
    return parts


def _scaled(items: tuple[_Share, ...], weight: float) -> tuple[_Share, ...]:
    return tuple(replace(item, contribution=weight * item.contribution) for item in items)
