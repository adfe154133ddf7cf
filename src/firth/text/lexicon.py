"""What a language says without words of meaning: numerals, negations, opposites, days and months.

Each language has a file in `languages/`. Days, months and units are those of the Unicode CLDR; most
ordinals are those of num2words. Stop words are those of Snowball (BSD), or those that
stopwords-iso and spaCy (both MIT) have in common; English ones are scikit-learn's without words
that carry meaning (Nothman et al. 2018). The rest was written for firth. Symbols of units are in
`und.json`; a language without a file has these, digits, names and the order of words.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from firth.text.words import UNKNOWN, stemmer_of, stems, words

_FOLDER = Path(__file__).parent / "languages"
_LETTERS = re.compile(
    "(?P<ko>[\uac00-\ud7a3])|(?P<zh>[\u4e00-\u9fff\u3041-\u30ff])|(?P<he>[\u05d0-\u05ea])"
    "|(?P<el>[\u03b1-\u03c9\u0391-\u03a9])|(?P<hi>[\u0904-\u0939])"
    "|(?P<ar>[\u0621-\u064a])|(?P<ru>[\u0430-\u044f])"
)
"""Letters of a script, and the language that it most often writes."""
_OWN_SCRIPTS = frozenset({"ko", "zh", "he", "el", "hi"})
"""Languages whose script no other language here has."""
_OFTEN = (
    "en", "es", "de", "fr", "pt", "it", "ru", "nl", "pl", "ar", "tr", "id", "vi", "sv", "fa",
    "cs", "uk", "ro", "hu", "da", "fi", "no", "bg", "sw", "el", "he", "hi", "ja", "ko", "zh",
)  # fmt: skip
"""The languages that have a file; of two that are as likely, the earlier one is taken."""
_SURE = 0.3
"""Votes from which a language is not English."""
_KANA = re.compile("[\u3041-\u30ff]")
LANGUAGES = 64
"""Languages whose lists are kept in memory, at most."""
_OTHER_LETTERS = re.compile("[\u0250-\u1dff\u2c00-\uffff]")
_BEGINNING = 1_000
"""Characters by which a language is guessed."""


@dataclass(frozen=True, kw_only=True)
class Lexicon:
    """The word lists of a language. Words are as `firth.text.words.words` gives them.

    Attributes:
        stop: Words without meaning of their own.
        prepositions: Words that bind what follows them, such as *from* and *to*.
        conjunctions: Words before the last item of an enumeration.
        by: Words before who acts, in a passive.
        endings: Endings of a word that are no part of its stem, the longest first.
        irregular: Form of a verb → the verb: *won*, *win*.
        numerals: Word → its value.
        scales: Word → the factor that it is, such as 1,000.
        ordinals: Word → its value, from one on.
        units: Word or symbol → the English name of the unit.
        measures: Name of a unit → what it measures, and how much of the base unit it is.
        negations: Words that negate a sentence.
        negation_pattern: What negates inside words or without spaces, or None.
        idioms: Negation → words or a comma after which it negates nothing: *no, it is late*.
        denials: Stems of words that negate what follows them, such as *refuse*.
        limits: Words that limit what is said, such as *only*.
        prefixes: Beginnings that negate a word, such as *un*.
        suffixes: Ends that negate a word and those that do not, such as *less* and *ful*.
        given_names: Names of people, known where they begin a sentence, too.
        calendar: Name of a day or month → its kind and number, such as `month 10`.
        opposites: Stem → stems of its opposites, in both directions.
        kinds: Stem → numbers of the lists of things of one kind in which it is, such as colors.
        same: Word → numbers of the lists of words of one meaning in which it is.
        determiners: Words before a noun, or a word that says which one is meant: *the storm water*.
        is_joined: Whether words stand inside longer ones, or without spaces.
    """

    language: str
    stop: frozenset[str] = frozenset()
    prepositions: frozenset[str] = frozenset()
    conjunctions: frozenset[str] = frozenset()
    by: frozenset[str] = frozenset()
    determiners: frozenset[str] = frozenset()
    endings: tuple[str, ...] = ()
    irregular: Mapping[str, str] = field(default_factory=dict)
    numerals: Mapping[str, float] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    ordinals: Mapping[str, int] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    negations: frozenset[str] = frozenset()
    negation_pattern: re.Pattern[str] | None = None
    idioms: Mapping[str, frozenset[str]] = field(default_factory=dict)
    denials: frozenset[str] = frozenset()
    limits: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()
    suffixes: tuple[tuple[str, str], ...] = ()
    given_names: frozenset[str] = frozenset()
    calendar: Mapping[str, str] = field(default_factory=dict)
    opposites: Mapping[str, frozenset[str]] = field(default_factory=dict)
    kinds: Mapping[str, frozenset[int]] = field(default_factory=dict)
    same: Mapping[str, frozenset[int]] = field(default_factory=dict)
    is_joined: bool = False


@lru_cache(LANGUAGES)
def lexicon_of(language: str) -> Lexicon:
    """Return the word lists of a language (ISO 639-1); symbols alone where it has no file."""
    stored, symbols = _stored(language), _stored(UNKNOWN)
    stemmer = stemmer_of(language)
    ordinals = _values(stored, "ordinals")
    own_units = {
        _plain(form): name for name, forms in stored.get("units", {}).items() for form in forms
    }
    signs = {form: name for name, forms in symbols["units"].items() for form in forms}
    pattern = stored.get("negation_pattern")
    forms = stored.get("irregular", {}).items()
    irregular = {form: verb for verb, listed in forms for form in listed.split()}

    def listed(name: str) -> frozenset[str]:
        return frozenset(map(_plain, stored.get(name, "").split()))

    def keys(line: str) -> list[str]:
        plain = [*map(_plain, line.split())]
        roots = stems([irregular.get(word, word) for word in plain], stemmer)
        return [f"{ordinals[w]}" if w in ordinals else r for w, r in zip(plain, roots, strict=True)]

    opposites: dict[str, set[str]] = {}
    for line, against in stored.get("opposites", {}).items():
        for key in keys(line):
            for other in keys(against):
                if other != key:
                    opposites.setdefault(key, set()).add(other)
                    opposites.setdefault(other, set()).add(key)
    return Lexicon(
        language=language,
        stop=frozenset(stored.get("stop", "").split()),
        prepositions=listed("prepositions"),
        conjunctions=listed("conjunctions"),
        by=listed("by"),
        determiners=listed("determiners"),
        endings=tuple(sorted(stored.get("endings", "").split(), key=len, reverse=True)),
        ordinals=ordinals,
        irregular=irregular,
        numerals=_values(stored, "numerals"),
        scales=_values(stored, "scales"),
        units=signs | own_units,
        measures={name: (of, factor) for name, (of, factor) in symbols["measures"].items()},
        negations=listed("negations"),
        negation_pattern=re.compile(pattern) if pattern else None,
        idioms={word: frozenset(after.split()) for word, after in stored.get("idioms", {}).items()},
        denials=frozenset(stems(sorted(listed("denials")), stemmer)),
        limits=listed("limits"),
        prefixes=listed("prefixes"),
        suffixes=tuple(stored.get("suffixes", {}).items()),
        given_names=frozenset(symbols["given_names"].split()),
        calendar={
            _plain(name): f"{kind} {number}"
            for kind in ("days", "months")
            for number, names in enumerate(stored.get(kind, ()), start=1)
            for name in names
        },
        opposites={key: frozenset(antonyms) for key, antonyms in opposites.items()},
        kinds=_groups(map(keys, stored.get("kinds", ()))),
        same=_groups([*map(_plain, line.split())] for line in stored.get("same", ())),
        is_joined=stored.get("is_joined", False),
    )


@cache
def languages() -> tuple[str, ...]:
    """Return the codes of the languages that have a file, sorted."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.json") if file.stem != UNKNOWN))


@cache
def codes() -> frozenset[str]:
    """Return the two-letter codes of ISO 639-1."""
    return frozenset(_stored(UNKNOWN)["codes"].split())


def guessed_language(text: str) -> str:
    """Return the language whose words or letters a text has; English where too little tells.

    The words are those of the lists. A word that many languages have says less.

    Example:
        >>> guessed_language("Hunde sind nicht erlaubt."), guessed_language("Storm water")
        ('de', 'en')
    """
    text = text[:_BEGINNING].lower()
    script = _LETTERS.search(text)
    if script is not None and script.lastgroup in _OWN_SCRIPTS:
        return "ja" if _KANA.search(text) else script.lastgroup
    votes: dict[str, float] = {"en": 0.0}
    having = _listed_words()
    for sign in {*words(text), *(letter for letter in text if not letter.isascii())}:
        for language in having.get(sign, ()):
            votes[language] = votes.get(language, 0.0) + 1 / len(having[sign])
    best = max(votes, key=lambda code: (round(votes[code], 6), -_OFTEN.index(code)))
    if script is not None and script.lastgroup is not None and votes[best] == 0:
        return script.lastgroup
    is_sure = votes[best] >= _SURE and votes[best] > votes["en"]
    if is_sure or text.isascii() or not _OTHER_LETTERS.search(text):
        return best if is_sure else "en"
    return best if votes[best] else UNKNOWN


@cache
def _listed_words() -> dict[str, tuple[str, ...]]:
    """Return the words of all lists, and letters, each with the languages that have it."""
    having: dict[str, set[str]] = {}
    for language in languages():
        stored = _stored(language)
        lines = [stored.get(name, "") for name in ("stop", "negations", "conjunctions", "letters")]
        for name in ("numerals", "ordinals", "opposites"):
            lines += stored.get(name, {})
        lines += stored.get("opposites", {}).values()
        lines += [
            day for name in ("days", "months") for names in stored.get(name, ()) for day in names
        ]
        for word in filter(str.isalpha, " ".join(lines).lower().split()):
            having.setdefault(word, set()).add(language)
    return {word: tuple(sorted(codes)) for word, codes in having.items()}


@lru_cache(LANGUAGES)
def _stored(language: str) -> Any:
    file = _FOLDER / f"{language}.json"
    if not language.isalpha() or not file.is_file():
        return {}
    return json.loads(file.read_text(encoding="utf-8"))


def _values(stored: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {_plain(word): value for word, value in stored.get(name, {}).items()}


def _groups(lists: Iterable[Iterable[str]]) -> dict[str, frozenset[int]]:
    """Return, for each word of some lists, the numbers of the lists that have it."""
    groups: dict[str, set[int]] = {}
    for number, members in enumerate(lists):
        for member in members:
            groups.setdefault(member, set()).add(number)
    return {member: frozenset(numbers) for member, numbers in groups.items()}


def _plain(word: str) -> str:
    """Return a word as `firth.text.words.words` gives it; several words stay as they are."""
    parts = words(word)
    return parts[0] if len(parts) == 1 else word
