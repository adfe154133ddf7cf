"""Reasons: a score, what it is the sum of, which words it hangs on, and what has no counterpart."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from firth.context.themes import Theme
from firth.lexical.marks import Mark
from firth.lexical.scorer import Shown

THEMES, WORDS, EQUAL = "themes", "words", "equal"
"""Parts of a score: what contexts tell; what words tell by themselves; that texts are equal, where
nothing else is known of them."""
_SMALL = 0.01
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
    """

    theme: Theme
    added: float
    share1: float
    share2: float
    usual: float
    contexts: tuple[ContextShare, ...] = ()


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


@dataclass(frozen=True)
class Reasons:
    """A score and what it comes from; `parts` sum to it, and what is listed and rests to them.

    Attributes:
        sentence1: s1.
        sentence2: s2.
        similarity: The score.
        parts: By name: `themes`, `words`, `equal`.
        themes: Those that add most beyond their usual share, the largest first.
        alone1: Themes in which only s1 stands.
        alone2: Themes in which only s2 does.
        meetings: Words and their counterparts, the weightiest first; no stop words.
        words1: The distinct words of s1, in order.
        words2: Those of s2.
        exact: `added` of all words sums to the score; else it is how far the score falls without
            the word.
        knowledge: What there is to know the texts by.
    """

    sentence1: str
    sentence2: str
    similarity: float
    parts: Mapping[str, Part]
    themes: tuple[ThemeShare, ...]
    alone1: tuple[ThemeShare, ...]
    alone2: tuple[ThemeShare, ...]
    meetings: tuple[Meeting, ...]
    words1: tuple[Word, ...]
    words2: tuple[Word, ...]
    exact: bool
    knowledge: Knowledge

    def as_dict(self) -> dict[str, Any]:
        """The whole explanation as plain values, for JSON."""
        return {**asdict(self), "told": self.told}

    def html(self) -> str:
        """A page of its own: no file, script or address is needed beside it."""
        from firth.origin.page import page

        return page([self])

    def percent(self, added: float) -> float | None:
        """An amount in per cent of the score; None where the score is too near 0 for that."""
        return 100 * added / self.similarity if abs(self.similarity) >= _SMALL / 2 else None

    @property
    def summary(self) -> str:
        """The score and what each part adds."""
        added = " ".join(f"{part.added:+.4f} {name}" for name, part in self.parts.items())
        return f"similarity {self.similarity:.4f} = {added}"

    @property
    def unknown(self) -> tuple[str, ...]:
        """Words of either text that the corpus never had, in order."""
        return tuple(dict.fromkeys(w.text for w in (*self.words1, *self.words2) if not w.known))

    @property
    def told(self) -> str:
        """The reasons in plain sentences."""
        found = [self._both()] if self.knowledge is Knowledge.BOTH else [self._unknown()]
        if self.knowledge is not Knowledge.NONE:
            found += [self._alone(), self._left(), self._marks()]
        return " ".join(filter(None, found))

    def shown(self, top: int) -> list[Shown]:
        """The `top` weightiest themes and meetings."""
        themes = [
            Shown(
                each.added,
                f"themes: {named(each.theme)}",
                each.contexts[0].sentence if each.contexts else "",
            )
            for each in self.themes[:top]
        ]
        return themes + [
            Shown(each.added, f"words: match {each.match:.2f} of 1", both(each))
            for each in self.meetings[:top]
        ]

    def _both(self) -> str:
        alone = [each.theme for each in (*self.alone1, *self.alone2)]
        reasons = [
            f"both stand where {named(each.theme)} are spoken of ({each.added:.2f})"
            for each in [each for each in self.themes if each.theme not in alone][:3]
            if each.added >= max(_SMALL, 0.03 * self.similarity)
        ]
        met = [each for each in self.meetings if each.added >= 0.03 * self.similarity][:4]
        if met:
            shared = ", ".join(f"{both(each)} ({each.added:.2f})" for each in met)
            reasons.append(f"words meet: {shared}")
        if not reasons:
            return f"{self.similarity:.2f}: no single theme or word stands out."
        return f"{self.similarity:.2f}: {'; '.join(reasons)}."

    def _unknown(self) -> str:
        if self.sentence1 == self.sentence2:
            return "The texts are equal; that is all that is known."
        names = f" ({', '.join(self.unknown[:5])})" if self.unknown else ""
        if self.knowledge is Knowledge.NONE:
            return f"Nothing is known that these texts could be compared by{names}: no claim."
        return f"Little is known of these texts{names}: they are compared by how they are spelled."

    def _alone(self) -> str:
        return " ".join(
            f"Only the {which} stands where {named(some[0].theme)} are spoken of."
            for which, some in (("first", self.alone1), ("second", self.alone2))
            if some
        )

    def _left(self) -> str:
        found = [
            f"{', '.join(left)} of the {which}"
            for which, left in zip(("first", "second"), self.unmatched, strict=True)
            if left
        ]
        return f"Without a counterpart: {'; '.join(found)}." if found else ""

    @property
    def unmatched(self) -> tuple[list[str], list[str]]:
        """Words of either text that have no counterpart and are no stop words."""
        one, two = (
            [word.text for word in some if not (word.met or word.empty)]
            for some in (self.words1, self.words2)
        )
        return one, two

    def _marks(self) -> str:
        """What may turn the meaning: negations, numbers and names that only one text has."""
        found = []
        for mark in (Mark.NEGATION, Mark.NUMBER, Mark.NAME):
            one, two = (
                [w.text for w in some if w.mark is mark and not w.met]
                for some in (self.words1, self.words2)
            )
            if one or two:
                told = " against ".join(", ".join(side) or "none" for side in (one, two))
                found.append(f"{mark.value}s differ: {told}")
        return f"Mind: {'; '.join(found)}." if found else ""


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
