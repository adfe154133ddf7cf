"""Explanations: a score, the parts that sum to it, and the evidence behind each part.

One class serves every model that explains. The scorer fills all of it, an encoder has no part for
words, and the paper's method lists contexts only. Text, HTML and JSON have the same rows.
The report and the web app show the same articles.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import resources
from itertools import groupby
from operator import attrgetter
from typing import Any, ClassVar

from firth.run.console import escaped, plural
from firth.run.results import Result, Results, plain
from firth.scorer.parts import (
    CONTEXTS,
    EQUAL,
    ROUNDING,
    TOPICS,
    WORDS,
    Amount,
    ContextShare,
    Knowledge,
    Row,
    TopicShare,
    Word,
    WordMatch,
)
from firth.text.differences import Differences, differences
from firth.text.words import joined, spans

_UNLISTED = {EQUAL: "equal texts", TOPICS: "subject as a whole"}
"""Labels of parts without listed evidence."""
_PARTS = {
    "words": "Aligned words",
    "topics": "Shared subject",
    "contexts": "Contexts",
    "equal": "Equal texts",
}
_RESEMBLED = "Sentences of the corpus that both resemble:"
_SHOWN = 3
_STRONGEST = 0.6
"""Opacity of the background of the word with the largest contribution."""
_LABEL = 34
_SMALL, _SHARE = 0.01, 0.03
"""Evidence below these amounts, of a score and as a share of it, is left out of sentences."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation(Result):
    """A score and where it comes from.

    Attributes:
        parts: Name of a part → `Amount`. Contributions sum to the score (`parts_of`).
        topics: Topics that carry a share worth naming, the largest first.
        word_matches: Aligned words, the heaviest first; stop words are left out.
        words1, words2: Distinct words of each text, in order.
        contexts: Corpus sentences that both texts resemble, or that add most to the score.
        language: ISO 639-1 code of the texts; "" where it is to be recognized.
    """

    derived: ClassVar = ("summary", "equation", "rows", "cautions")
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

    def summary(self) -> str:
        """Return the explanation in plain sentences."""
        sentences = [f"Similarity {self.score:.2f}."]
        if self.knowledge != "both":
            sentences.append(_without_knowledge(self))
        if self.knowledge != "none":
            least = _SHARE * abs(self.score)
            matches = [match for match in self.word_matches if match.contribution >= least][:4]
            if matches:
                listed = ", ".join(f"{match} ({match.contribution:.2f})" for match in matches)
                sentences.append(f"Aligned words: {listed}.")
            least = max(_SMALL, least)
            if topics := [topic for topic in self.topics if topic.contribution >= least][:2]:
                listed = "; ".join(f"{topic.name()} ({topic.contribution:.2f})" for topic in topics)
                sentences.append(f"Shared topics: {listed}.")
            sentences += [
                f"Only in sentence {side}: {', '.join(unmatched)}."
                for side, unmatched in enumerate(self.unmatched, start=1)
                if unmatched
            ]
        if cautions := self.cautions:
            sentences.append(f"Caution: {'; '.join(cautions)}.")
        return " ".join(sentences)

    def lines(self, top: int) -> Iterator[str]:
        """Yield both texts, the explanation in sentences, and the rows."""
        e = self.top(top)
        yield from (f"1: {e.text1}", f"2: {e.text2}", "", e.summary())
        if resembled(e):
            yield from ("", _RESEMBLED)
            yield from (f"  {context.text} ({context.source})" for context in resembled(e))
        yield from ("", e.equation)
        for name, rows in groupby(e.rows, attrgetter("part")):
            amount = e.parts[name].contribution
            yield from ("", f"{_PARTS.get(name, name):<{_LABEL + 4}}{amount:+.3f}")
            for row in rows:
                share = row.contribution / e.score if abs(e.score) > _SMALL else None
                percent = "" if share is None else f"{100 * share:7.0f} %"
                label = row.label if len(row.label) <= _LABEL else f"{row.label[: _LABEL - 1]}…"
                yield f"  {label:<{_LABEL + 2}}{row.contribution:+.3f}{percent}"
                yield from (f"      {note}" for note in row.notes[:2])

    def records(self) -> list[dict[str, Any]]:
        """Return the rows of the decomposition."""
        records: list[dict[str, Any]] = plain(self.rows)
        return records

    def html(self, top: int | None = None) -> str:
        """Return an article with its style sheet."""
        return f"<style>{style()}</style>{article(self)}"

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
        first, second = (
            joined([word.text for word in side if not (word.matched or word.stop_word)])
            for side in (self.words1, self.words2)
        )
        return first, second

    @property
    def unknown(self) -> tuple[str, ...]:
        """Words of either text that the corpus does not have, in order; stop words are left out."""
        words = (*self.words1, *self.words2)
        unknown = (word.text for word in words if not (word.known or word.stop_word))
        return tuple(joined(dict.fromkeys(unknown)))

    @cached_property
    def differences(self) -> Differences:
        """What the texts differ in, by their words."""
        return differences(self.text1, self.text2, language=self.language or None)

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


@dataclass(frozen=True, repr=False)
class Explanations(Results[Explanation]):
    """Explanations of pairs, in their order."""

    named: ClassVar = "explanations"

    def summary(self) -> str:
        """Return their number."""
        return plural(len(self), "explanation")

    def lines(self, top: int) -> Iterator[str]:
        """Yield the lines of all, with at most `top` items of evidence each."""
        for explanation in self:
            yield from (*explanation.lines(top), "", "")

    def html(self, top: int | None = None) -> str:
        """Return an article for each, with their style sheet."""
        articles = "".join(f"<article>{article(explanation)}</article>" for explanation in self)
        return f"<style>{style()}</style>{articles}"


# --- Text --------------------------------------------------------------------------------------


def resembled(e: Explanation) -> tuple[ContextShare, ...]:
    """Return the corpus sentences that are shown as resembling both texts."""
    return () if "contexts" in e.parts or e.knowledge == "none" else e.contexts[:_SHOWN]


def _without_knowledge(e: Explanation) -> str:
    unknown = f" ({', '.join(e.unknown[:5])})" if e.unknown else ""
    if e.text1 == e.text2:
        return "The texts are equal."
    if e.knowledge == "spelling":
        return f"The corpus knows little of these texts{unknown}: the score compares spelling."
    return f"A text has no content word that the corpus knows{unknown}: the score says nothing."


# --- HTML ---------------------------------------------------------------------------------------


@cache
def style() -> str:
    """Return the style sheet of explanations and of pages around them, for any screen."""
    return _file("style.css")


def template(text: str, **options: Any) -> Any:
    """Return a template of HTML in which texts are escaped; those in `Markup` are HTML.

    Characters that act on a reader, as by changing the reading order, are spelled out.
    """
    from jinja2 import Environment

    def plain_text(value: object) -> object:
        return escaped(value) if type(value) is str else value

    return Environment(autoescape=True, finalize=plain_text, **options).from_string(text)


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    return template(_file("explanation.html"))


def article(explanation: Explanation) -> str:
    """Return an explanation as HTML for a page that has the style sheet `style()`."""
    text: str = _template().render(
        e=explanation,
        titles=_PARTS,
        pieces=_pieces,
        resembled=resembled,
        resembled_title=_RESEMBLED,
    )
    return text


def _pieces(e: Explanation, side: int) -> list[tuple[str, Word | None, str, float]]:
    """Cut a text into pieces: text, word or None, numbers of word matches, opacity behind it."""
    text, words = (e.text1, e.words1) if side == 0 else (e.text2, e.words2)
    by_text = {_plain(word.text): word for word in words}
    largest = max((abs(w.contribution or 0.0) for w in (*e.words1, *e.words2)), default=0.0)
    numbers: dict[str, list[str]] = {}
    for number, match in enumerate(e.word_matches, start=1):
        numbers.setdefault(_plain((match.word1, match.word2)[side]), []).append(str(number))
    pieces: list[tuple[str, Word | None, str, float]] = []
    last = 0
    for start, end in spans(text):
        if _plain(text[start : end + 2]).endswith("n't"):  # `spans` sees two words
            end += 2
        word = by_text.get(_plain(text[start:end]))
        if word is not None and start >= last:  # pairs of characters overlap
            strength = _STRONGEST * abs(word.contribution or 0.0) / largest if largest else 0.0
            matches = ",".join(numbers.get(_plain(word.text), ()))
            pieces.append((text[last:start], None, "", 0.0))
            pieces.append((text[start:end], word, matches, strength))
            last = end
    return [*pieces, (text[last:], None, "", 0.0)]


def _plain(word: str) -> str:
    return word.lower().replace("\u2019", "'")
