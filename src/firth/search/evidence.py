"""Evidence for a match: the words that two texts share, and what differs between them.

Vectors hardly see a number, a negation, a name or an opposite. Two similar texts that differ in one
of these, on both sides, say different things: they are *related*, and no duplicates.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache

from firth.text.marks import Mark, marks_of, numbers_in
from firth.text.near import Kind, are_near
from firth.text.stems import ENGLISH_STOP_WORDS
from firth.text.words import normal_form, stemmer_of, stems

_CLAUSE = 5
"""Words of meaning in a row that only one text has are an added clause."""
_OPPOSITES = """
accept:reject,refuse above:below add:remove,subtract after:before agree:disagree,refuse
allow:forbid,prohibit,deny,ban always:never approve:reject ascend:descend attack:defend
best:worst better:worse black:white boy:girl buy:sell cheap:expensive close:open cold:hot,warm
confirm:deny create:destroy day:night decrease:increase,rise,grow,gain defeat:victory
deflation:inflation disable:enable down:up dry:wet early:late east:west empty:full
encourage:discourage enter:leave,exit exclude:include export:import external:internal
fail:succeed,pass failure:success fall:rise,increase,climb,grow false:true fast:slow father:mother
fell:rose,climbed,grew female:male few:many,most first:last gain:lose,loss,fall guilty:innocent
happy:sad heavy:light high:low higher:lower husband:wife illegal:legal improve:worsen,deteriorate
indoors:outdoors inner:outer inside:outside large:small larger:smaller least:most left:right
less:more long:short longer:shorter loss:profit lost:won,gained love:hate man:woman men:women
maximum:minimum negative:positive north:south northern:southern eastern:western old:new,young
oppose:support over:under poor:rich public:private raise:lower,cut reduce:increase,raise
remember:forget safe:dangerous,unsafe send:receive shrink:grow,expand start:stop,end,finish
strengthen:weaken strong:weak stronger:weaker thick:thin upper:lower visible:invisible
win:lose winner:loser with:without yes:no younger:older
"""


@dataclass(frozen=True)
class Evidence:
    """What speaks for and against a match of two texts.

    `shared` are words of meaning that both have, in the order of the first. `added` are runs of at
    least five that only the second has, and `left_out` those that only the first has.
    """

    shared: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    differ: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Read:
    """A text as it is compared."""

    words: tuple[str, ...]
    stems: Mapping[str, str]
    numbers: frozenset[str]
    negations: frozenset[str]
    names: frozenset[str]


class Reader:
    """Compares pairs of texts of a language (ISO 639-1); each text is read once.

    Numerals and negations are those of the language, as far as they are known. Opposites are
    English.
    """

    def __init__(self, language: str = "en") -> None:
        self._language, self._stemmer = language, stemmer_of(language)
        self._stop_words = ENGLISH_STOP_WORDS if language == "en" else frozenset[str]()
        self._read = lru_cache(1 << 16)(self._read_text)

    def _read_text(self, text: str) -> _Read:
        words, marks = tuple(normal_form(text).split()), marks_of(text, self._language)
        named = {mark: {w for w, m in marks.items() if m is mark} for mark in Mark}
        return _Read(
            words,
            dict(zip(stems(words, self._stemmer), words, strict=True)),
            numbers_in(text, self._language),
            frozenset(named[Mark.NEGATION]),
            frozenset(named[Mark.NAME]),
        )

    def compare(self, a: str, b: str) -> Evidence:
        """Return what two texts share and differ in.

        Example:
            >>> Reader().compare("Exports will improve soon.", "Exports will worsen soon.").shared
            ('exports', 'soon')
        """
        sides = [
            [word for word in self._read(text).words if word not in self._stop_words]
            for text in (a, b)
        ]
        roots = [stems(side, self._stemmer) for side in sides]
        both = set(roots[0]) & set(roots[1])
        shared = dict.fromkeys(w for w, s in zip(sides[0], roots[0], strict=True) if s in both)
        runs: tuple[list[str], list[str]] = ([], [])
        for name, *ends in SequenceMatcher(None, roots[0], roots[1], autojunk=False).get_opcodes():
            for side, (start, end) in enumerate((ends[:2], ends[2:])):
                fresh = both.isdisjoint(roots[side][start:end])
                if name != "equal" and end - start >= _CLAUSE and fresh:
                    runs[side].append(" ".join(sides[side][start:end]))
        return Evidence(tuple(shared), tuple(runs[1]), tuple(runs[0]), self.differing(a, b))

    def differing(self, a: str, b: str) -> tuple[str, ...]:
        """Return what two texts differ in that matters, though vectors hardly see it.

        These are numbers, negation, names, opposites, and the order of the same words. A number or
        a name that only one text has does not contradict the other.

        Example:
            >>> Reader().differing("Ten ships sailed.", "Not one of 12 ships sailed.")
            ('numbers (10, 12)', 'negation (not)')
        """
        one, two = self._read(a), self._read(b)
        differing = []
        numbers = one.numbers - two.numbers, two.numbers - one.numbers
        if all(numbers):
            differing.append(_named("numbers", *numbers))
        if bool(one.negations) != bool(two.negations):
            differing.append(_named("negation", one.negations, two.negations))
        names = self._without(one.names, two), self._without(two.names, one)
        if all(names):
            differing.append(_named("names", *names))
        only = one.stems.keys() - two.stems.keys(), two.stems.keys() - one.stems.keys()
        for stem in sorted(only[0] & _opposites().keys()) if self._language == "en" else ():
            if met := _opposites()[stem] & only[1]:
                words = frozenset(two.stems[other] for other in met)
                differing.append(_named("opposites", frozenset((one.stems[stem],)), words))
        if one.names and one.words != two.words and sorted(one.words) == sorted(two.words):
            differing.append("the order of the words")
        return tuple(differing)

    def _without(self, names: frozenset[str], other: _Read) -> frozenset[str]:
        """Return the names whose stems another text lacks."""
        some = sorted(names)
        pairs = zip(some, stems(some, self._stemmer), strict=True)
        return frozenset(name for name, stem in pairs if stem not in other.stems)

    def kind(self, a: str, b: str) -> Kind:
        """Return how near two similar texts are, by their words and what differs.

        Example:
            >>> Reader().kind("The ship sailed.", "the ship sailed").value
            'exact'
            >>> Reader().kind("Three ships sailed to Bath.", "Five ships sailed to Bath.").value
            'related'
        """
        one, two = self._read(a).words, self._read(b).words
        if one == two:
            return Kind.EXACT
        if self.differing(a, b):
            return Kind.RELATED
        return Kind.NEAR if are_near(one, two) else Kind.SIMILAR


def _named(what: str, one: frozenset[str], two: frozenset[str]) -> str:
    return f"{what} ({', '.join([*sorted(one), *sorted(two)])})"


@cache
def _opposites() -> Mapping[str, frozenset[str]]:
    """Return stem → stems of its opposites, in both directions."""
    table: dict[str, set[str]] = {}
    for line in _OPPOSITES.split():
        word, _, others = line.partition(":")
        (stem, *against) = stems([word, *others.split(",")], "porter")
        for other in against:
            table.setdefault(stem, set()).add(other)
            table.setdefault(other, set()).add(stem)
    return {stem: frozenset(others) for stem, others in table.items()}
