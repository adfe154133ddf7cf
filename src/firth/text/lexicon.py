"""What a language says without words of meaning: numerals, negations, opposites, days and months.

Each language has a file in `languages/`. Days, months and units are those of the Unicode CLDR; most
ordinals are those of num2words; the rest was written for firth. A language without a file still has
digits, names, slots and the order of words.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from firth.text.words import stemmer_of, stems, words

_FOLDER = "languages"
_LONG = 5
"""Letters from which the name of a day or month cannot be another word; shorter ones need a number
next to them."""
_OTHER_WORDS = frozenset({"march"})


@dataclass(frozen=True, kw_only=True)
class Lexicon:
    """The word lists of a language.

    Attributes:
        numerals: Word → its value, from two on.
        scales: Word → the factor that it is, such as 1,000.
        ordinals: Word → its value, from one on.
        units: Word of a time, length, mass, volume, temperature or size of data → its unit.
        negations: Words that negate a sentence.
        negation_pattern: What negates inside words or without spaces, or None.
        denials: Stems of words that negate what follows them, such as *refuse*.
        calendar: Name of a day or month → its kind and number, such as `month 10`.
        opposites: Stem → stems of its opposites, in both directions.
        same: Word → a number that words of one meaning share.
    """

    language: str
    numerals: Mapping[str, int] = field(default_factory=dict)
    scales: Mapping[str, int] = field(default_factory=dict)
    ordinals: Mapping[str, int] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    negations: frozenset[str] = frozenset()
    negation_pattern: re.Pattern[str] | None = None
    denials: frozenset[str] = frozenset()
    calendar: Mapping[str, str] = field(default_factory=dict)
    opposites: Mapping[str, frozenset[str]] = field(default_factory=dict)
    same: Mapping[str, int] = field(default_factory=dict)

    def is_date(self, word: str, beside_number: bool) -> bool:
        """Return whether a lower-case word names a day or a month where it stands."""
        if word not in self.calendar:
            return False
        return beside_number or (len(word) >= _LONG and word not in _OTHER_WORDS)


@cache
def lexicon_of(language: str) -> Lexicon:
    """Return the word lists of a language (ISO 639-1); empty ones where it has no file."""
    file = resources.files(__package__).joinpath(_FOLDER, f"{language}.json")
    if not language.isalpha() or not file.is_file():
        return Lexicon(language=language)
    stored = json.loads(file.read_text(encoding="utf-8"))
    stemmer = stemmer_of(language)
    patterns = stored["negation_patterns"]
    calendar = {
        _plain(name): f"{kind} {number}"
        for kind in ("days", "months")
        for number, names in enumerate(stored[kind], start=1)
        for name in names
    }
    ordinals = {_plain(word): value for word, value in stored["ordinals"].items()}
    return Lexicon(
        language=language,
        ordinals=ordinals,
        units={_plain(word): forms[0] for forms in stored["units"] for word in forms},
        numerals={_plain(word): value for word, value in stored["numerals"].items()},
        scales={_plain(word): value for word, value in stored["scales"].items()},
        negations=frozenset(map(_plain, stored["negations"])),
        negation_pattern=re.compile("|".join(patterns), re.IGNORECASE) if patterns else None,
        denials=frozenset(stems(stored.get("denials", []), stemmer)),
        calendar=calendar,
        opposites=_both_ways(stored["opposites"], stemmer, ordinals),
        same={word: n for n, words in enumerate(stored["same"], start=1) for word in words},
    )


@cache
def languages() -> tuple[str, ...]:
    """Return the codes of the languages that have a file, sorted."""
    folder = resources.files(__package__).joinpath(_FOLDER)
    return tuple(sorted(file.name.removesuffix(".json") for file in folder.iterdir()))


def _plain(word: str) -> str:
    """Return a word as `firth.text.words.words` gives it; several words stay as they are."""
    found = words(word)
    return found[0] if len(found) == 1 else word


def _both_ways(
    listed: Mapping[str, Sequence[str]], stemmer: str, ordinals: Mapping[str, int]
) -> dict[str, frozenset[str]]:
    """Return the opposites of each key of a token (`firth.text.tokens`): a stem, or a value."""
    table: dict[str, set[str]] = {}
    for word, others in listed.items():
        plain = [*map(_plain, [word, *others])]
        roots = stems(plain, stemmer)
        (stem, *against) = (str(ordinals.get(w, r)) for w, r in zip(plain, roots, strict=True))
        for other in against:
            if other != stem:
                table.setdefault(stem, set()).add(other)
                table.setdefault(other, set()).add(stem)
    return {stem: frozenset(others) for stem, others in table.items()}
