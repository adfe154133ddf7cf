"""What two texts differ in that matters, though they share most of their words.

Vectors hardly see a number, a negation, a name, an opposite, or who did what to whom. Texts are
aligned word by word, and each difference becomes an item with its words in both texts. What only
one text adds is listed, too, but contradicts nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from html import escape
from typing import ClassVar

from firth.run.results import Record, Results
from firth.text.lexicon import Lexicon, lexicon_of
from firth.text.stems import ENGLISH_STOP_WORDS
from firth.text.tokens import Token, tokens_of
from firth.text.types import checked_text
from firth.text.words import UNKNOWN, language_among, language_of_texts

_CLAUSE = 5
"""Words of meaning in a row that only one text has are an added clause."""
_SLOT = 3
"""Words of a filling, at most."""
_FRAME = 0.6
"""Share of the words of meaning that texts with one slot have in common, at least."""
_PHRASE = 3
"""Words of a text without function words that is a name of a thing, at most."""
_SENTENCE_ENDS = (".", "!", "?", "…")
"""What a bare phrase does not end with."""
_SPELLED_ALIKE = 0.75
_JOINED_UP = ("ja", "ko", "zh")
"""Languages whose words stand inside longer ones, or without spaces."""
_PREFIXES = frozenset({"un", "in", "im", "ir", "il", "dis", "non", "mis", "anti"})
_PREPOSITIONS = frozenset(
    [
        "about",
        "against",
        "at",
        "by",
        "for",
        "from",
        "in",
        "into",
        "of",
        "on",
        "over",
        "to",
        "under",
        "with",
    ]
)
_BY = frozenset({"by", "von", "durch", "par", "por", "da", "door", "av", "af"})
"""Words before who acts, in a passive."""


class DifferenceType(StrEnum):
    """What a difference is in."""

    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    NEGATION = "negation"
    OPPOSITE = "opposite"
    REPLACED = "replaced word"
    ORDER = "order"
    ADDED = "added"
    LEFT_OUT = "left out"


_HARMLESS = (DifferenceType.ADDED, DifferenceType.LEFT_OUT)


@dataclass(frozen=True)
class Difference(Record):
    """One difference between two texts.

    Attributes:
        type: What it is in.
        a, b: Words of it in each text; "" where a text has none.
        spans_a, spans_b: First character of each word or run, and the one past its last.
    """

    derived: ClassVar = ("matters",)
    type: DifferenceType
    a: str
    b: str
    spans_a: tuple[tuple[int, int], ...] = ()
    spans_b: tuple[tuple[int, int], ...] = ()

    @property
    def matters(self) -> bool:
        """Whether it contradicts; what only one text adds does not."""
        return self.type not in _HARMLESS

    def __str__(self) -> str:
        """Return the type and the words, such as `date: 15th / 16th`."""
        return f"{self.type}: {self.a or '–'} / {self.b or '–'}"  # noqa: RUF001


@dataclass(frozen=True, repr=False)
class Differences(Results[Difference]):
    """The differences of two texts, those that matter first; true where any of them matters."""

    derived: ClassVar = ("differ", "verdict", "summary")
    a: str
    b: str
    language: str

    def __bool__(self) -> bool:
        """Return whether the texts differ in what matters."""
        return self.differ

    @property
    def differ(self) -> bool:
        """Whether the texts differ in what matters."""
        return any(item.matters for item in self.items)

    @property
    def mattering(self) -> tuple[Difference, ...]:
        """The differences that matter."""
        return tuple(item for item in self.items if item.matters)

    @property
    def verdict(self) -> str:
        """`differ in what matters`, or in nothing that matters, as far as words tell."""
        return f"differ in {'what' if self else 'nothing that'} matters"

    def summary(self) -> str:
        """Return the verdict and its reasons, in a sentence."""
        listed = "; ".join(map(str, self.mattering))
        return f"They {self.verdict}{': ' if listed else ''}{listed}."

    def _repr_html_(self) -> str:
        """Return both texts with their differences marked, for a notebook."""
        sides = (
            marked(self.a, [span for item in self.mattering for span in item.spans_a]),
            marked(self.b, [span for item in self.mattering for span in item.spans_b]),
        )
        return f"<p>{escape(self.summary())}</p>" + "".join(f"<p>{side}</p>" for side in sides)


def differences(a: str, b: str, language: str | None = None) -> Differences:
    """Return what two texts differ in, by their words.

    Numbers, dates, names, negations, opposites, the filling of one slot, and the order of who did
    what matter. What only one text adds or leaves out is listed, and does not contradict.

    Args:
        a: A text.
        b: Another text.
        language: ISO 639-1 code. By default it is recognized from both texts.

    Raises:
        InputError: What came is no text.

    Example:
        >>> found = differences("The deadline is October 15th.", "The deadline is October 16th.")
        >>> bool(found), str(found[0])
        (True, 'number: 15th / 16th')
        >>> bool(differences("He waited 30 days.", "He waited thirty days."))
        False
    """
    checked_text(a, "a")
    checked_text(b, "b")
    return compared(a, b, language or _language(a, b))


def _language(a: str, b: str) -> str:
    """Return the language of two texts; English where too little is said to tell."""
    if (a + b).isascii() and len(a) + len(b) < 60:
        return "en"
    found = language_of_texts([a, b])
    return "en" if found == UNKNOWN else found


def compared(a: str, b: str, language: str) -> Differences:
    """Return the differences of two texts of a language, or one of several; see `differences`."""
    language = language_among(f"{a}\n{b}", language)
    items = tuple(_items(tokens_of(a, language), tokens_of(b, language), a, b, language))
    ordered = sorted(items, key=lambda item: not item.matters)
    return Differences(a, b, language, items=tuple(ordered))


def marked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text as HTML with parts of it marked; spans may touch and overlap."""
    pieces, at = [], 0
    for start, end in sorted(set(spans)):
        if start >= at:
            pieces += [escape(text[at:start]), f"<mark>{escape(text[start:end])}</mark>"]
            at = end
    return "".join([*pieces, escape(text[at:])])


# --- Items -------------------------------------------------------------------------------------

Segment = tuple[Sequence[Token], Sequence[Token]]
"""Tokens of both texts that are aligned with one another and differ; one side may be empty."""


def _items(
    one: Sequence[Token], two: Sequence[Token], a: str, b: str, language: str
) -> Iterator[Difference]:
    keys = [token.key for token in one], [token.key for token in two]
    if keys[0] == keys[1] and [token.unit for token in one] == [token.unit for token in two]:
        return
    lexicon = lexicon_of(language)
    segments = _segments(one, two, *keys)
    only = _only(one, keys[1]), _only(two, keys[0])
    found = [
        *(_values(only, "number") or _units(one, two, lexicon)),
        *_values(only, "date"),
        *_negation(segments, only, a, b, lexicon),
        *_opposites(only, lexicon),
        *_names(segments, only, lexicon),
    ]
    if len(found) == 2 and _cancel(*found):
        return
    yield from found
    if not found:
        is_sentence = any(side.rstrip().endswith(_SENTENCE_ENDS) for side in (a, b))
        slot = list(_slot(segments, one, two, language, is_sentence))
        yield from slot
        if not slot:
            yield from _order(one, two, keys, language)
    yield from _clauses(segments, language)


def _segments(
    one: Sequence[Token], two: Sequence[Token], keys1: list[str], keys2: list[str]
) -> list[Segment]:
    """Return the aligned runs in which two texts differ, in order."""
    start, least = 0, min(len(keys1), len(keys2))
    while start < least and keys1[start] == keys2[start]:
        start += 1
    end = 0
    while end < least - start and keys1[-1 - end] == keys2[-1 - end]:
        end += 1
    ends = len(keys1) - end, len(keys2) - end
    middle = keys1[start : ends[0]], keys2[start : ends[1]]
    if not (middle[0] and middle[1]) or set(middle[0]).isdisjoint(middle[1]):
        return [(one[start : ends[0]], two[start : ends[1]])]
    matcher = SequenceMatcher(None, *middle, autojunk=False)
    return [
        (one[start + i1 : start + i2], two[start + j1 : start + j2])
        for name, i1, i2, j1, j2 in matcher.get_opcodes()
        if name != "equal"
    ]


def _only(tokens: Sequence[Token], others: Sequence[str]) -> list[Token]:
    """Return the tokens whose key another text does not have."""
    known = set(others)
    return [token for token in tokens if token.key not in known]


def _item(kind: DifferenceType, one: Sequence[Token], two: Sequence[Token]) -> Difference:
    spans = [tuple((token.start, token.end) for token in side) for side in (one, two)]
    texts = [" ".join(token.text for token in side) for side in (one, two)]
    return Difference(kind, texts[0], texts[1], spans[0], spans[1])


def _values(only: tuple[list[Token], list[Token]], kind: str) -> list[Difference]:
    one, two = ([token for token in side if token.kind == kind] for side in only)
    return [_item(DifferenceType(kind), one, two)] if one and two else []


def _units(one: Sequence[Token], two: Sequence[Token], lexicon: Lexicon) -> Iterator[Difference]:
    """Yield equal numbers whose units differ: *30 days*, *thirty weeks*."""
    units: tuple[dict[str, set[str]], dict[str, set[str]]] = ({}, {})
    for side, known in zip((one, two), units, strict=True):
        for token in side:
            if token.unit:
                known.setdefault(token.key, set()).add(token.unit)
    for key in sorted(units[0].keys() & units[1].keys()):
        if units[0][key].isdisjoint(units[1][key]):
            sides = (
                [
                    token
                    for at, number in enumerate(side)
                    if number.key == key and number.unit
                    for token in side[at : at + 2]
                    if token is number or token.lower in lexicon.units
                ]
                for side in (one, two)
            )
            yield _item(DifferenceType.NUMBER, *sides)


def _negation(
    segments: Sequence[Segment],
    only: tuple[list[Token], list[Token]],
    a: str,
    b: str,
    lexicon: Lexicon,
) -> Iterator[Difference]:
    """Yield that one text negates what the other says: by a word, inside a word, or a denial."""
    counts, cues = [0, 0], ([], [])  # type: tuple[list[int], tuple[list[Token], list[Token]]]
    for segment in segments:
        for side in (0, 1):
            for token in segment[side]:
                if token.kind == "word" and _negates(token, (a, b)[side], lexicon):
                    cues[side].append(token)
    spans: list[tuple[tuple[int, int], ...]] = [(), ()]
    if lexicon.negation_pattern is not None and lexicon.language != "en":
        for side, text in enumerate((a, b)):
            spans[side] = tuple(m.span() for m in lexicon.negation_pattern.finditer(text))
            inside = {place for span in spans[side] for place in range(*span)}
            cues[side][:] = [token for token in cues[side] if token.start not in inside]
    counts = [len(cues[side]) + len(spans[side]) for side in (0, 1)]
    if counts[0] % 2 != counts[1] % 2:
        item = _item(DifferenceType.NEGATION, *cues)
        texts = [
            " ".join(filter(None, [side, *(text[slice(*span)] for span in more)]))
            for side, text, more in ((item.a, a, spans[0]), (item.b, b, spans[1]))
        ]
        yield Difference(
            item.type, texts[0], texts[1], item.spans_a + spans[0], item.spans_b + spans[1]
        )


def _negates(token: Token, text: str, lexicon: Lexicon) -> bool:
    if token.lower == "no" and text[token.end : token.end + 1] == ",":
        return False  # An answer, such as "no, it is late".
    if token.lower in lexicon.negations or token.key in lexicon.denials:
        return True
    return (
        lexicon.language == "en" and token.lower.endswith("nt") and token.text[-2:-1] in "'\u2019"
    )


def _cancel(negation: Difference, opposite: Difference) -> bool:
    """Return whether a negated word and its opposite say the same: *not allowed*, *forbidden*."""
    kinds = negation.type, opposite.type
    if kinds != (DifferenceType.NEGATION, DifferenceType.OPPOSITE):
        return False
    sides = (negation.spans_a, opposite.spans_a), (negation.spans_b, opposite.spans_b)
    return any(0 < word[0] - end <= 2 for cues, words in sides for _, end in cues for word in words)


def _opposites(only: tuple[list[Token], list[Token]], lexicon: Lexicon) -> Iterator[Difference]:
    """Yield pairs of opposites: of the list, or of which one negates the other by its form."""
    if not (only[0] and only[1]):
        return
    if lexicon.language in _JOINED_UP:
        yield from _inside(only, lexicon)
        return
    roots = {token.key: token for token in only[1]}
    for token in only[0]:
        against = lexicon.opposites.get(token.key, frozenset()) & roots.keys()
        met = [roots[key] for key in sorted(against)]
        if not met and token.kind == "word" and lexicon.language == "en":
            lower = token.lower
            met = [other for other in only[1] if _negated_form(lower, other.lower)]
        if met:
            yield _item(DifferenceType.OPPOSITE, [token], met[:1])


def _inside(only: tuple[list[Token], list[Token]], lexicon: Lexicon) -> Iterator[Difference]:
    """Yield opposites that are parts of longer words, or of texts without spaces."""
    joined = ["".join(token.lower for token in side) for side in only]
    for word, others in lexicon.opposites.items():
        for other in sorted(others):
            if word in joined[0] and other in joined[1] and word not in joined[1]:
                chosen = (
                    [token for token in side if set(token.lower) & set(part)]
                    for side, part in zip(only, (word, other), strict=True)
                )
                yield _item(DifferenceType.OPPOSITE, *chosen)
                return


def _negated_form(one: str, two: str) -> bool:
    """Return whether one word negates the other: *fit* and *unfit*, *useful* and *useless*."""
    short, long = (one, two) if len(one) < len(two) else (two, one)
    if len(short) > 3 and long.endswith(short):
        return long[: -len(short)] in _PREFIXES
    if long.endswith("less"):
        return short in (long[:-4], f"{long[:-4]}ful")
    return short.endswith("less") and long == f"{short[:-4]}ful"


def _names(
    segments: Sequence[Segment], only: tuple[list[Token], list[Token]], lexicon: Lexicon
) -> Iterator[Difference]:
    """Yield names that stand where the other text has another one."""
    keys = tuple({token.key for token in side} for side in only)
    for segment in segments:
        one, two = (
            [token for token in side if token.is_name and token.key in known]
            for side, known in zip(segment, keys, strict=True)
        )
        if one and two:
            one = [token for token in one if not _is_known(token, segment[1], only[1], lexicon)]
            two = [token for token in two if not _is_known(token, segment[0], only[0], lexicon)]
        if one and two and {token.kind for token in (*one, *two)} != {"number"}:
            yield _item(DifferenceType.NAME, one, two)


def _is_known(
    token: Token, segment: Sequence[Token], only: Sequence[Token], lexicon: Lexicon
) -> bool:
    """Return whether the other text has a form, an abbreviation or a spelling of a name."""
    if any(_same_word(token.lower, other.lower, lexicon) for other in only):
        return True
    initials = "".join(other.lower[:1] for other in segment)
    short = token.lower
    if len(short) > 1 and sum(map(str.isupper, token.text)) > 1 and short in initials:
        return True
    return any(_is_abbreviation(*sorted((short, other.lower), key=len)) for other in only)


def _is_abbreviation(short: str, long: str) -> bool:
    """Return whether the letters of a short word are in a longer one, in order, from the first."""
    if not 1 < len(short) <= 5 or len(long) < len(short) + 2 or short[0] != long[0]:
        return False
    letters = iter(long)
    return all(letter in letters for letter in short)


def _same_word(one: str, two: str, lexicon: Lexicon) -> bool:
    """Return whether two different words are forms or spellings of one, or mean the same."""
    if lexicon.same and lexicon.same.get(one, 0) == lexicon.same.get(two, -1):
        return True
    if one in lexicon.units and lexicon.units[one] == lexicon.units.get(two):
        return True
    short, long = sorted((one, two), key=len)
    if len(short) < 3:
        return False
    if long.startswith(short[: max(3, len(short) - 2)]) and len(long) - len(short) <= 4:
        return True
    return SequenceMatcher(None, one, two, autojunk=False).ratio() >= _SPELLED_ALIKE


def _slot(
    segments: Sequence[Segment],
    one: Sequence[Token],
    two: Sequence[Token],
    language: str,
    is_sentence: bool,
) -> Iterator[Difference]:
    """Yield the slot in which texts differ that are equal but for it."""
    stop = _stop_words(language)
    sides = [
        tuple([t for t in side if t.lower not in stop] for side in segment) for segment in segments
    ]
    filled = [(x, y) for x, y in sides if x or y]
    if len(filled) != 1:
        return
    first, second = filled[0]
    if not (0 < len(first) <= _SLOT and 0 < len(second) <= _SLOT):
        return
    meaning = [sum(t.lower not in stop for t in side) for side in (one, two)]
    is_bare = bool(stop) and meaning == [len(one), len(two)]
    is_phrase = is_bare and not is_sentence and max(meaning) <= _PHRASE
    least = 1.0 if is_phrase else max(2, _FRAME * max(meaning))
    if min(meaning[0] - len(first), meaning[1] - len(second)) < least:
        return
    left, right = ("".join(token.lower for token in side) for side in (first, second))
    if left in right or right in left or _same_word(left, right, lexicon_of(language)):
        return
    if not stop or _decides(segments, one, two, first, second, stop):
        yield _item(DifferenceType.REPLACED, first, second)


def _decides(
    segments: Sequence[Segment],
    one: Sequence[Token],
    two: Sequence[Token],
    first: Sequence[Token],
    second: Sequence[Token],
    stop: frozenset[str],
) -> bool:
    """Return whether a slot says which of several things is meant, as *storm water* does.

    It stands before the word that it describes, after a word without meaning; or it ends the text
    after a preposition. Verbs and nouns elsewhere are often synonyms.
    """
    places = [
        (side.index(filling[0]), side.index(filling[-1]))
        for side, filling in ((one, first), (two, second))
    ]
    before = [
        side[at - 1].lower if at else "" for side, (at, _) in zip((one, two), places, strict=True)
    ]
    after = [
        side[at + 1] if at + 1 < len(side) else None
        for side, (_, at) in zip((one, two), places, strict=True)
    ]
    if any(word and word not in stop for word in before):
        return False
    if after[0] is None or after[1] is None:
        return after[0] is after[1] and set(before) <= _PREPOSITIONS
    return after[0].key == after[1].key and after[0].lower not in stop


def _order(
    one: Sequence[Token], two: Sequence[Token], keys: tuple[list[str], list[str]], language: str
) -> Iterator[Difference]:
    """Yield words that swapped places, where texts have the same words of meaning."""
    stop = _stop_words(language)
    sides = [[t for t in side if t.lower not in stop] for side in (one, two)]
    if len(one) != len(two) or sorted(keys[0]) != sorted(keys[1]):
        return
    if len(one) > 2 and any(keys[0][at:] + keys[0][:at] == keys[1] for at in range(len(one))):
        return  # An adverb or a phrase moved from one end to the other.
    names = [[t.key for t in side] for side in sides]
    if names[0] == names[1] or sorted(names[0]) != sorted(names[1]) or len(names[0]) < 2:
        return
    if len({bool(_BY & {t.lower for t in side}) for side in (one, two)}) > 1:
        return  # A passive in one of them turns who acts.
    matcher = SequenceMatcher(None, names[0], names[1], autojunk=False)
    moved = [code[1:3] for code in matcher.get_opcodes() if code[0] in ("delete", "replace")]
    count = sum(end - start for start, end in moved)
    gone = {names[0][place] for start, end in moved for place in range(start, end)}
    # One short run that moved is an adverb or a phrase; two words that changed places are not.
    if len(moved) < 2 and count * 2 < len(names[0]):
        return
    if len(gone) < 2 and len(names[0]) > 3:
        return
    turned = [n for n, (x, y) in enumerate(zip(*names, strict=True)) if x != y]
    yield _item(DifferenceType.ORDER, *([side[n] for n in turned] for side in sides))


def _clauses(segments: Sequence[Segment], language: str) -> Iterator[Difference]:
    """Yield longer runs that only one text has."""
    stop = _stop_words(language)
    for first, second in segments:
        for kind, side, other in (
            (DifferenceType.LEFT_OUT, first, second),
            (DifferenceType.ADDED, second, first),
        ):
            meaning = [token for token in side if token.lower not in stop]
            if len(meaning) >= _CLAUSE and not any(t.lower not in stop for t in other):
                pair = (meaning, []) if kind is DifferenceType.LEFT_OUT else ([], meaning)
                yield _item(kind, *pair)


def _stop_words(language: str) -> frozenset[str]:
    return ENGLISH_STOP_WORDS if language == "en" else frozenset()
