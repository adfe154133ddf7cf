"""A sentence in other words: what `firth.check.edits` sets against an edit of its meaning."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from firth.check.synonyms import ALIKE, REWORDINGS
from firth.lexical.marks import NAME, NUMBER_WORDS, TOKEN

MAX_REWORDINGS = 3
HOLD = "\ue000"
"""First of the private characters that stand for what has to stay: no pattern matches one."""
MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"


class Splice(NamedTuple):
    """Characters `start` to `end` of a text replaced by `text`."""

    start: int
    end: int
    text: str


def spliced(text: str, splices: Sequence[Splice]) -> str:
    """The text with all splices made, articles agreeing with what follows them."""
    done, last = "", 0
    for start, end, new in sorted(splices):
        done += text[last:start]
        if new[:1] < HOLD and (article := re.search(r"\b([Aa])n?(?= $)", done)):
            done = f"{done[: article.start()]}{article[1]}{'n' * _takes_an(new)} "
        done, last = done + new, end
    return done + text[last:]


_AN = re.compile(
    r"(?!eu|one|uni(?!n)|us[aeiu]|ut[ei]|ub)[aeiou]|hour|hono|hones|heir|8|1[18](?:\d\d)?(?!\d)",
    re.I,
)


def _takes_an(word: str) -> bool:
    return _AN.match(word) is not None


def _overlap(splice: Splice, others: Sequence[Splice]) -> bool:
    return any(splice.start < other.end and other.start < splice.end for other in others)


def capital(text: str) -> str:
    """The text with its first letter large."""
    return text[:1].upper() + text[1:]


def lowered_start(text: str) -> str:
    """The text with its first letter small, unless its first word has to keep it."""
    return text if re.match(r"I\b|[A-Z]\w*[A-Z]", text) else text[:1].lower() + text[1:]


def reworded(sentence: str, held: Sequence[Splice], rng: np.random.Generator) -> str:
    """The sentence with up to `MAX_REWORDINGS` rewordings, none in `held` or in quotes."""
    kept = sorted(splice[:2] for splice in held)
    kept += [
        match.span()
        for match in re.finditer(r"\"[^\"]*\"|“[^”]*”", sentence)
        if not any(start < match.end() and match.start() < end for start, end in kept)
    ]
    text = spliced(sentence, [Splice(*at, chr(ord(HOLD) + i)) for i, at in enumerate(kept)])
    candidates = [*_alike(text), *_dates(text), *_digits(text), *_pairs(text)]
    chosen: list[Splice] = []
    for index in rng.permutation(len(candidates)):
        if len(chosen) < MAX_REWORDINGS and not _overlap(candidates[index], chosen):
            chosen.append(candidates[index])
    text = _moved(spliced(text, chosen))
    for i, (start, end) in enumerate(kept):
        text = text.replace(chr(ord(HOLD) + i), sentence[start:end])
    return capital(text)


_BEFORE, _AFTER = r"(?<![\w'\u2019-])", r"(?![\w'\u2019-])"


class _Table(NamedTuple):
    pattern: re.Pattern[str]
    rest: dict[str, tuple[str, ...]]


@cache
def _table(lines: str) -> _Table:
    """One pattern for all left sides, the longest first, and what may stand for each."""
    rest: dict[str, tuple[str, ...]] = {}
    for line in lines.strip().splitlines():
        if line.startswith("# "):
            continue
        sides = re.split(r" [=>] ", line)
        for side in sides[:1] if ">" in line else sides:
            rest[side] = (*rest.get(side, ()), *(other for other in sides if other != side))
    ordered = sorted(rest, key=len, reverse=True)
    pattern = "|".join(
        re.escape(side[:-1]) + r"(?=\$?\d)"
        if side[-1] == "#"
        else rf"{re.escape(side)}(?![\w'\u2019-])"
        for side in ordered
    )
    values = {
        side.replace("#", ""): tuple(other.replace("#", "") for other in others)
        for side, others in rest.items()
    }
    return _Table(re.compile(rf"{_BEFORE}(?:{pattern})"), values)


def substitutes_in(text: str, lines: str) -> Iterator[tuple[Splice, ...]]:
    """For each place of the text that the table knows, all that may stand there."""
    table, lowered = _table(lines), lowered_start(text)
    for match in table.pattern.finditer(lowered):
        yield tuple(Splice(*match.span(), new) for new in table.rest[match[0]])


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(f"{_BEFORE}(?:{old}){_AFTER}"), new) for old, new in REWORDINGS]


def _alike(text: str) -> Iterator[Splice]:
    for substitutes in substitutes_in(text, ALIKE):
        yield from substitutes
    lowered = lowered_start(text)
    for pattern, new in _patterns():
        for match in pattern.finditer(lowered):
            yield Splice(*match.span(), match.expand(new))


_DATE_LEFT = re.compile(
    r"(?:^|\b(?:on|until|from|since|by|of|before|after|for|dated|till|the) |[,(] ?)$", re.I
)


def _dates(text: str) -> Iterator[Splice]:
    """3 March for March 3, and the reverse."""
    for match in re.finditer(
        rf"\b(?:(\d\d?) ({MONTH})( \d{{4}})?|({MONTH}) (\d\d?)(, \d{{4}})?)"
        r"(?![\w\u2013/-]| [\u2013&-]| (?:and|or|to) \d|,? [\d\ue000-\ue0ff])",
        text,
    ):
        if not _DATE_LEFT.search(text[: match.start()]):
            continue
        day, month, year, month2, day2, year2 = match.groups()
        new = (
            f"{month} {day}" + (f",{year}" if year else "")
            if day
            else f"{day2} {month2}" + (year2 or "").replace(",", "")
        )
        yield Splice(*match.span(), new)


_COUNTED = re.compile(
    r"(?<=[a-z] )(\d|1[012]|" + "|".join(NUMBER_WORDS) + r")(?= (?!and|or|to|in|of|at|is|was|as|by"
    r"|hundred|thousand|mm|cm|km|am|pm|kg|mg|ml|points?\b|million)[a-z]{3,})"
)
NO_COUNT = re.compile(
    r"\b(?:page|chapter|number|no|top|level|version|episode|season|grade|type|part|step|question|"
    r"figure|table|class|group|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|"
    r"day|phase|category|channel|route|under|aged|section|volume) $",
    re.I,
)
"""What stands before a number that counts nothing."""
_AFTER_CAPITAL = re.compile(r"(?<=.)\b[A-Z]\w* $")


def _digits(text: str) -> Iterator[Splice]:
    """3 for three and the reverse, before what is counted."""
    for match in _COUNTED.finditer(text):
        before = text[: match.start()]
        if not (NO_COUNT.search(before) or _AFTER_CAPITAL.search(before)):
            if not match[1].isdigit():
                yield Splice(*match.span(), str(NUMBER_WORDS.index(match[1]) + 2))
            elif int(match[1]) >= 2:
                yield Splice(*match.span(), NUMBER_WORDS[int(match[1]) - 2])


_PAIR = re.compile(
    rf"(?<=\b)((?:in|with|by|from|for|between|both|against|including|near|featuring|as|to) )"
    rf"({NAME}) (and|or) ({NAME})(?=[.,;)]| [a-z])"
)
_BOTH = re.compile(r"\b(the [a-z]+) (and|or) (the [a-z]+)(?=[.,;])")


def _pairs(text: str) -> Iterator[Splice]:
    """B and A for A and B."""
    if "respectively" in text:
        return
    for match in _PAIR.finditer(text):
        a, joint, b = match.groups()[1:]
        if not re.search(r"['\u2019]s\b", match[0]):
            yield Splice(match.end(1), match.end(), f"{b} {joint} {a}")
    for match in _BOTH.finditer(text):
        yield Splice(*match.span(), f"{match[3]} {match[2]} {match[1]}")


_SUBJECT = r"(?:He|She|It|They|We|I|You|This|These|There|The|His|Her|Its|Their|Our|My|A|An)"
_PLAIN = r"(?:(?! (?:and|but|or|that|which|who|when|while|where|because|if|to|said) )[^,;:\"“”()?])"
_ALSO = re.compile(
    r"(He|She|It|They|We|I|You|This|These|There)((?: (?:was|is|were|are|has|had|have|can|could))?) "
    r"also (.*)"
)
_WHEN = r"(?:When|While|If|Although|Because|After|Before|Once|Until|Since|As)"
_CLAUSE = re.compile(
    rf"({_WHEN} (?:he|she|it|they|we|I|you|the|a|his|her|this)\b[^,;:\"“”()]+), "
    r"((?:he|she|it|they|we|I|you|the|a|an|his|her|their|its|this|there)\b[^,;:\"“”()?]+)([.!])"
)
_CLAUSE_LAST = re.compile(
    rf"({_SUBJECT} {_PLAIN}{{8,70}}) ((?:when|because|although|if) "
    r"(?:he|she|it|they|we|I|you|the)\b[^,;:\"“”()?]+)([.!])"
)
_WHEN_FIRST = re.compile(
    rf"((?:In|On|At|During|By|Since|Until) (?:early |late |mid-)?(?:{MONTH} ?)?[\d ]*"
    rf"(?:{MONTH}|\d{{4}})(?: \d{{1,2}})?(?:, \d{{4}})?), "
    rf"((?:he|she|it|they|we|I|the|a|an|his|her|{TOKEN})\b{_PLAIN}{{8,80}})([.!])"
)
_WHEN_LAST = re.compile(
    r"((?:He|She|It|They|We|I|The [a-z]+(?: [a-z]+)?) (?:was|were|became|left|joined|"
    rf"moved|returned|won|died|received|graduated|retired|played) {_PLAIN}{{6,80}}[a-z](?<!ed)) "
    rf"((?:in|on) (?:(?:{MONTH} |\d\d? {MONTH} )?\d{{4}}|{MONTH} \d\d?))([.!])"
)


def _moved(text: str) -> str:
    """The text with an adverbial at the other end, where that is safe."""
    if match := _ALSO.fullmatch(text):
        return f"In addition, {lowered_start(match[1])}{match[2]} {match[3]}"
    for pattern, comma in (
        (_CLAUSE, ""),
        (_WHEN_FIRST, ""),
        (_CLAUSE_LAST, ","),
        (_WHEN_LAST, ","),
    ):
        if match := pattern.fullmatch(text):
            first, second, end = match.groups()
            return f"{capital(second)}{comma} {lowered_start(first)}{end}"
    return text
