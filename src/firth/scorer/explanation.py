"""Explanations: a score, the parts that sum to it, and the evidence behind each part.

One class serves every model that explains. The scorer fills all of it, an encoder has no part for
words, and the paper's method lists contexts only. Text, HTML and JSON render the same rows.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from firth.scorer import render
from firth.text.differences import Differences, differences
from firth.text.marks import Mark
from firth.text.types import Floats
from firth.text.words import joined

TOPICS, WORDS, CONTEXTS, EQUAL = "topics", "words", "contexts", "equal"
"""Names of parts: topics of the corpus, aligned words, contexts one by one, and the equality of
texts about which nothing else is known."""
ROUNDING = 1e-9
"""Smaller amounts of a score are rounding errors."""
_UNEXPLAINED = 1e-4
"""A larger remainder between a score and its evidence is an error, and not one of rounding."""
_UNLISTED = {EQUAL: "equal texts", TOPICS: "subject as a whole"}
"""Labels of parts without listed evidence."""


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
    mark: Mark | None = None


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


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation:
    """A score and where it comes from.

    Attributes:
        parts: Name of a part → `Amount`. Contributions sum to the score (`parts_of`).
        topics: Topics that carry a share worth naming, the largest first.
        word_matches: Aligned words, the heaviest first; stop words are left out.
        words1, words2: Distinct words of each text, in order.
        contexts: Corpus sentences that both texts resemble, or that add most to the score.
        language: ISO 639-1 code of the texts; "" where it is to be recognized.
    """

    text1: str
    text2: str
    score: float
    parts: Mapping[str, Amount]
    topics: tuple[TopicShare, ...] = ()
    word_matches: tuple[WordMatch, ...] = ()
    words1: tuple[Word, ...] = ()
    words2: tuple[Word, ...] = ()
    contexts: tuple[ContextShare, ...] = ()
    knowledge: Knowledge = Knowledge.BOTH
    language: str = ""

    def __repr__(self) -> str:
        """Return the score and the beginnings of both texts."""
        return f"Explanation({self.score:.2f}: {self.text1!r:.40} / {self.text2!r:.40})"

    def __str__(self) -> str:
        """Return both texts, the explanation in sentences, and the rows."""
        return render.lines(self)

    def _repr_html_(self) -> str:
        """Return an article for a notebook."""
        return render.notebook(render.html([self]))

    @property
    def text(self) -> str:
        """The explanation in plain sentences."""
        return render.sentences(self)

    @property
    def equation(self) -> str:
        """The score and its parts, such as `similarity 0.3402 = +0.2090 words +0.1312 topics`."""
        amounts = " ".join(f"{part.contribution:+.4f} {name}" for name, part in self.parts.items())
        return f"similarity {self.score:.4f} = {amounts}"

    @property
    def rows(self) -> tuple[Row, ...]:
        """The decomposition: listed evidence and the rest of each part. Rows sum to the score."""
        rows: list[Row] = []
        for name, part in self.parts.items():
            listed = self._listed(name)
            rows += listed
            if not listed:
                label = _UNLISTED.get(name, name)
                rows.append(Row(name, label, part.contribution))
            elif abs(part.rest) > ROUNDING:
                rows.append(Row(name, f"other {name}", part.rest))
        return tuple(rows)

    @property
    def unmatched(self) -> tuple[list[str], list[str]]:
        """Words of each text that match no word of the other; stop words are left out."""
        first, second = self._words(lambda word: not (word.matched or word.stop_word))
        return joined(first), joined(second)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Words of either text that the corpus does not have, in order."""
        unknown = (w.text for w in (*self.words1, *self.words2) if not w.known)
        return tuple(joined(dict.fromkeys(unknown)))

    @cached_property
    def differences(self) -> Differences:
        """What the texts differ in, by their words."""
        return differences(self.text1, self.text2, self.language or None)

    @property
    def cautions(self) -> tuple[str, ...]:
        """Differences that turn the meaning though they change few words."""
        return tuple(map(str, self.differences.mattering))

    def top(self, count: int) -> "Explanation":
        """Return the explanation with at most `count` topics, word matches and contexts."""
        parts = {}
        for name, part in self.parts.items():
            removed = math.fsum(item.contribution for item in self._evidence(name)[count:])
            parts[name] = replace(part, rest=part.rest + removed)
        return replace(
            self,
            parts=parts,
            topics=self.topics[:count],
            word_matches=self.word_matches[:count],
            contexts=self.contexts[:count],
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with the text, the equation, the rows and the cautions."""
        rows = [asdict(row) for row in self.rows]
        derived = {"text": self.text, "equation": self.equation, "cautions": list(self.cautions)}
        return {**asdict(self), **derived, "rows": rows}

    def save(self, path: str | Path, force: bool = False) -> Path:
        """Write the explanation to a file; errors as of `render.save`."""
        return render.save([self], Path(path), force)

    def _evidence(self, part: str) -> Sequence[TopicShare | WordMatch | ContextShare]:
        listed: dict[str, Sequence[TopicShare | WordMatch | ContextShare]] = {
            TOPICS: self.topics,
            WORDS: self.word_matches,
            CONTEXTS: self.contexts,
        }
        return listed.get(part, ())

    def _listed(self, part: str) -> list[Row]:
        rows = []
        for number, item in enumerate(self._evidence(part), start=1):
            match item:
                case WordMatch():
                    rows.append(Row(part, str(item), item.contribution, (), number))
                case TopicShare():
                    rows.append(Row(part, item.name(5), item.contribution))
                case ContextShare():
                    notes = [f"fits {item.fit1:.2f} and {item.fit2:.2f}"]
                    rows.append(Row(part, item.text, item.contribution, (*notes, item.document)))
        return rows

    def _words(self, chosen: Callable[[Word], bool]) -> tuple[list[str], list[str]]:
        """Return the chosen words of each text."""
        one, two = ([w.text for w in side if chosen(w)] for side in (self.words1, self.words2))
        return one, two


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
