"""Words and values of a text, as what they say.

Numbers, dates, times, percentages, amounts of money, versions and identifiers are values: `30 days`
and `thirty days` have one, and so have `$4.1bn` and `4.1 billion dollars`, `2kg` and `2 kilo`, or
`8 pm` and `20:00`.
"""

import re
from collections.abc import Sequence
from functools import cache, cached_property
from itertools import compress
from operator import attrgetter, itemgetter
from typing import NamedTuple

from firth.text.lexicon import LANGUAGES, lexicon_of
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
_MONEY = "$\u20ac\u00a3\u00a5\u20b9"
_KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff"
_BEYOND_LATIN = re.compile("[\u0300-\u1fff\u20d0-\U0010ffff]")
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


@cache
def _pattern(is_ascii: bool, has_marks: bool) -> re.Pattern[str]:
    """Return the pattern of a token, of texts that may have combining marks and other scripts."""
    marks, unspaced, hangul = "", "", ""
    if has_marks:
        marks, unspaced, hangul = combining_marks(), UNSPACED, _HANGUL
    letter = "[A-Za-z]" if is_ascii else f"[^\\W\\d_{unspaced}]"
    sign, before = f"[^\\W{unspaced}{hangul}]", f"[^\\W\\d{unspaced}{hangul}]*+"
    value = f"(?:(?<!{sign})(?:[A-Za-z]{{1,4}}-)?{before})?\\d{sign}*+"
    # Possessive, and a run is tried from its beginning alone: the time is linear in the text. What
    # most words are comes first: letters that nothing joins to what follows. Words have no group.
    # Groups are atomic: before Python 3.11.5 a possessive one keeps what a failed attempt read.
    return re.compile(
        f"(?=[\\w{_MONEY}{unspaced}])(?:"
        f"(?<!\\w){letter}{{2,}}+(?![\\w{marks}'\u2019\u02bc-])"
        f"|(?:(?P<money>[{_MONEY}])\\s?)?"
        f"(?P<value>{value}(?>(?:[.,:/\u2013-]{before}\\d{sign}*+)*))"
        f"(?P<sign>\\s?[%{_MONEY}\u00b0])?"
        f"|(?<!\\w)(?:[A-Za-z]\\.){{1,5}}[A-Za-z](?!\\w)"
        f"|{letter}(?>(?:[\\w{marks}](?<![\\d_{unspaced}])|['\u2019\u02bc](?=\\w))*)"
        f"|(?P<unspaced>[{_KATAKANA}]++|(?!\u30fb)[{unspaced or chr(0xE00)}]))",
        re.ASCII if is_ascii else 0,
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
        may_be_value: Whether it is a word or has digits that may be a value, by what stands beside.
        is_name: Whether it has a capital that no sentence explains, such as *Bath* and *PS2*.
        start, end: First character, and the one past the last; 0 of a word without a place.
    """

    key: str
    text: str
    lower: str
    kind: str
    means: bool = True
    is_character: bool = False
    has_unit: bool = False
    may_be_value: bool = False
    is_name: bool = False
    start: int = 0
    end: int = 0


_REMEMBERED, _LONG_WORD = 1 << 15, 64
"""Words that are remembered, and letters of such a word, at most: some 16 MB."""


class _Vocabulary(dict[str, Token]):
    """Written words of a language, as tokens without a place. Each is read when it is asked for."""

    def __init__(self, language: str) -> None:
        self.lexicon, self._stemmer = lexicon_of(language), stemmer_of(language)
        self._values = {*self.lexicon.numerals, *self.lexicon.ordinals, *self.lexicon.calendar}

    def __missing__(self, written: str) -> Token:
        """Read a word, and remember it if it is short."""
        lexicon, lower = self.lexicon, written.lower()
        is_plain = written.isascii() and written.isalpha()
        if not is_plain:
            plain = written.replace(".", "").replace("\u2019", "'")  # U.S. and p.m.
            plain = plain.removesuffix("'s").removesuffix("'").replace("'", "")
            lower = next(iter(words(plain)), plain.lower())
        root, is_short = lower, len(written) <= _LONG_WORD
        if is_short:
            if lexicon.endings:
                endings = (e for e in lexicon.endings if lower.endswith(e))
                root = lower.removesuffix(next((e for e in endings if len(lower) > len(e) + 1), ""))
            (root,) = stems([lexicon.irregular.get(lower, root)], self._stemmer)
        has_digit = not is_plain and any(map(str.isdigit, written))
        token = Token(
            root,
            written,
            lower,
            "word",
            means=lower not in lexicon.stop,
            is_character=not is_plain and bool(characters(written)),
            may_be_value=has_digit or written in _ROMAN or lower in self._values,
            is_name=_has_capital(written) and lower in lexicon.given_names,
        )
        if is_short:
            if sum(map(len, _known.values())) >= _REMEMBERED:
                _known.clear()
            self[written] = token
        return token


_known: dict[str, _Vocabulary] = {}


def _vocabulary(language: str) -> _Vocabulary:
    known = _known.get(language)
    if known is None:
        if len(_known) >= LANGUAGES:
            _known.clear()
        known = _known[language] = _Vocabulary(language)
    return known


def _has_capital(written: str) -> bool:
    return written[0].isupper() and written not in ("I", "I'm")


class Words:
    """A text as its words and values, in order. It is read in time that is linear in its length.

    Attributes:
        text: The text.
        tokens: Words and values; `placed` gives one with its place.
        spans: First character of each, and the one past its last.
        keys: What is compared of each.
        content: Places of words of meaning.
    """

    def __init__(self, text: str, language: str) -> None:
        known = _vocabulary(language)
        self.text, self.lexicon = text, known.lexicon
        is_ascii = text.isascii()
        pattern = _pattern(is_ascii, not is_ascii and _BEYOND_LATIN.search(text) is not None)
        self.matches = [*pattern.finditer(text)]
        self.words = self.tokens = [*map(known.__getitem__, map(itemgetter(0), self.matches))]
        self.places = self.spans = [*map(re.Match.span, self.matches)]
        numbers = range(len(self.words))
        if places := [*compress(numbers, map(attrgetter("may_be_value"), self.words))]:
            self._join(places)
            numbers = range(len(self.tokens))
        self.keys = [*map(attrgetter("key"), self.tokens)]
        self.content = [*compress(numbers, map(attrgetter("means"), self.tokens))]

    def _join(self, places: Sequence[int]) -> None:
        """Make tokens of the words and digits that are values, from some places on."""
        self.tokens, self.spans, at = [], [], 0
        for place in places:
            values, count = _value(self, place) if place >= at else ([], 0)
            if values:
                self.tokens += [*self.words[at:place], *values]
                self.spans += [*self.places[at:place], *(token[-2:] for token in values)]
                at = place + count
        self.tokens += self.words[at:]
        self.spans += self.places[at:]

    @cached_property
    def has_names(self) -> bool:
        """Whether words with a capital inside a sentence are names: not nouns, not in titles."""
        return self.lexicon.language not in NOUNS_WITH_CAPITALS and not _is_title(self.words)

    def placed(self, at: int) -> Token:
        """Return a token with its place in the text; only then it tells whether it is a name."""
        token = self.tokens[at]
        if token.end:
            return token
        if _has_capital(token.text) and _is_inside(self.text, self.spans[at][0]) and self.has_names:
            token = token._replace(is_name=True)
        return Token._make(token[:-2] + self.spans[at])

    def lower(self, at: int) -> str:
        """Return the lower-case word at a place; "" where there is none."""
        return self.words[at].lower if 0 <= at < len(self.words) else ""

    def follows(self, at: int) -> str:
        """Return the word at a place if it may be the unit of a number before it; else ""."""
        if not 0 < at < len(self.places):
            return ""
        gap = self.text[self.places[at - 1][1] : self.places[at][0]]
        return self.words[at].lower if gap in _GAPS else ""

    def value(self, at: int, count: int, key: str, kind: str, lower: str) -> Token:
        """Return a token of several words from one on."""
        start, end = self.places[at][0], self.places[at + count - 1][1]
        return Token(key, self.text[start:end], lower, kind, start=start, end=end)


def tokens_of(text: str, language: str) -> list[Token]:
    """Return the tokens of a text in order, with their places."""
    read = Words(text, language)
    return [read.placed(at) for at in range(len(read.tokens))]


def _value(text: Words, at: int) -> tuple[list[Token], int]:
    """Return the tokens of a value, if there is one, and how many matches they take."""
    if text.matches[at]["value"]:
        return _value_in_digits(text, at)
    lexicon, written, lower = text.lexicon, text.words[at].text, text.words[at].lower
    if lower in lexicon.numerals:
        amount, count = _numeral(text, at)
        return _measured(text, at, count, amount)
    if lower in lexicon.calendar and _is_date(text, at):
        return [text.value(at, 1, lexicon.calendar[lower], "date", lower)], 1
    if lower in lexicon.ordinals:
        number = str(lexicon.ordinals[lower])
    elif written in _ROMAN and _is_numbered(text, at):
        number = _ROMAN[written]
    else:
        return [], 0
    return [text.value(at, 1, number, "number", number)], 1


def _value_in_digits(text: Words, at: int) -> tuple[list[Token], int]:
    """Return the tokens of a value with digits, and how many matches they take."""
    match, lexicon = text.matches[at], text.lexicon
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
        return _identifier(text, at, written)
    if not suffix and text.follows(at + 1) in lexicon.scales:
        amount *= lexicon.scales[text.lower(at + 1)]
        count = 2
    return _measured(text, at, count, amount, suffix)


def _identifier(text: Words, at: int, written: str) -> tuple[list[Token], int]:
    """Return a value that is no amount: a time of day, a date, a version or an identifier."""
    key = written.lower().replace("\u2013", "-")
    clock = _CLOCK.match(key)
    if clock and clock[2] and not key.isdecimal():
        hour, minutes = int(clock[1]), clock[2]
        if text.follows(at + 1) in _HALVES:
            return _measured(text, at, 1, float(f"{hour}.{minutes}"))
        token = text.value(at, 1, f"{hour % 24}:{minutes} time", "number", f"{hour % 12}")
        return [token._replace(has_unit=True)], 1
    token = text.value(at, 1, key, "number", key)
    return [token._replace(is_name=any(map(str.isalpha, key)))], 1


def _measured(
    text: Words, at: int, count: int, amount: float, suffix: str = ""
) -> tuple[list[Token], int]:
    """Return a number with its unit in base units, and how many matches it takes."""
    units, match = text.lexicon.units, text.matches[at]
    following = suffix or text.follows(at + count)
    sign = (match["sign"] or match["money"] or "").strip()
    unit, after = "", count + (not suffix)
    if following in _HALVES and amount < 13:
        hour = int(amount) % 12 + (12 if following == "pm" else 0)
        key = f"{hour}:{amount % 1 * 100:02.0f} time"
        token = text.value(at, after, key, "number", f"{amount:.10g}")
        return [token._replace(has_unit=True)], after
    if sign and sign != "\u00b0":
        unit = units.get(sign, sign)
    elif sign + following in units:  # \u00b0C is one, and degrees of latitude are none
        unit, count = units[sign + following], after
        end = text.places[at + count - 1][1]
        if text.text[end : end + 1] == "/" and text.lower(at + count) in units:
            unit, count = f"{unit}/{units[text.lower(at + count)]}", count + 1
    lower = f"{amount:.10g}"
    base, factor = text.lexicon.measures.get(unit, (unit, 1.0))
    key = f"{amount * factor:.10g} {base}".rstrip()
    return [text.value(at, count, key, "number", lower)._replace(has_unit=bool(unit))], count


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


def _numeral(text: Words, at: int) -> tuple[float, int]:
    """Return the value of a numeral in words that begins at a place, and its number of words."""
    lexicon, total, hundreds, digits, count = text.lexicon, 0.0, 0.0, 0.0, 0
    tens = 10 if lexicon.is_joined else 20  # *ten nine* is two numbers, and its characters one
    for lower in (word.lower for word in text.words[at : at + _LONGEST_NUMERAL]):
        value, scale = lexicon.numerals.get(lower, 0), lexicon.scales.get(lower, 0)
        if scale and count and scale < 1000:
            hundreds, digits = hundreds + (digits or 1) * scale, 0.0
        elif scale and count:
            total, hundreds, digits = total + ((hundreds + digits) or 1) * scale, 0.0, 0.0
        elif value and (not digits or (digits >= tens and digits % 10 == 0 and value < 10)):
            digits += value
        elif value >= 10 and count == 1 and 16 < digits < 21:
            hundreds, digits = 100 * digits, value  # *nineteen forty-five*
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


def _is_date(text: Words, at: int) -> bool:
    """Return whether the name of a day or month is long, or beside a number: *may* is neither."""
    is_long = len(text.lower(at)) >= _LONG_DATE and text.lower(at) != "march"
    return is_long or any(match["value"] for match in text.matches[max(0, at - 1) : at + 2])


def _is_numbered(text: Words, at: int) -> bool:
    """Return whether a Roman numeral follows a word with a capital, as in *World War II*."""
    if at == 0 or text.matches[at - 1].lastgroup:
        return False
    start = text.places[at - 1][0]
    means = text.lower(at - 1) not in text.lexicon.stop
    has_capital = text.matches[at - 1][0][0].isupper() and means
    long = len(text.matches[at][0]) > 1
    return text.follows(at) != "" and has_capital and (long or _is_inside(text.text, start))


def _is_inside(text: str, start: int) -> bool:
    """Return whether a place does not open a sentence."""
    before = text[max(0, start - 8) : start]
    return not _OPENING.search(before)
