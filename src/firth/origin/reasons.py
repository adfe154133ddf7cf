"""Reasons: a score, what it is the sum of, which words it hangs on, and what has no counterpart."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from firth.lexical.marks import Mark
from firth.lexical.scorer import Explanation, Shown
from firth.origin.evidence import (
    EQUAL,
    NUMBERS,
    SMALL,
    THEMES,
    WORDS,
    Knowledge,
    Meeting,
    Part,
    ThemeShare,
    Word,
    both,
    named,
)
from firth.origin.page import (
    REST,
    amounts,
    coloured,
    document,
    plain,
    safe,
    stacked,
    theme_alone,
    theme_inside,
)

Meaning = Callable[[float], str]
"""A score → what it means, in words: `Scale.describe`."""


@dataclass(frozen=True)
class Reasons:
    """A score and what it comes from; `parts` sum to it, and what is listed and rests to them.

    Attributes:
        sentence1: s1.
        sentence2: s2.
        similarity: The score.
        parts: By name: `themes`, `words`, `numbers`, `equal`.
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

    def cut(self, top: int) -> "Reasons":
        """The same with the `top` weightiest themes and meetings; what the others add is rest."""
        themes, meetings = self.themes[:top], self.meetings[:top]
        listed = {
            THEMES: [each.added for each in themes],
            WORDS: [each.added for each in meetings],
        }
        parts = {
            name: Part(part.added, part.added - math.fsum(listed[name])) if name in listed else part
            for name, part in self.parts.items()
        }
        return replace(self, parts=parts, themes=themes, meetings=meetings)

    def html(self, meaning: Meaning | None = None) -> str:
        """A page of its own: no file, script or address is needed beside it."""
        return page([self], meaning=meaning)

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

    def carried(self, share: ThemeShare) -> list[str]:
        """The words of either text, no stop words, that add most in a theme; at most two of each.

        None where vectors are no sums of words, and none that adds less than a tenth.
        """
        found: dict[str, str] = {}
        for words, added in ((self.words1, share.by1), (self.words2, share.by2)):
            told = [
                (-round(amount, 6), word.text)
                for word, amount in zip(words, added, strict=False)
                if not word.empty and amount > max(0.0, share.added / 10)
            ]
            for _, text in sorted(told)[:2]:
                found.setdefault(text.lower(), text)
        return list(found.values())

    def _both(self) -> str:
        alone = [each.theme for each in (*self.alone1, *self.alone2)]
        reasons = [
            f"both stand where {named(each.theme)} are spoken of ({each.added:.2f}{self._by(each)})"
            for each in [each for each in self.themes if each.theme not in alone][:3]
            if each.added >= max(SMALL, 0.03 * self.similarity)
        ]
        met = [each for each in self.meetings if each.added >= 0.03 * self.similarity][:4]
        if met:
            shared = ", ".join(f"{both(each)} ({each.added:.2f})" for each in met)
            reasons.append(f"words meet: {shared}")
        if not reasons:
            return f"{self.similarity:.2f}: no single theme or word stands out."
        return f"{self.similarity:.2f}: {'; '.join(reasons)}."

    def _by(self, share: ThemeShare) -> str:
        words = self.carried(share)
        return f", by {', '.join(words)}" if words else ""

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
                less = self.parts.get(NUMBERS) if mark is Mark.NUMBER else None
                found.append(
                    f"{mark.value}s differ: {told}{f' ({less.added:.2f})' if less else ''}"
                )
        return f"Mind: {'; '.join(found)}." if found else ""


def page(
    found: Iterable[Explanation],
    title: str = "Reasons for similarity",
    meaning: Meaning | None = None,
) -> str:
    """A page of explanations, in order; and what each score means, where that is known."""

    def meant(score: float) -> str:
        return f'<p class="soft small">{safe(meaning(score))}</p>' if meaning else ""

    return document(title, (article(each, meant(each.similarity)) for each in found))


def article(found: Explanation, meant: str = "") -> str:
    """An explanation as HTML, to stand on a page with `firth.origin.page.style`; `meant`, HTML too,
    says what its score means.
    """
    if not isinstance(found, Reasons):
        rows = "".join(
            f'<tr><td class="number">{item.amount:+.4f}</td><td>{safe(item.text)}'
            f'<br><span class="soft small">{safe(item.note)}</span></td></tr>'
            for item in found.shown(10)
        )
        return (
            f'<p class="text">{safe(found.sentence1)}</p><p class="text">{safe(found.sentence2)}'
            f"</p><p>{safe(found.summary)}</p>{meant}<table>{rows}</table>"
        )
    score = found.similarity
    most = max((abs(w.added or 0.0) for w in (*found.words1, *found.words2)), default=0.0)
    parts = [
        coloured(found.sentence1, found.words1, _met(found, 0), most),
        coloured(found.sentence2, found.words2, _met(found, 1), most),
        f"<p>{safe(found.told)}</p>",
        f'<p class="soft small">{safe(found.summary)}</p>',
        meant,
    ]
    if found.knowledge is Knowledge.NONE:
        return "".join(parts)
    parts.append(stacked(_summands(found)))
    if WORDS in found.parts:
        met = [
            (f"{safe(both(each))}<sup>{number}</sup>", each.added, "")
            for number, each in enumerate(found.meetings, start=1)
        ]
        parts.append(amounts("Words that meet", met, found.parts[WORDS].rest, score))
    if THEMES in found.parts:
        themes = [
            (safe(named(share.theme, 5)), share.added, theme_inside(share, found.carried(share)))
            for share in found.themes
        ]
        parts.append(amounts("Where both would stand", themes, found.parts[THEMES].rest, score))
    for which, alone in (("first", found.alone1), ("second", found.alone2)):
        if alone:
            listed = "".join(map(theme_alone, alone))
            parts.append(f"<p>Only the {which} would stand where</p><ul>{listed}</ul>")
    return "".join(parts)


def _met(found: Reasons, side: int) -> dict[str, list[int]]:
    """Word of a text → numbers of its meetings, as they are listed."""
    numbers: dict[str, list[int]] = {}
    for number, meeting in enumerate(found.meetings, start=1):
        word = (meeting.word1, meeting.word2)[side]
        numbers.setdefault(plain(word), []).append(number)
    return numbers


def _summands(found: Reasons) -> dict[str, float]:
    """What the score is the sum of: what is listed of each part, and the rest of all."""
    equal = {name: part.added for name, part in found.parts.items() if name == EQUAL}
    others = {name: part for name, part in found.parts.items() if name != EQUAL}
    listed = {name: part.added - part.rest for name, part in others.items()}
    return listed | equal | {REST: sum(part.rest for part in others.values())}
