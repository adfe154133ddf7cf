"""Words and values of a text, as what they say.

Numbers, dates, times, percentages, amounts of money, versions and identifiers are values: `30 days`
and `thirty days` have one, and so have `$4.1bn` and `4.1 billion dollars`, `2kg` and `2 kilo`, or
`8 pm` and `20:00`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from firth.text.lexicon import lexicon_of
from firth.text.words import UNSPACED, characters, combining_marks, stemmer_of, stems, words

_NUMBER = re.compile(r"(\d+(?:[.,]\d+)*)([^\W\d_]*)$")
_RANGE = re.compile(r"(\d{1,4})[-\u2013/](\d{1,4})$")
_CLOCK = re.compile(r"(\d{1,2})[:h]?(\d\d)?$")
_ORDINAL_SIGNS = frozenset(
    {"st", "nd", "rd", "th", "e", "er", "re", "\u00e8me", "\u00ba", "\u00aa"}
)
_SUFFIXES = {"k": 1e3, "m": 1e6, "mn": 1e6, "mln": 1e6, "bn": 1e9, "b": 1e9, "tn": 1e12}
_ROMAN = {"I": "1", "II": "2", "III": "3", "IV": "4", "V": "5", "VI": "6", "VII": "7", "VIII": "8",
          "IX": "9", "X": "10", "XI": "11", "XII": "12"}  # fmt: skip
_DECIMAL_COMMA = frozenset(
    {"bg", "cs", "da", "de", "el", "es", "fi", "fr", "hu", "id", "it", "nl", "no", "pl", "pt", "ro",
     "ru", "sv", "tr", "uk", "vi"}
)  # fmt: skip
_KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff"
_HANGUL = "\uac00-\ud7a3"
_OPENING = re.compile(r"(?:^|[.!?:;\u2026][\"\u201d')]*\s+|[\"\u201c(\[])[\"\u201c(]?$")
NOUNS_WITH_CAPITALS = ("de", "lb")
_SHORT = 3
"""Letters of a word that has no capital in a title, at most."""
_LONG_DATE = 5
"""Letters from which the name of a day or month is no other word; *march* is one."""
_TITLE = 0.6
"""Share of words with a capital from which a text is a title."""
_LONGEST_NUMERAL = 8
"""Words of a numeral, at most."""
_HALVES = ("am", "pm")
_GAPS = ("", " ", "-", "\u00a0")
"""What may stand between a number and its unit."""


@lru_cache(2)
def _pattern(ascii_alone: bool) -> re.Pattern[str]:
    """Return the pattern of a token; combining marks stand inside words of other texts."""
    marks, unspaced, hangul = "", "", ""
    if not ascii_alone:
        marks, unspaced, hangul = combining_marks(), UNSPACED, _HANGUL
    letter, sign = f"[^\\W\\d_{unspaced}]", f"[^\\W{unspaced}{hangul}]"
    before = f"[^\\W\\d{unspaced}{hangul}]*+"
    value = f"(?:(?<!{sign})(?:[A-Za-z]{{1,4}}-)?{before})?\\d{sign}*+"
    # Possessive, and a run is tried from its beginning alone: the time is linear in the text. What
    # most words are comes first: letters that nothing joins to what follows.
    return re.compile(
        f"(?P<word>(?<!\\w){letter}{{2,}}+(?![\\w{marks}'\u2019\u02bc-])"
        f"|(?!{value})(?:(?<!\\w)(?:[A-Za-z]\\.){{1,5}}[A-Za-z](?!\\w)"
        f"|{letter}(?:[\\w{marks}](?<![\\d_{unspaced}])|['\u2019\u02bc](?=\\w))*+))"
        f"|(?:(?P<money>[$\u20ac\u00a3\u00a5\u20b9])\\s?)?"
        f"(?P<value>{value}(?:[.,:/\u2013-]{before}\\d{sign}*+)*+)"
        f"(?P<sign>\\s?[%$\u20ac\u00a3\u00a5\u20b9\u00b0])?"
        f"|(?P<unspaced>[{_KATAKANA}]++|(?!\u30fb)[{unspaced or chr(0xE00)}])"
    )


class Token(NamedTuple):
    """A word or value of a text.

    Attributes:
        key: What is compared: the stem of a word, or what a value says, in base units.
        text: As it is written.
        lower: The word in lower case; of a number, its digits without a unit.
        kind: `word`, `number` (any value with digits, numerals or ordinals) or `date` (a day or
            month).
        means: Whether it is a word of meaning, and no function word.
        is_character: Whether it is a character of a script without spaces, or a run of katakana.
        has_unit: Whether it is a number with a unit, a currency or a time of day.
        is_name: Whether it has a capital that no sentence explains, such as *Bath* and *PS2*.
        start, end: First character, and the one past the last.
    """

    key: str
    text: str
    lower: str
    kind: str
    means: bool = True
    is_character: bool = False
    has_unit: bool = False
    is_name: bool = False
    start: int = 0
    end: int = 0


_REMEMBERED = 1 << 15
_LONG_WORD = 64
"""Letters of a word that is remembered, at most, so that what is remembered has a bound."""


def _word(written: str, language: str) -> tuple[tuple[str | bool, ...], bool]:
    """Return a word's token without its place, and whether it may be a value or a name."""
    lexicon = lexicon_of(language)
    plain = written.replace(".", "").replace("\u2019", "'")  # U.S. and p.m.
    plain = plain.removesuffix("'s").removesuffix("'").replace("'", "")
    lower = plain.lower()
    if not lower.isascii() or not lower.isalnum():
        lower = next(iter(words(plain)), lower)
    root = lower
    if len(written) <= _LONG_WORD:
        ending = next(
            (e for e in lexicon.endings if lower.endswith(e) and len(lower) > len(e) + 1), ""
        )
        base = lexicon.irregular.get(lower, lower.removesuffix(ending))
        (root,) = stems([base], stemmer_of(language))
    lists = lexicon.numerals, lexicon.ordinals, lexicon.calendar
    is_value = written in _ROMAN or any(lower in values for values in lists)
    has_capital = _has_capital(written)
    token = Token(
        key=root,
        text=written,
        lower=lower,
        kind="word",
        means=lower not in lexicon.stop,
        is_character=bool(characters(plain)),
        is_name=has_capital and lower in lexicon.given_names,
    )
    return token[:-2], is_value or has_capital or any(map(str.isdigit, written))


def _has_capital(written: str) -> bool:
    return written[0].isupper() and written not in ("I", "I'm")


_remembered = lru_cache(_REMEMBERED)(_word)


class _Scan:
    """The matches of a text's tokens, their words, which may be more, and the language's lists."""

    def __init__(self, text: str, language: str) -> None:
        self.text, self.lexicon = text, lexicon_of(language)
        self.matches = [*_pattern(text.isascii()).finditer(text)]
        words = [
            (_remembered if len(written := match[0]) <= _LONG_WORD else _word)(written, language)
            for match in self.matches
        ]
        self.words = [
            Token._make(token + match.span())
            for (token, _), match in zip(words, self.matches, strict=True)
        ]
        self.special = [n for n, (_, is_special) in enumerate(words) if is_special]

    def lower(self, at: int) -> str:
        """Return the lower-case word at a place; "" where there is none."""
        return self.words[at].lower if 0 <= at < len(self.words) else ""

    def follows(self, at: int) -> str:
        """Return the word at a place if it may be the unit of a number before it; else ""."""
        if not 0 < at < len(self.matches):
            return ""
        gap = self.text[self.matches[at - 1].end() : self.matches[at].start()]
        return self.words[at].lower if gap in _GAPS else ""

    def token(self, at: int, count: int, key: str, kind: str, lower: str) -> Token:
        """Return a token of several matches from one on."""
        start, end = self.matches[at].start(), self.matches[at + count - 1].end()
        return Token(key, self.text[start:end], lower, kind, start=start, end=end)


def tokens_of(text: str, language: str) -> tuple[Token, ...]:
    """Return the tokens of a text in order, in time that is linear in its length."""
    scan = _Scan(text, language)
    plain, tokens, at = scan.words, list[Token](), 0
    has_names: bool | None = None if language not in NOUNS_WITH_CAPITALS else False
    for place in scan.special:
        if place < at:
            continue
        token = plain[place]
        values, count = _value(scan, place)
        if values:
            tokens += [*plain[at:place], *values]
            at = place + count
        elif _has_capital(token.text) and not token.is_name and _is_inside(text, token.start):
            has_names = not _is_title(plain) if has_names is None else has_names
            plain[place] = token._replace(is_name=has_names)
    return (*tokens, *plain[at:])


def _value(scan: _Scan, at: int) -> tuple[list[Token], int]:
    """Return the tokens of a value, if there is one, and how many matches they take."""
    if scan.matches[at]["value"]:
        return _value_in_digits(scan, at)
    lexicon, written, lower = scan.lexicon, scan.words[at].text, scan.words[at].lower
    if lower in lexicon.numerals:
        amount, count = _numeral(scan, at)
        return _measured(scan, at, count, amount)
    if lower in lexicon.calendar and _is_date(scan, at):
        return [scan.token(at, 1, lexicon.calendar[lower], "date", lower)], 1
    if lower in lexicon.ordinals:
        number = str(lexicon.ordinals[lower])
    elif written in _ROMAN and _is_numbered(scan, at):
        number = _ROMAN[written]
    else:
        return [], 0
    return [scan.token(at, 1, number, "number", number)], 1


def _value_in_digits(scan: _Scan, at: int) -> tuple[list[Token], int]:
    """Return the tokens of a value with digits, and how many matches they take."""
    match, lexicon = scan.matches[at], scan.lexicon
    start, written = match.start("value"), match["value"].rstrip(".,:/-\u2013")
    if span := _RANGE.match(written):  # 1903-1967 is two numbers, as 1903 to 1967 is
        return [
            Token(f"{int(part)}", part, part, "number", start=start + i, end=start + j)
            for part, (i, j) in ((span[n], span.span(n)) for n in (1, 2))
        ], 1
    number = _NUMBER.match(written)
    amount = _amount(number[1], lexicon.language) if number else None
    suffix = number[2].lower() if number else ""
    count = 1
    if suffix in _ORDINAL_SIGNS:
        suffix = ""
    is_factor = suffix in _SUFFIXES and (match["money"] or suffix not in lexicon.units)
    if amount is not None and is_factor:
        amount, suffix = amount * _SUFFIXES[suffix], ""
    if number is None or amount is None or (suffix and suffix not in lexicon.units):
        return _identifier(scan, at, written)
    if not suffix and scan.follows(at + 1) in lexicon.scales:
        amount *= lexicon.scales[scan.lower(at + 1)]
        count = 2
    return _measured(scan, at, count, amount, suffix)


def _identifier(scan: _Scan, at: int, written: str) -> tuple[list[Token], int]:
    """Return a value that is no amount: a time of day, a date, a version or an identifier."""
    key = written.lower().replace("\u2013", "-")
    clock = _CLOCK.match(key)
    if clock and clock[2] and not key.isdecimal():
        hour, minutes = int(clock[1]), clock[2]
        if scan.follows(at + 1) in _HALVES:
            return _measured(scan, at, 1, float(f"{hour}.{minutes}"))
        token = scan.token(at, 1, f"{hour % 24}:{minutes} time", "number", f"{hour % 12}")
        return [token._replace(has_unit=True)], 1
    token = scan.token(at, 1, key, "number", key)
    return [token._replace(is_name=any(map(str.isalpha, key)))], 1


def _measured(
    scan: _Scan, at: int, count: int, amount: float, suffix: str = ""
) -> tuple[list[Token], int]:
    """Return a number with its unit in base units, and how many matches it takes."""
    units, match = scan.lexicon.units, scan.matches[at]
    following = suffix or scan.follows(at + count)
    sign = (match["sign"] or match["money"] or "").strip()
    unit, after = "", count + (not suffix)
    if following in _HALVES and amount < 13:
        hour = int(amount) % 12 + (12 if following == "pm" else 0)
        key = f"{hour}:{amount % 1 * 100:02.0f} time"
        token = scan.token(at, after, key, "number", f"{amount:.10g}")
        return [token._replace(has_unit=True)], after
    if sign and sign != "\u00b0":
        unit = units.get(sign, sign)
    elif sign + following in units:  # \u00b0C is one, and degrees of latitude are none
        unit, count = units[sign + following], after
        end = scan.matches[at + count - 1].end()
        if scan.text[end : end + 1] == "/" and scan.lower(at + count) in units:
            unit, count = f"{unit}/{units[scan.lower(at + count)]}", count + 1
    lower = f"{amount:.10g}"
    base, factor = scan.lexicon.measures.get(unit, (unit, 1.0))
    key = f"{amount * factor:.10g} {base}".rstrip()
    return [scan.token(at, count, key, "number", lower)._replace(has_unit=bool(unit))], count


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


def _numeral(scan: _Scan, at: int) -> tuple[float, int]:
    """Return the value of a numeral in words that begins at a place, and its number of words."""
    lexicon, total, hundreds, digits, count = scan.lexicon, 0.0, 0.0, 0.0, 0
    tens = 10 if lexicon.is_joined else 20  # *ten nine* is two numbers, and its characters one
    for lower in (word.lower for word in scan.words[at : at + _LONGEST_NUMERAL]):
        value, scale = lexicon.numerals.get(lower, 0), lexicon.scales.get(lower, 0)
        if scale and count and scale < 1000:
            hundreds, digits = hundreds + (digits or 1) * scale, 0.0
        elif scale and count:
            total, hundreds, digits = total + ((hundreds + digits) or 1) * scale, 0.0, 0.0
        elif value and (not digits or (digits >= tens and digits % 10 == 0 and value < 10)):
            digits += value
        else:
            break
        count += 1
    return total + hundreds + digits, count


def _is_title(tokens: Sequence[Token]) -> bool:
    """Return whether most longer words have a capital, as in a headline: none is then a name."""
    long = [
        _has_capital(token.text)
        for token in tokens[1:]
        if len(token.text) > _SHORT and token.lower.isalpha() and not token.is_character
    ]
    return len(long) > 2 and sum(long) > _TITLE * len(long)


def _is_date(scan: _Scan, at: int) -> bool:
    """Return whether the name of a day or month is long, or beside a number: *may* is neither."""
    lower = scan.lower(at)
    if len(lower) >= _LONG_DATE and lower != "march":
        return True
    return any(match["value"] for match in scan.matches[max(0, at - 1) : at + 2])


def _is_numbered(scan: _Scan, at: int) -> bool:
    """Return whether a Roman numeral follows a word with a capital, as in *World War II*."""
    if at == 0 or not scan.matches[at - 1]["word"]:
        return False
    start = scan.matches[at - 1].start()
    means = scan.lower(at - 1) not in scan.lexicon.stop
    has_capital = scan.matches[at - 1][0][0].isupper() and means
    long = len(scan.matches[at][0]) > 1
    return scan.follows(at) != "" and has_capital and (long or _is_inside(scan.text, start))


def _is_inside(text: str, start: int) -> bool:
    """Return whether a place does not open a sentence."""
    before = text[max(0, start - 8) : start]
    return not _OPENING.search(before)
