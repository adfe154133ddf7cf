"""Which word of one text meets which of another, and which meets none."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from firth.lexical.arrays import Floats
from firth.lexical.marks import NEGATIONS, Mark, marks_of
from firth.lexical.spelling import alike
from firth.lexical.stop_words import is_letter, stop_words
from firth.lexical.word_space import WordSpace
from firth.lexical.words import as_written, stems
from firth.origin.evidence import Knowledge, Meeting, Word

SHOWN_MEETINGS = 10
MEET = 0.25
"""How far two words must match to be told of as counterparts: of words on STSb dev, *ship ~ boat*,
*girl ~ woman* and *wound ~ kill* stand above, *state ~ stalemate* and *raven ~ travel* below."""
_ONE_NAME = 0.5
"""How far the spelling of two names must agree to be taken for one: *Israel*, *Israeli*."""


@dataclass(frozen=True)
class Wording:
    """What words tell of a pair; attributes as of `Reasons`."""

    meetings: tuple[Meeting, ...]
    words1: tuple[Word, ...]
    words2: tuple[Word, ...]
    knowledge: Knowledge


@dataclass(frozen=True)
class _Read:
    """A stem of a text, and its word."""

    stem: str
    text: str
    known: bool
    empty: bool
    mark: Mark | None

    @property
    def told(self) -> bool:
        return self.known and not self.empty


class WordReader:
    """Reads texts with what a corpus knows of words.

    Args:
        space: Which words the corpus has, and how rare they are.
        names: Words that are names also where a sentence begins with them.
    """

    def __init__(self, space: WordSpace, names: frozenset[str] = frozenset()) -> None:
        self._space, self._empty, self._names = space, stop_words(space.idf), names
        self._read = lru_cache(1 << 12)(self._read_text)

    def wording(
        self,
        one: str,
        two: str,
        matches: Floats,
        added: Floats | None,
        hangs: "Hangs",
        less: float = 0.0,
    ) -> Wording:
        """What words tell of a pair.

        Args:
            one: A text of n distinct stems.
            two: One of m.
            matches: How far they match, (n, m).
            added: What they add by themselves, (n, m); None where that is not told.
            hangs: What the score hangs on the words of each text, (n,) and (m,); or on nothing.
            less: What numbers that differ take away of the score.
        """
        first, second = self._read(one), self._read(two)
        telling = np.outer([not w.empty for w in first], [not w.empty for w in second])
        found = np.where(telling, matches, 0.0)
        for i, a in enumerate(first):
            for j, b in enumerate(second):
                if a.mark or b.mark:
                    found[i, j] = _match(a, b, float(found[i, j]))
        meets = found >= MEET
        # Each word is told of with those that it meets best, or that meet it best.
        best = meets & (
            (found == found.max(axis=1, initial=0, keepdims=True))
            | (found == found.max(axis=0, initial=0, keepdims=True))
        )
        size = np.abs(added) if added is not None else found
        places = sorted(zip(*np.nonzero(best), strict=True), key=lambda at: (-size[at], at))
        meetings = tuple(
            Meeting(
                first[i].text,
                second[j].text,
                float(found[i, j]),
                float(added[i, j]) if added is not None else 0.0,
            )
            for i, j in places[:SHOWN_MEETINGS]
        )
        knowledge = Knowledge.NONE
        if any(w.told for w in first) and any(w.told for w in second):
            knowledge = Knowledge.BOTH
        elif meets.any():
            knowledge = Knowledge.SPELLING
        met = [bool(row.any()) for row in meets], [bool(row.any()) for row in meets.T]
        if less and hangs[0] is not None:
            hangs = _without_numbers(hangs, (first, second), met, less)
        return Wording(
            meetings,
            _words(first, met[0], hangs[0]),
            _words(second, met[1], hangs[1]),
            knowledge,
        )

    def _read_text(self, text: str) -> tuple[_Read, ...]:
        stemmer, marks = self._space.bag.stemmer, marks_of(text, self._names)
        said = as_written(text)
        found: dict[str, _Read] = {}
        for word, stem in zip(said, stems([word.lower() for word in said], stemmer), strict=True):
            mark = marks.get(word.lower())
            known = stem in self._space.idf.frequencies
            empty = is_letter(stem) or (stem in self._empty and mark is None)
            # Of "didn't", `words` leaves two.
            whole = mark is not Mark.NEGATION or word.lower() in NEGATIONS
            read = _Read(stem, word if whole else f"{word}'t", known, empty, mark)
            found.setdefault(stem, read)
        return tuple(found[stem] for stem in self._space.stems(text))


Hangs = tuple[Floats, Floats] | tuple[None, None]


def halves(added: Floats) -> tuple[Floats, Floats]:
    """What (n, m) meetings add, by word of either text: half of each to both."""
    return added.sum(axis=1) / 2, added.sum(axis=0) / 2


def _without_numbers(
    hangs: tuple[Floats, Floats],
    read: tuple[tuple[_Read, ...], tuple[_Read, ...]],
    met: tuple[list[bool], list[bool]],
    less: float,
) -> tuple[Floats, Floats]:
    """What hangs on words, less what numbers take away: as much on each that the other lacks."""
    numbers = [np.array([word.mark is Mark.NUMBER for word in some]) for some in read]
    alone = [some & ~np.array(meets) for some, meets in zip(numbers, met, strict=True)]
    # Each may have its like, in "B5" and "C5" against "5", or stand for another form ("threes").
    every = [np.ones(len(some), bool) for some in read]
    guilty = next(some for some in (alone, numbers, every) if any(map(np.any, some)))
    each = less / sum(int(some.sum()) for some in guilty)
    one, two = (given - each * some for given, some in zip(hangs, guilty, strict=True))
    return one, two


def _match(one: _Read, two: _Read, match: float) -> float:
    """Names are one by their spelling, numbers if they are equal, and negations always."""
    if one.stem == two.stem:
        return 1.0
    if Mark.NEGATION in (one.mark, two.mark):
        return 1.0 if one.mark is two.mark else 0.0
    if Mark.NUMBER in (one.mark, two.mark):
        return 0.0
    spelled = float(alike([one.stem], [two.stem])[0, 0])
    return match if one.mark is not two.mark or spelled >= _ONE_NAME else 0.0


def _words(read: tuple[_Read, ...], met: list[bool], hangs: Floats | None) -> tuple[Word, ...]:
    amounts: list[float] | list[None] = [None] * len(read) if hangs is None else hangs.tolist()
    return tuple(
        Word(w.text, amount, w.known, w.empty, meets, w.mark)
        for w, meets, amount in zip(read, met, amounts, strict=True)
    )
