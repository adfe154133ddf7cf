"""Edits of English sentences: a paraphrase, and a change of meaning that keeps more of the words.

A model that compares words prefers the change, one that compares meanings the paraphrase. Edits are
made by rules, only where a rule is safe, so most sentences have none. Word lists and patterns are
in `data/english.toml`.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from firth.text.marks import CONTRACTED, NAME, NAME_WORD, NEGATIONS, NUMERALS
from firth.text.words import words

MAX_WORDS = 40
MAX_REPHRASINGS = 3
POOL = 500
"""Sentences that are searched for another name, at most."""
_HOLD = "\ue000"
"""First of the private characters that replace protected spans: no pattern matches them."""
_MARKS = {
    "name": NAME,
    "name_word": NAME_WORD,
    "numeral": "|".join(NUMERALS),
    "negation": "|".join(NEGATIONS),
    "contracted": CONTRACTED,
}
"""Patterns of `firth.text.marks` that other patterns name."""

Change = tuple["Splice", ...]
Rule = Callable[[str, Sequence[str], np.random.Generator], list[Change]]


class Splice(NamedTuple):
    """Characters `start` to `end` of a text are replaced by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Edit:
    """Two rewritings of one sentence.

    Attributes:
        kind: What is changed: `negation`, `number` or `name`.
        paraphrase: The sentence in other words, with the same meaning.
        change: The sentence with another meaning. It shares more words with the sentence than the
            paraphrase does.
    """

    kind: str
    paraphrase: str
    change: str


def edits_of(sentence: str, others: Sequence[str], rng: np.random.Generator) -> list[Edit]:
    """Return at most one edit of each kind; none where no rule is safe.

    Args:
        sentence: An English sentence.
        others: Sentences of the same text, from which other names are taken.
        rng: Chooses among the edits that apply; equal states choose equally.

    Example:
        >>> [edit] = edits_of("It was built by several masons.", [], np.random.default_rng(0))
        >>> edit.kind, edit.change
        ('negation', 'It was not built by several masons.')
        >>> edit.paraphrase
        'It was constructed by a number of masons.'
    """
    if not _is_suitable(sentence):
        return []
    edits = []
    for kind, rule in RULES.items():
        if not (changes := rule(sentence, others, rng)):
            continue
        change = changes[int(rng.integers(len(changes)))]
        paraphrase = rephrased(sentence, change, rng)
        changed = _capital(spliced(sentence, change))
        if _in_common(sentence, paraphrase) < _in_common(sentence, changed):
            edits.append(Edit(kind, paraphrase, changed))
    return edits


def spliced(text: str, splices: Sequence[Splice]) -> str:
    """Return the text with all splices made; articles agree with the word that follows them."""
    done, last = "", 0
    for start, end, new in sorted(splices):
        done += text[last:start]
        if new[:1] < _HOLD and (article := re.search(r"\b([Aa])n?(?= $)", done)):
            ending = "n" if _re("takes_an", re.I).match(new) else ""
            done = f"{done[: article.start()]}{article[1]}{ending} "
        done, last = done + new, end
    return done + text[last:]


def rephrased(sentence: str, held: Sequence[Splice], rng: np.random.Generator) -> str:
    """Return the sentence with up to `MAX_REPHRASINGS` rephrasings, none in `held` or in quotes."""
    kept = sorted(splice[:2] for splice in held)
    kept += [
        match.span()
        for match in re.finditer(r"\"[^\"]*\"|“[^”]*”", sentence)
        if not any(start < match.end() and match.start() < end for start, end in kept)
    ]
    text = spliced(sentence, [Splice(*at, chr(ord(_HOLD) + i)) for i, at in enumerate(kept)])
    rephrasings = (_synonyms, _dates, _digits)
    candidates = [splice for rephrasing in rephrasings for splice in rephrasing(text)]
    chosen: list[Splice] = []
    for index in rng.permutation(len(candidates)):
        new = candidates[index]
        free = all(new.end <= other.start or other.end <= new.start for other in chosen)
        if len(chosen) < MAX_REPHRASINGS and free:
            chosen.append(new)
    text = _moved(spliced(text, chosen))
    for i, (start, end) in enumerate(kept):
        text = text.replace(chr(ord(_HOLD) + i), sentence[start:end])
    return _capital(text)


def _in_common(a: str, b: str) -> float:
    """Return Dice's coefficient of the words, repeated ones included, in [0, 1]."""
    left, right = Counter(words(a)), Counter(words(b))
    return 2 * (left & right).total() / (left.total() + right.total())


def _is_suitable(sentence: str) -> bool:
    """Return whether the sentence looks like one whole English sentence or caption."""
    return (
        4 <= len(words(sentence)) <= MAX_WORDS
        and _re("suitable", re.I).search(sentence) is not None
        and sentence[:1].isupper()
        and not _re("debris").search(sentence)
        and sentence.count('"') % 2 == 0
    )


# --- Patterns and phrases ----------------------------------------------------------------------


@cache
def _data(section: str) -> dict[str, Any]:
    file = resources.files(__package__).joinpath("data/english.toml")
    data: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))[section]
    return data


@cache
def _template(name: str) -> str:
    """Return a pattern with the lists and patterns that it names in it."""
    if name in _MARKS:
        return _MARKS[name]
    if name in _data("lists"):
        return f"(?:{'|'.join(_data('lists')[name].split())})"
    parts = _data("patterns")[name]
    return re.sub(r"<([a-z_]+)>", lambda other: _template(other[1]), "".join(parts))


@cache
def _re(name: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(_template(name), flags)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lowered(text: str) -> str:
    """Return the text with a small first letter, unless its first word has to keep the capital."""
    return text if re.match(r"I\b|[A-Z]\w*[A-Z]", text) else text[:1].lower() + text[1:]


class _Table(NamedTuple):
    pattern: re.Pattern[str]
    substitutes: dict[str, tuple[str, ...]]


@cache
def _table(name: str) -> _Table:
    """Return a pattern of all phrases of a list, the longest first, and their substitutes."""
    listed: dict[str, tuple[str, ...]] = {}
    for line in _data("phrases")[name].splitlines():
        sides = re.split(r" [=>] ", line)
        for side in sides[:1] if ">" in line else sides:
            listed[side] = (*listed.get(side, ()), *(other for other in sides if other != side))
    alternatives = "|".join(
        re.escape(side[:-1]) + r"(?=\$?\d)"
        if side[-1] == "#"
        else re.escape(side) + _template("right")
        for side in sorted(listed, key=len, reverse=True)
    )
    substitutes = {
        side.replace("#", ""): tuple(other.replace("#", "") for other in others)
        for side, others in listed.items()
    }
    return _Table(re.compile(f"{_template('left')}(?:{alternatives})"), substitutes)


def _substitutes(text: str, name: str) -> Iterator[tuple[Splice, ...]]:
    """Yield, for each phrase of the text that a list has, everything that may replace it."""
    table, lowered = _table(name), _lowered(text)
    for match in table.pattern.finditer(lowered):
        yield tuple(Splice(*match.span(), new) for new in table.substitutes[match[0]])


# --- Rephrasings -------------------------------------------------------------------------------


def _synonyms(text: str) -> Iterator[Splice]:
    for substitutes in _substitutes(text, "synonyms"):
        yield from substitutes
    lowered = _lowered(text)
    left, right = _template("left"), _template("right")
    for old, new in _data("phrases")["rephrasings"]:
        for match in re.finditer(f"{left}(?:{old}){right}", lowered):
            yield Splice(*match.span(), match.expand(new))


def _dates(text: str) -> Iterator[Splice]:
    """Write March 3 as 3 March, and the reverse."""
    for match in _re("date").finditer(text):
        if not _re("before_date", re.I).search(text[: match.start()]):
            continue
        day, month, year, month2, day2, year2 = match.groups()
        new = (
            f"{month} {day}" + (f",{year}" if year else "")
            if day
            else f"{day2} {month2}" + (year2 or "").replace(",", "")
        )
        yield Splice(*match.span(), new)


def _digits(text: str) -> Iterator[Splice]:
    """Write three as 3, and the reverse, before something that is counted."""
    for match in _re("count").finditer(text):
        before = text[: match.start()]
        if not (_re("no_count", re.I).search(before) or _re("after_capital").search(before)):
            if not match[1].isdigit():
                yield Splice(*match.span(), str(NUMERALS.index(match[1]) + 2))
            elif int(match[1]) >= 2:
                yield Splice(*match.span(), NUMERALS[int(match[1]) - 2])


def _moved(text: str) -> str:
    """Return the text with an adverbial at its other end, where that is safe."""
    if match := _re("also").fullmatch(text):
        return f"In addition, {_lowered(match[1])}{match[2]} {match[3]}"
    for name in ("clause_first", "time_first", "clause_last", "time_last"):
        if match := _re(name).fullmatch(text):
            first, second, end = match.groups()
            comma = "," if name.endswith("last") else ""
            return f"{_capital(second)}{comma} {_lowered(first)}{end}"
    return text


# --- Negation ----------------------------------------------------------------------------------


@cache
def _past() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return a pattern of past forms after a pronoun, and the base form of each."""
    base = dict(pair.split("=") for pair in _data("phrases")["past"].split())
    pattern = (
        rf"(?<![\w\u2019'-])(?:[Hh]e|[Ss]he|[Tt]hey|[Ww]e|I) ({'|'.join(base)})"
        r"(?= (?!(?:and|or|that he|himself)\b)[a-z])"
    )
    return re.compile(pattern), base


def _negation(text: str, others: Sequence[str], rng: np.random.Generator) -> list[Change]:
    """Add or remove a "not", or replace a word by its opposite."""
    if "?" in text:
        return []
    changes: list[Change] = []
    negatives = len(_re("negative_word", re.I).findall(text))
    if negatives == 0:
        for match in _re("auxiliary").finditer(text):
            if not _re("no_subject", re.I).search(text[: match.start()]):
                word = match[0].rstrip()
                new = "cannot" if word == "can" else f"{word} not"
                changes.append((Splice(match.start(), match.start() + len(word), new),))
        pattern, base = _past()
        for match in pattern.finditer(text):
            changes.append((Splice(*match.span(1), f"did not {base[match[1]]}"),))
        # The first verb is usually that of the main clause.
        changes = sorted(changes)[:1]
    elif negatives == 1 and not _re("no_removal", re.I).search(text):
        for match in _re("negated").finditer(text):
            positive = "will" if match[4] else next(filter(None, match.groups()))
            changes.append((Splice(*match.span(), positive),))
    return changes + [substitutes[:1] for substitutes in _substitutes(text, "opposites")]


# --- Number ------------------------------------------------------------------------------------


def _number(text: str, others: Sequence[str], rng: np.random.Generator) -> list[Change]:
    """Replace a number by one of the same form: much larger or smaller, or another date."""
    present = {word.replace(",", "") for word in re.findall(r"[\d,.]*\d|[a-z]+", text)}
    changes: list[Change] = []
    for match in _re("number").finditer(text):
        before, after = text[: match.start()], text[match.end() :]
        if _re("no_count", re.I).search(before) or _re("no_amount").search(before):
            continue
        by_month = _re("month_next").match(after) or _re("month_last").search(before)
        is_day = by_month is not None and len(match[1]) <= 2
        fits = [new for new in _numbers(match[1], is_day) if new.replace(",", "") not in present]
        if fits:
            changes.append((Splice(*match.span(), fits[int(rng.integers(len(fits)))]),))
    return changes


def _numbers(old: str, is_day: bool) -> list[str]:
    """Return numbers that may replace `old`, none of them 0 or 1."""
    if old in NUMERALS:
        count = NUMERALS.index(old) + 2
        return [
            word
            for other, word in enumerate(NUMERALS, 2)
            if max(count, other) >= 2 * min(count, other)
        ]
    if is_day:
        return [str(day) for day in range(2, 29) if abs(day - int(old)) >= 4]
    if re.fullmatch(r"1\d{3}|20[0-2]\d", old):
        years = range(1000, max(2024, int(old)) + 1)
        return [str(year) for year in years if 5 <= abs(year - int(old)) <= 60]
    value, decimals = float(old.replace(",", "")), len(old.partition(".")[2])
    high = 99.0 if value < 100 else 10 * value
    values = [value * factor for by in (2.0, 2.5, 3.0, 4.0, 6.0, 9.0) for factor in (by, 1 / by)]
    comma = "," if "," in old else ""
    digits = -1 if old.endswith("0") and not decimals and value >= 200 else decimals
    return [
        f"{round(other, digits):{comma}.{decimals}f}"
        for other in values
        if value >= 2 and 2 <= other <= high and max(value, other) < 10 * min(value, other)
    ]


# --- Name --------------------------------------------------------------------------------------


def _names(text: str) -> Iterator[re.Match[str]]:
    """Yield names after a preposition: the word before it, the preposition, the name."""
    for match in _re("placed_name").finditer(text):
        single = " " not in match[3]
        if not (
            _re("no_name").search(match[3]) or (single and _re("no_single_name").search(match[3]))
        ):
            yield match


def _traits(match: re.Match[str]) -> tuple[object, ...]:
    """Return what names that can replace each other have in common, the most important first."""
    sort = _re("sort_of_name").search(match[3])
    in_a_place = re.match(r", [A-Z]", match.string[match.end() :]) is not None
    return sort and sort.lastindex, in_a_place, len(match[3].split()), match[1]


def _some(others: Sequence[str], rng: np.random.Generator) -> Iterator[str]:
    if others:
        for i in rng.choice(len(others), size=min(POOL, len(others)), replace=False):
            yield others[int(i)]


def _name(text: str, others: Sequence[str], rng: np.random.Generator) -> list[Change]:
    """Replace a name by one that follows the same preposition somewhere in `others`."""
    places = [
        place for place in _names(text) if len(re.findall(rf"\b{re.escape(place[3])}\b", text)) == 1
    ]
    if not places:
        return []
    place = places[int(rng.integers(len(places)))]
    traits, known = _traits(place), {*words(text)}
    fits = [
        match
        for other in _some(others, rng)
        for match in _names(other)
        if match[2] == place[2] and known.isdisjoint(words(match[3]))
    ]
    if not fits:
        return []
    best = max(fits, key=lambda fit: [a == b for a, b in zip(traits, _traits(fit), strict=True)])
    return [(Splice(*place.span(3), best[3]),)]


RULES: dict[str, Rule] = {
    "negation": _negation,
    "number": _number,
    "name": _name,
}
"""Kind of an edit → the rule that returns all changes of that kind."""
