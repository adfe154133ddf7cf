"""A text as tokens that can be compared: words by their stems, and values by what they say.

Numbers, dates, times, percentages, amounts of money, versions and identifiers are values: `30 days`
and `thirty days` have one, and so have `$4.1bn` and `4.1 billion dollars`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from firth.text.lexicon import Lexicon, lexicon_of
from firth.text.words import UNSPACED, combining_marks, stemmer_of, stems, words

_NUMBER = re.compile(r"(\d+(?:[.,]\d+)*)(st|nd|rd|th|s|k|m|mn|bn|b|tn)?$", re.IGNORECASE)
_SUFFIXES = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "b": 1e9, "tn": 1e12}
_PERCENT = frozenset({"percent", "pct", "prozent", "procent", "percento", "porcentaje"})
_MONEY = {
    "$": "dollar", "\u20ac": "euro", "\u00a3": "pound", "\u00a5": "yen", "\u20b9": "rupee",
    "dollar": "dollar", "dollars": "dollar", "euro": "euro", "euros": "euro", "pound": "pound",
    "pounds": "pound", "yen": "yen", "rupee": "rupee", "rupees": "rupee",
}  # fmt: skip
_DECIMAL_COMMA = frozenset(
    {"bg", "cs", "da", "de", "el", "es", "fi", "fr", "hu", "id", "it", "nl", "no", "pl", "pt", "ro",
     "ru", "sv", "tr", "uk", "vi"}
)  # fmt: skip
_OPENING = re.compile(r"(?:^|[.!?:;\u2026][\"\u201d')]*\s+|[\"\u201c(\[])[\"\u201c(]?$")
_NOUNS_WITH_CAPITALS = ("de", "lb")
_TITLE = 0.6
"""Share of words with a capital from which a text is a title."""


@lru_cache(2)
def _pattern(ascii_alone: bool) -> re.Pattern[str]:
    """Return the pattern of a token; combining marks stand inside words of other texts."""
    marks = "" if ascii_alone else combining_marks()
    letter, sign = f"[^\\W\\d_{UNSPACED}]", f"[^\\W{UNSPACED}]"
    before = f"[^\\W\\d{UNSPACED}]*+"
    # Possessive, and a run is tried from its beginning alone: the time is linear in the text.
    return re.compile(
        f"(?:(?P<money>[$\u20ac\u00a3\u00a5\u20b9])\\s?)?"
        f"(?P<value>(?:(?<!{sign})(?:[A-Za-z]{{1,4}}-)?{before})?\\d{sign}*+"
        f"(?:[.,:/\u2013-]{before}\\d{sign}*+)*+)"
        f"(?P<sign>\\s?[%$\u20ac\u00a3\u00a5\u20b9])?|(?P<unspaced>[{UNSPACED}])"
        f"|(?P<word>{letter}(?:[\\w{marks}](?<![\\d_{UNSPACED}])|['\u2019\u02bc](?=\\w))*+)"
    )


class Token(NamedTuple):
    """A word or value of a text.

    Attributes:
        key: What is compared: the stem of a word, or what a value says.
        text: As it is written.
        start, end: First character, and the one past the last.
        kind: `word`, `number` (any value with digits, numerals or ordinals) or `date` (a day or
            month).
        lower: The word in lower case.
        is_name: Whether it has a capital that no sentence explains, such as *Bath* and *PS2*.
        unit: Of a number: `%`, a currency, or a unit of the language's file; "" where the text
            names none.
    """

    key: str
    text: str
    start: int
    end: int
    kind: str
    lower: str
    is_name: bool = False
    unit: str = ""


def tokens_of(text: str, language: str) -> tuple[Token, ...]:
    """Return the tokens of a text in order, in time that is linear in its length."""
    lexicon = lexicon_of(language)
    found = list(_pattern(text.isascii()).finditer(text))
    is_title = _is_title(found)
    lowers = [_lower(match) for match in found]
    roots = stems(lowers, stemmer_of(language))
    tokens: list[Token] = []
    at = 0
    capitals = not is_title and language not in _NOUNS_WITH_CAPITALS
    while at < len(found):
        match, lower = found[at], lowers[at]
        taken = 1
        if match["value"]:
            token, taken = _value(found, lowers, at, lexicon)
        elif lower in lexicon.numerals:
            value, taken = _numeral(lowers, at, lexicon)
            following = lowers[at + taken] if at + taken < len(lowers) else ""
            unit = lexicon.units.get(following, "")
            token = _token(found[at : at + taken], f"{value:g}", "number", lower, unit)
        elif lower in lexicon.ordinals:
            token = _token([match], str(lexicon.ordinals[lower]), "number", lower)
        elif lower in lexicon.calendar and lexicon.is_date(lower, _beside_number(found, at)):
            token = _token([match], lexicon.calendar[lower], "date", lower)
        else:
            start, end = match.span()
            word = match[0]
            is_unit = bool(tokens) and tokens[-1].unit == lexicon.units.get(lower)
            name = capitals and not is_unit and word[0].isupper() and _is_name(text, start, word)
            token = Token(roots[at], word, start, end, "word", lower, name)
        tokens.append(token)
        at += taken
    return tuple(tokens)


def _lower(match: re.Match[str]) -> str:
    if match["value"]:
        return str(match["value"]).lower()
    word = match[0]
    if word.isascii() and "'" not in word:
        return word.lower()
    plain = word.replace("\u2019", "'").removesuffix("'s").removesuffix("'")
    known = words(plain.replace("'", ""))
    return known[0] if known else plain.lower()


def _token(
    matches: Sequence[re.Match[str]], key: str, kind: str, lower: str, unit: str = ""
) -> Token:
    start, end = matches[0].start(), matches[-1].end()
    written = matches[0].string[start:end].lstrip()
    return Token(key, written, end - len(written), end, kind, lower, unit=unit)


def _value(
    found: Sequence[re.Match[str]], lowers: Sequence[str], at: int, lexicon: Lexicon
) -> tuple[Token, int]:
    """Return a value with digits, and how many matches it takes: scales and units follow it."""
    match = found[at]
    written = match["value"].rstrip(".,:/-\u2013")
    unit, taken, key = "", 1, written.lower()
    number = _NUMBER.match(written)
    if number:
        amount = _amount(number[1], lexicon.language)
        suffix = (number[2] or "").lower()
        if amount is not None:
            amount *= _SUFFIXES.get(suffix, 1.0)
            if at + 1 < len(found) and lowers[at + 1] in lexicon.scales:
                amount *= lexicon.scales[lowers[at + 1]]
                taken = 2
            key = f"{amount:.10g}"
    following = lowers[at + taken] if at + taken < len(found) else ""
    sign = (match["sign"] or match["money"] or "").strip()
    if sign:
        unit = _MONEY.get(sign, sign)
    elif following in _PERCENT:
        unit, taken = "%", taken + 1
    elif following in _MONEY:
        unit, taken = _MONEY[following], taken + 1
    else:
        unit = lexicon.units.get(following, "")
    token = _token(found[at : at + taken], key, "number", lowers[at], unit)
    return token._replace(is_name=number is None and written != key), taken


def _amount(written: str, language: str) -> float | None:
    """Return the number that digits with signs are; None for dates, times and versions."""
    comma = language in _DECIMAL_COMMA
    thousands, decimal = (".", ",") if comma else (",", ".")
    groups = written.split(thousands)
    if len(groups) > 1 and all(len(group.split(decimal)[0]) == 3 for group in groups[1:]):
        written = "".join(groups)
    elif thousands in written:
        if written.count(thousands) > 1 or decimal in written:
            return None
        written = written.replace(thousands, decimal)
    if written.count(decimal) > 1:
        return None
    return float(written.replace(decimal, "."))


def _numeral(lowers: Sequence[str], at: int, lexicon: Lexicon) -> tuple[float, int]:
    """Return the value of a numeral in words that begins at a place, and its number of words."""
    value, taken = float(lexicon.numerals[lowers[at]]), 1
    if at + 1 < len(lowers):
        following = lexicon.numerals.get(lowers[at + 1], 0)
        if value >= 20 and value % 10 == 0 and 0 < following < 10:
            value, taken = value + following, 2
    if at + taken < len(lowers) and lowers[at + taken] in lexicon.scales:
        value, taken = value * lexicon.scales[lowers[at + taken]], taken + 1
    return value, taken


def _is_title(found: Sequence[re.Match[str]]) -> bool:
    """Return whether most longer words have a capital, as in a headline: none is then a name."""
    long = [match["word"] for match in found[1:] if match["word"] and len(match["word"]) > 3]
    return len(long) > 2 and sum(word[0].isupper() for word in long) > _TITLE * len(long)


def _beside_number(found: Sequence[re.Match[str]], at: int) -> bool:
    around = (found[place] for place in (at - 1, at + 1) if 0 <= place < len(found))
    return any(match["value"] for match in around)


def _is_name(text: str, start: int, word: str) -> bool:
    """Return whether a word with a capital does not open a sentence."""
    if word in ("I", "I'm"):
        return False
    return not _OPENING.search(text[max(0, start - 8) : start])
