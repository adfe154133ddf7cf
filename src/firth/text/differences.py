"""What two texts differ in that matters, though they share most of their words.

Vectors hardly see a number, a negation, a name, an opposite, or who did what to whom. Texts are
aligned word by word, and each difference becomes an item with its words in both texts and a
strength. What only one text adds is listed, too, but contradicts nothing.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum
from html import escape
from itertools import islice
from typing import Any, ClassVar, Protocol
from unicodedata import normalize

from firth.run.errors import InputError
from firth.run.results import Record, Results
from firth.text.lexicon import Lexicon, codes, guessed_language, lexicon_of
from firth.text.order import Pairs, differing_runs, disorder, shared
from firth.text.tokens import Token, Words
from firth.text.words import SEVERAL, checked_text, language_among

LEAST = 0.5
"""Strength from which a difference matters by default."""
_STRENGTHS = {
    "number": 0.95, "date": 0.95, "negation": 0.9, "opposite": 0.85, "name": 0.75,
    "replaced word": 0.6, "limit": 0.55, "order": 1.0,
}  # fmt: skip
"""Strength of a difference in texts that share all other words."""
_WEAK = 0.4
"""Strength of a slot that may as well have two words of one meaning."""
_COMMON = 0.8
"""Share of the other words of meaning that texts have in common, from which a difference has its
whole strength."""
_CLAUSE = 5
"""Words of meaning in a row that only one text has, from which they are an added clause."""
_FEW = 2
"""Words of a run in which two function words stand for one another, at most."""
_NAMES = 3
"""Words of a run in which two names stand for one another, at most."""
_PHRASE = 3
"""Words of a text without function words that is a name of a thing, at most."""
_REWRITTEN = 5
"""Words of a run from which a negation in it may be said in other words by the other text."""
_NEXT = 20
"""Characters after a negation that tell whether it is part of an idiom."""
_NEAR = 5
"""Words between a negation and the word that it flips, at most."""
_OTHER, _SAME = 0.3, 0.7
"""Cosines of two words below which they differ, and from which they say the same."""
_SENTENCE_ENDS = (".", "!", "?", "\u2026", "\u3002")
"""What a bare phrase does not end with."""
_SPELLED_ALIKE = 0.75
_BEGINNING = 4
"""Letters that forms of one name share, at least."""
_SHORT = 3
"""Letters of a word that has no negated form."""
_LONG_WORD, _MANY = 30, 50
"""Letters of a word, and words of a text, whose spelling is compared, at most."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz_-"


class DifferenceType(StrEnum):
    """What a difference is in."""

    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    NEGATION = "negation"
    OPPOSITE = "opposite"
    LIMIT = "limit"
    REPLACED = "replaced word"
    ORDER = "order"
    ADDED = "added"
    LEFT_OUT = "left out"


class TextEncoder(Protocol):
    """Anything that gives a vector for each text."""

    def encode(self, texts: Sequence[str]) -> Any:
        """Return n vectors, (n, d)."""


@dataclass(frozen=True, kw_only=True)
class Difference(Record):
    """One difference between two texts.

    Attributes:
        kind: What it is in.
        a, b: Words of it in each text; "" where a text has none.
        spans_a, spans_b: First character of each word or run, and the one past its last.
        strength: How sure it is that the texts say different things, in [0, 1]; 0 for what one text
            adds.
    """

    derived: ClassVar = ("matters",)
    kind: DifferenceType
    a: str
    b: str
    spans_a: tuple[tuple[int, int], ...] = ()
    spans_b: tuple[tuple[int, int], ...] = ()
    strength: float = 0.0

    @property
    def matters(self) -> bool:
        """Whether it contradicts; what only one text adds does not."""
        return self.strength > 0

    def __str__(self) -> str:
        """Return the kind and the words, such as `date: 15th / 16th`."""
        return f"{self.kind}: {self.a or '–'} / {self.b or '–'}"  # noqa: RUF001


@dataclass(frozen=True, repr=False)
class Differences(Results[Difference]):
    """The differences of two texts, the strongest first; true where any of them matters."""

    derived: ClassVar = ("differ", "strength", "verdict", "summary")
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
    def strength(self) -> float:
        """The strength of the strongest difference, in [0, 1]; 0 without any."""
        return max((item.strength for item in self.items), default=0.0)

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

    def html(self, top: int | None = None) -> str:
        """Return both texts with their differences marked."""
        sides = (
            marked(self.a, [span for item in self.mattering for span in item.spans_a]),
            marked(self.b, [span for item in self.mattering for span in item.spans_b]),
        )
        return f"<p>{escape(self.summary())}</p>" + "".join(f"<p>{side}</p>" for side in sides)


def differences(
    a: str,
    b: str,
    *,
    language: str | None = None,
    encoder: TextEncoder | None = None,
    least: float = LEAST,
    pairs: Mapping[str, Collection[str]] | None = None,
) -> Differences:
    """Return what two texts differ in, by their words.

    Numbers, dates, names, negations, opposites, the filling of one slot, and the order of who did
    what matter. What only one text adds or leaves out is listed, and does not contradict.

    Args:
        a: A text.
        b: Another text.
        language: ISO 639-1 code, or several such as `de+fr`, of which the texts' is taken. By
            default it is the language whose function words the texts have.
        encoder: Has `encode(texts)`, which gives vectors. Where two texts differ in one word, the
            cosine of both words says whether they mean the same.
        least: Strength in [0, 1] from which a difference is listed. Less finds more, and more that
            is none.
        pairs: Lower-case word → words that say something else, such as those of a list without
            duplicates.

    Raises:
        InputError: What came is no text, `least` is no share, or the language is unknown.

    Example:
        >>> found = differences("The deadline is October 15th.", "The deadline is October 16th.")
        >>> bool(found), str(found[0])
        (True, 'number: 15th / 16th')
        >>> bool(differences("He waited 30 days.", "He waited thirty days."))
        False
    """
    checked_text(a, "a")
    checked_text(b, "b")
    if isinstance(encoder, str):
        raise InputError(f"encoder = {encoder!r:.80}: expected an object with encode, no name")
    if not 0 <= least <= 1:
        raise InputError(f"least = {least!r:.80}: expected a number from 0 to 1")
    if language is None:
        language = guessed_language(f"{a}\n{b}")
    elif not all(code in codes() or len(code) == 3 for code in language.split(SEVERAL)):
        raise InputError(f"language = {language!r:.80}: expected an ISO 639-1 code, such as de")
    else:
        language = language_among(f"{a}\n{b}", language)
    texts = Words(a, language), Words(b, language)
    if texts[0].keys == texts[1].keys:
        return Differences(a, b, language)
    comparison = _Comparison(*texts, lexicon_of(language), encoder, pairs or {})
    items = [item for item in comparison.items() if not item.matters or item.strength >= least]
    items.sort(key=lambda item: -item.strength)
    return Differences(a, b, language, items=tuple(items))


def marked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text as HTML with parts of it marked; spans may touch and overlap."""
    pieces, at = [], 0
    for start, end in sorted(set(spans)):
        if start >= at:
            pieces += [escape(text[at:start]), f"<mark>{escape(text[start:end])}</mark>"]
            at = end
    return "".join([*pieces, escape(text[at:])])


# --- Items -------------------------------------------------------------------------------------


Tokens = Sequence[Token]


class _Comparison:
    """Two texts, their words that the other has not, and the runs in which they differ."""

    def __init__(
        self,
        a: Words,
        b: Words,
        lexicon: Lexicon,
        encoder: TextEncoder | None,
        pairs: Mapping[str, Collection[str]],
    ) -> None:
        self.a, self.b, self.lexicon, self.encoder, self.pairs = a, b, lexicon, encoder, pairs
        by_key = shared(a.keys, b.keys)
        paired_a, paired_b = {i for i, _ in by_key}, {j for _, j in by_key}
        only_a = {n: a.placed(n) for n in range(len(a.keys)) if n not in paired_a}
        only_b = {n: b.placed(n) for n in range(len(b.keys)) if n not in paired_b}
        self.only_a, self.only_b = [*only_a.values()], [*only_b.values()]
        self.places: Pairs = shared([a.keys[n] for n in a.content], [b.keys[n] for n in b.content])
        anchors = [(a.content[i], b.content[j]) for i, j in self.places] or by_key
        self.runs = differing_runs(a.keys, b.keys, anchors)
        sides = [
            (
                [only_a[place] for place in range(i, j) if place in only_a],
                [only_b[place] for place in range(k, n) if place in only_b],
            )
            for i, j, k, n in self.runs
        ]
        self.sides: list[tuple[Tokens, Tokens]] = [side for side in sides if all(side)]

    def items(self) -> Iterator[Difference]:
        """Yield all differences, weak ones too."""
        values = [*self._values("number"), *self._values("date")]
        items = [*values, *self._polarity(), *self._names(), *self._kinds()]
        yield from items
        if not items:
            yield from self._limits()
            yield from self._slot()
            yield from self._order()
        yield from self._clauses()

    def item(
        self, kind: DifferenceType, a: Tokens, b: Tokens, strength: float | None = None
    ) -> Difference:
        """Return a difference; it is weaker where texts share few of their other words."""
        if strength is None:
            strength = _STRENGTHS[kind]
        size = len(self.a.content) + len(self.b.content)
        rest = size - len([token for token in (*a, *b) if token.means])
        common = 2 * len(self.places) / rest if rest > 0 else 1.0
        return Difference(
            kind=kind,
            a=" ".join([token.text for token in a]),
            b=" ".join([token.text for token in b]),
            spans_a=tuple([token[-2:] for token in a]),
            spans_b=tuple([token[-2:] for token in b]),
            strength=round(strength * min(1.0, common / _COMMON), 3),
        )

    def _values(self, kind: str) -> Iterator[Difference]:
        """Yield numbers, or days and months, of one text that the other has not."""
        calendar = self.lexicon.calendar if kind == "date" else {}
        a = [token for token in self.only_a if token.kind == kind or token.lower in calendar]
        b = [token for token in self.only_b if token.kind == kind or token.lower in calendar]
        for token in a[:_MANY]:
            same = next((other for other in b[:_MANY] if self._same_value(token, other)), None)
            if same is not None:
                a, b = [t for t in a if t is not token], [t for t in b if t is not same]
        if kind == "date" and self.lexicon.is_joined:
            a, b = self._days(self.a, self.b), self._days(self.b, self.a)
        if a and b:
            yield self.item(DifferenceType(kind), a, b)

    def _days(self, words: Words, other: Words) -> list[Token]:
        """Return the names of days that stand inside the words of one text alone."""
        return [
            Token(key, name, name, "date", start=at, end=at + len(name))
            for name, key in self.lexicon.calendar.items()
            if (at := words.text.find(name)) >= 0 and name not in other.text
        ]

    def _same_value(self, a: Token, b: Token) -> bool:
        """Return whether values say the same though they are written apart: *seven*, *7am*."""
        if a.kind != "number" or b.kind != "number":
            calendar = self.lexicon.calendar
            return calendar.get(a.lower, a.lower) == calendar.get(b.lower, b.lower)
        if a.lower == b.lower:
            return not (a.has_unit and b.has_unit)
        short, long = sorted((a.lower, b.lower), key=len)
        return long.removeprefix(short).isalpha() or long.lstrip(_LETTERS) == short

    # --- Polarity: a word is on a scale, a negation flips it, and twice is none ---

    def _polarity(self) -> Iterator[Difference]:
        """Yield opposites, and negations that flip none of them."""
        flips_a = self._flips(self.only_a, self.only_b, self.a)
        flips_b = self._flips(self.only_b, self.only_a, self.b)
        for a, b in islice(self._opposites(), _MANY):
            flips_a = [token for token in flips_a if token is not a]
            flips_b = [token for token in flips_b if token is not b]
            flip = _near(flips_a, a, self.a) or _near(flips_b, b, self.b)
            if flip is None:
                yield self.item(DifferenceType.OPPOSITE, [a], [b])
            flips_a = [token for token in flips_a if token is not flip]
            flips_b = [token for token in flips_b if token is not flip]
        if len(flips_a) % 2 != len(flips_b) % 2:
            item = self.item(DifferenceType.NEGATION, flips_a, flips_b)
            starts = {token.start for token in (*flips_a, *flips_b)}
            sizes = (
                max(j - i, n - k)
                for i, j, k, n in self.runs
                if any(at in starts for at, _ in (*self.a.spans[i:j], *self.b.spans[k:n]))
            )
            size = min(sizes, default=0)
            yield item if size <= _REWRITTEN else replace(item, strength=item.strength / 2)

    def _flips(self, tokens: Tokens, other_tokens: Tokens, words: Words) -> list[Token]:
        """Return what negates in one text alone: words, and what stands inside words."""
        lexicon = self.lexicon
        flips: list[Token] = []
        if lexicon.negation_pattern is not None:
            flips = [
                Token("", match[0], match[0].lower(), "word", start=match.start(), end=match.end())
                for match in lexicon.negation_pattern.finditer(words.text)
            ]
        inside = [(flip.start, flip.end) for flip in flips]
        for token in tokens:
            negates = token.lower in lexicon.negations
            if token.kind != "word" or not (negates or token.key in lexicon.denials):
                continue
            if any(start <= token.start < end for start, end in inside):
                continue
            after = lexicon.idioms.get(token.lower)
            beside = words.text[token.end : token.end + _NEXT].split()[:1] if after else []
            if after and beside and (beside[0] in after or beside[0].isdecimal()):  # No 7
                continue
            if negates or not any(
                self._same_word(token.lower, o.lower) for o in other_tokens[:_MANY]
            ):
                flips.append(token)
        return flips

    def _opposites(self) -> Iterator[tuple[Token, Token]]:
        """Yield opposites in the same place: of the list, or one negates the other by its form."""
        if self.lexicon.is_joined:
            yield from self._inside()
            return
        opposites = self.lexicon.opposites
        for token, other in self._facing():
            if other.key in opposites.get(token.key, ()) or _negates(token, other, self.lexicon):
                yield token, other

    def _facing(self) -> Iterator[tuple[Token, Token]]:
        """Yield words that stand where the other text has others.

        Words without meaning of their own, such as *in* and *out*, stand there alone.
        """
        for side_a, side_b in self.sides:
            is_short = max(len(side_a), len(side_b)) <= _FEW
            for token in side_a:
                for other in side_b[:_MANY]:
                    if is_short or (token.means and other.means):
                        yield token, other

    def _inside(self) -> Iterator[tuple[Token, Token]]:
        """Yield opposites that are parts of longer words, or of texts without spaces."""
        for a, b in self.sides:
            joined = "".join(token.lower for token in a), "".join(token.lower for token in b)
            for word, opposites in self.lexicon.opposites.items():
                if not _has_part(joined[0], word):
                    continue
                for other in sorted(opposites):
                    if _has_part(joined[1], other):
                        yield _joined(a, word), _joined(b, other)
                        return

    def _names(self) -> Iterator[Difference]:
        """Yield names that stand where the other text has another one."""
        for side_a, side_b in self.sides:
            if max(len(side_a), len(side_b)) > _NAMES:
                continue
            a = [t for t in side_a if t.is_name and not self._is_named(t, side_b, self.only_b)]
            b = [t for t in side_b if t.is_name and not self._is_named(t, side_a, self.only_a)]
            if a and b and {token.kind for token in (*a, *b)} != {"number"}:
                yield self.item(DifferenceType.NAME, a, b)

    def _is_named(self, token: Token, run: Tokens, other_tokens: Tokens) -> bool:
        """Return whether the other text has a form, an abbreviation or a spelling of a name."""
        name = token.lower
        if any(self._same_name(name, other.lower) for other in other_tokens[:_MANY]):
            return True
        initials = "".join(other.lower[:1] for other in run)
        return len(name) > 1 and name in initials

    def _same_name(self, a: str, b: str) -> bool:
        short, long = sorted((a, b), key=len)
        return (
            self._same_meaning(a, b)
            or (len(short) != 2 and long.startswith(short[:_BEGINNING]))
            or (len(short) > 5 and _ratio(a, b) >= _SPELLED_ALIKE)
            or _without_accents(a) == _without_accents(b)
            or _is_abbreviation(short, long)
        )

    def _same_meaning(self, a: str, b: str) -> bool:
        same, units = self.lexicon.same, self.lexicon.units
        if same.get(a, frozenset()) & same.get(b, frozenset()):
            return True
        return a in units and units[a] == units.get(b)

    def _kinds(self) -> Iterator[Difference]:
        """Yield two things of one kind in the same place, and pairs that the caller names."""
        kinds, pairs, none = self.lexicon.kinds, self.pairs, frozenset[int]()
        for a, b in self._facing():
            if b.lower in pairs.get(a.lower, ()) or a.lower in pairs.get(b.lower, ()):
                yield self.item(DifferenceType.REPLACED, [a], [b], 1.0)
                continue
            is_kind = kinds.get(a.key, none) & kinds.get(b.key, none)
            if is_kind and not self._same_word(a.lower, b.lower):
                yield self.item(DifferenceType.REPLACED, [a], [b], 0.85)

    def _limits(self) -> Iterator[Difference]:
        """Yield what limits one text alone, such as *only* without *not*."""

        def limits(tokens: Tokens, words: Words) -> list[Token]:
            listed = [token for token in tokens if token.lower in self.lexicon.limits]
            spans = words.spans[1:] if listed else []
            before = {at: t.lower for t, (at, _) in zip(words.tokens, spans, strict=False)}
            return [t for t in listed if before.get(t.start) not in self.lexicon.negations]

        a, b = limits(self.only_a, self.a), limits(self.only_b, self.b)
        if bool(a) != bool(b):
            yield self.item(DifferenceType.LIMIT, a, b)

    # --- One slot ---

    def _slot(self) -> Iterator[Difference]:
        """Yield the slot in which texts differ that are equal but for it."""
        filled = [sides for sides in self._content() if any(sides)]
        if [[*map(len, sides)] for sides in filled] != [[1, 1]] or not self.lexicon.stop:
            return
        (at,), (other,) = filled[0]
        a, b = self.a.placed(at), self.b.placed(other)
        before, after = self._beside(at, other)
        sizes = len(self.a.content), len(self.b.content)
        is_bare = sizes == (len(self.a.tokens), len(self.b.tokens)) or self._are_bound(before)
        is_sentence = any(t.text.rstrip().endswith(_SENTENCE_ENDS) for t in (self.a, self.b))
        is_phrase = is_bare and not is_sentence and max(sizes) <= _PHRASE
        if min(sizes) < (2 if is_phrase else 3) or self._same_word(a.lower, b.lower):
            return
        strength = _STRENGTHS["replaced word"] if self._decides(before, after) else _WEAK
        if self.encoder is not None:
            from firth.text.types import CosineScorer

            (cosine,) = CosineScorer("", self.encoder.encode).similarities([(a.text, b.text)])
            if cosine >= _SAME:
                return
            strength = _STRENGTHS["opposite"] if cosine < _OTHER else strength
        yield self.item(DifferenceType.REPLACED, [a], [b], strength)

    def _same_word(self, a: str, b: str) -> bool:
        """Return whether two different words are forms or spellings of one, or mean the same."""
        short, long = sorted((a, b), key=len)
        if self._same_meaning(a, b):
            return True
        if len(short) < 3:
            return False
        if long.startswith(short[: max(3, len(short) - 2)]) and len(long) - len(short) <= 4:
            return True
        return _ratio(a, b) >= _SPELLED_ALIKE

    def _beside(self, at: int, other: int) -> tuple[list[Token | None], list[Token | None]]:
        """Return the tokens before a place in each text, and after."""
        texts = (self.a.tokens, at), (self.b.tokens, other)
        return (
            [tokens[n - 1] if n else None for tokens, n in texts],
            [tokens[n + 1] if n + 1 < len(tokens) else None for tokens, n in texts],
        )

    def _are_bound(self, before: Sequence[Token | None]) -> bool:
        return {token.lower if token else "" for token in before} <= self.lexicon.prepositions

    def _decides(self, before: Sequence[Token | None], after: Sequence[Token | None]) -> bool:
        """Return whether a slot says which of several things is meant, as *storm water* does.

        It stands before the word that it describes, after a determiner or preposition; or it ends
        the text after a preposition. Verbs and nouns elsewhere are often synonyms.
        """
        lexicon = self.lexicon
        if not lexicon.determiners:
            return False
        if after[0] is None or after[1] is None:
            return after[0] is after[1] and (self._are_bound(before) or before == [None, None])
        opens = all(
            token is None or token.lower in lexicon.determiners | lexicon.prepositions
            for token in before
        )
        return opens and after[0].key == after[1].key and after[0].means

    # --- Order, and what one text adds ---

    def _order(self) -> Iterator[Difference]:
        """Yield words that stand in another order, and how far."""
        score, turned = disorder(self.a, self.b, self.places, self.lexicon)
        if score > 0:
            a = [self.a.placed(self.a.content[i]) for i, _ in turned]
            b = [self.b.placed(j) for j in sorted(self.b.content[j] for _, j in turned)]
            yield replace(self.item(DifferenceType.ORDER, a, b, 0.0), strength=round(score, 3))

    def _clauses(self) -> Iterator[Difference]:
        """Yield longer runs that only one text has."""
        for a, b in self._content():
            if len(a) >= _CLAUSE and not b:
                yield self.item(DifferenceType.LEFT_OUT, [*map(self.a.placed, a)], [], 0.0)
            if len(b) >= _CLAUSE and not a:
                yield self.item(DifferenceType.ADDED, [], [*map(self.b.placed, b)], 0.0)

    def _content(self) -> Iterator[tuple[list[int], list[int]]]:
        """Yield the places of words of meaning of each run."""
        a, b = self.a.tokens, self.b.tokens
        for i, j, k, n in self.runs:
            yield [p for p in range(i, j) if a[p].means], [p for p in range(k, n) if b[p].means]


def _near(flips: Tokens, word: Token, words: Words) -> Token | None:
    """Return the negation next to a word, before it rather than after it."""
    at = {start: n for n, (start, _) in enumerate(words.spans)}
    place = at.get(word.start, 0)
    near = [flip for flip in flips if abs(at.get(flip.start, -99) - place) <= _NEAR]
    return min(near, key=lambda flip: abs(at[flip.start] - place), default=None)


def _joined(tokens: Tokens, part: str) -> Token:
    """Return the tokens that have a part of a word, as one."""
    having = [token for token in tokens if token.lower in part or part in token.lower] or tokens
    first = having[0]
    text = "".join(token.text for token in having)
    return first._replace(text=text, lower=part, end=having[-1].end)


def _has_part(joined: str, part: str) -> bool:
    """Return whether a part is in joined words; a single letter is at least half of them."""
    return part in joined and (len(part) > 1 or (joined.startswith(part) and len(joined) <= 2))


def _negates(token: Token, other: Token, lexicon: Lexicon) -> bool:
    """Return whether one word negates the other by its form: *unfit* and *fit*."""
    if token.kind != "word" or other.kind != "word":
        return False
    short, long = token.lower, other.lower
    if len(short) > len(long):
        short, long = long, short
    if len(short) > _SHORT and long.endswith(short):
        return long.removesuffix(short) in lexicon.prefixes
    return any(
        a.endswith(without) and b in (root := a.removesuffix(without), root + full)
        for without, full in lexicon.suffixes
        for a, b in ((short, long), (long, short))
    )


def _is_abbreviation(short: str, long: str) -> bool:
    """Return whether the letters of a short word are in a longer one, in order, from the first."""
    if not 1 < len(short) <= 5 or len(long) < len(short) + 2 or short[0] != long[0]:
        return False
    letters = iter(long[:_LONG_WORD])
    return all(letter in letters for letter in short)


def _without_accents(word: str) -> str:
    return word if word.isascii() else normalize("NFD", word).encode("ascii", "ignore").decode()


def _ratio(a: str, b: str) -> float:
    """Return the share of letters that two words have in the same order; 0 for long ones."""
    if max(len(a), len(b)) > _LONG_WORD:
        return 0.0
    return SequenceMatcher(None, a, b, autojunk=False).ratio()
