"""Text to paragraphs to sentences, and a few repairs of their borders.

English is split by nupunkt, other languages by sentencex. On English, sentencex keeps all sentences
of a quotation together; nupunkt knows neither full stops of other scripts nor "3. Oktober".
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, groupby, pairwise
from typing import Any

from firth.text.words import has_word, language_among

MAX_WORDS = 200
"""A longer sentence (a table, a list, a text without full stops) is cut."""
MAX_CHARACTERS = 2_000
"""A sentence with more characters is cut too."""
WRAP_WIDTH = 120
"""Lines up to this length may be wrapped text, whose line ends mean nothing."""
MAX_RUN = 1_000
"""A longer run of characters without a blank is a sentence by itself."""

_CITATION = re.compile(r"((?:\[[\d\s,\u2013-]+\])+)\s*")
_CITED_END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"'\u2019\u201d)]))((?:\[[\d\s,\u2013-]+\])+) "
    r"(?=[\"'\u2018\u201c(]?[A-Z])"
)
_FULL_STOPS = re.compile("(?<=[\u17d4\u17d5\u104b\u0f0d\u0f0e])")
"""Full stops of Khmer, Burmese and Tibetan."""
_OTHER_STOPS = re.compile("[\u0589\u061f\u06d4\u0964\u0965\u1362\u3002\uff01\uff1f]")
"""Full stops and question marks that nupunkt does not know."""
_NUMBERED = re.compile(r"\(?(?:\d{1,3}|[^\W\d_])[.)]")
"""The number of a heading or of an item of a list, which is no sentence."""
_DOTTED = re.compile(r"\w\.\w+\.$")
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_BULLET = re.compile(r"(?:[-*•\u2013\u2014·]|\(?\d{1,3}[.)]|\(?[A-Za-z][.)])\s")
_CUTS = (re.compile(r"[;:]$|^[\u2013\u2014-]+$|[.!?]$"), re.compile(r",$"))


def split_paragraphs(text: str, language: str) -> list[list[str]]:
    """Return the sentences of each paragraph. Blank lines separate paragraphs.

    The language is an ISO 639-1 code, or several among which the text's is recognized (`de+fr`).
    Only white space and paragraphs without any word ("* * *") are lost.
    """
    language = language_among(text, language)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    paragraphs = (split_sentences(piece, language) for piece in _BLANK_LINES.split(text))
    return [sentences for sentences in paragraphs if any(map(has_word, sentences))]


def split_sentences(paragraph: str, language: str) -> list[str]:
    """Return the sentences of one paragraph, with each run of white space as one blank.

    A line end is a border unless the lines are wrapped. A piece without any word joins its
    neighbour. A sentence over `MAX_WORDS` or `MAX_CHARACTERS` is cut.
    """
    sentences: list[list[str]] = []
    last_has_word = True
    for line in _unwrap(paragraph):
        for piece in _repaired(_split_line(line, language)):
            worded = has_word(piece)
            if sentences and not (worded and last_has_word):
                sentences[-1].append(piece)
                last_has_word = last_has_word or worded
            else:
                sentences.append([piece])
                last_has_word = worded
    return [piece for sentence in sentences for piece in cut(" ".join(sentence))]


def cut(sentence: str) -> list[str]:
    """Return the sentence, or pieces of at most `MAX_WORDS` blank-separated words if it is long.

    Each cut follows the last semicolon, colon or dash in the second half of what fits, else the
    last comma there, else the last word that fits.
    """
    if len(sentence) <= MAX_CHARACTERS and sentence.count(" ") < MAX_WORDS:
        return [sentence]
    tokens = [
        token[start : start + MAX_CHARACTERS]
        for token in sentence.split()
        for start in range(0, len(token), MAX_CHARACTERS)
    ]
    pieces, start = [], 0
    while start < len(tokens):
        end, size = start, -1
        while end < min(len(tokens), start + MAX_WORDS) and (
            size + 1 + len(tokens[end]) <= MAX_CHARACTERS
        ):
            size += 1 + len(tokens[end])
            end += 1
        if end < len(tokens):
            end = _best_cut(tokens, start, end)
        pieces.append(" ".join(tokens[start:end]))
        start = end
    return pieces


@lru_cache(1)
def _punkt() -> Any:
    import nupunkt

    return nupunkt.load_default_model()


def _split_line(line: str, language: str) -> Iterator[str]:
    """Yield the sentences of one line; nupunkt takes quadratic time in a run without blanks."""
    if language != "en" or _OTHER_STOPS.search(line):
        import sentencex

        for piece in sentencex.segment(language, line):
            yield from _FULL_STOPS.split(piece)
        return
    for is_run, group in groupby(line.split(), lambda token: len(token) > MAX_RUN):
        tokens = list(group)
        yield from tokens if is_run else _punkt().tokenize(" ".join(tokens))


def _repaired(pieces: Iterable[str]) -> Iterator[str]:
    """Yield pieces with borders after citations (`so.[3] Others`), and none in `i.i.d. and`."""
    sentence: list[str] = []
    lines = (_CITED_END.sub(r"\1\n", " ".join(raw.split())) for raw in pieces)
    for piece in chain.from_iterable(line.split("\n") for line in lines):
        if sentence and (mark := _CITATION.match(piece)):
            sentence.append(mark[1])
            piece = piece[mark.end() :]
        if not piece:
            continue
        joins = piece[0].islower() and sentence and _DOTTED.search(sentence[-1][-20:])
        if sentence and not joins and not _NUMBERED.fullmatch(sentence[-1]):
            yield " ".join(sentence)
            sentence = []
        sentence.append(piece)
    if sentence:
        yield " ".join(sentence)


def _unwrap(paragraph: str) -> list[str]:
    """Return the lines of a paragraph as its author meant them.

    A line end is soft if the first word of the next line would not have fitted in the longest line.
    Where at least half of the line ends are soft, the text is wrapped and they become blanks.
    """
    lines = [line for line in (line.strip() for line in paragraph.split("\n")) if line]
    width = max(map(len, lines), default=0)
    if len(lines) < 2 or width > WRAP_WIDTH:
        return lines
    soft = [
        len(line) + 1 + len(following.split(maxsplit=1)[0]) > width and not _BULLET.match(following)
        for line, following in pairwise(lines)
    ]
    if 2 * sum(soft) < len(soft):
        return lines
    ends = [" " if joins else "\n" for joins in soft]
    return "".join(chain.from_iterable(zip(lines, [*ends, ""], strict=True))).split("\n")


def _best_cut(tokens: list[str], start: int, end: int) -> int:
    for pattern in _CUTS:
        for position in range(end, (start + end) // 2, -1):
            if pattern.search(tokens[position - 1]):
                return position
    return end
