"""The words of a pair of texts: which match, which match nothing, and what each contributes."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from firth.encoders.words import WordSpace
from firth.scorer.explanation import Knowledge, Word, WordMatch
from firth.text.arrays import Floats
from firth.text.marks import NEGATIONS, Mark, marks_of
from firth.text.rarity import is_letter, stop_words
from firth.text.subwords import spelling_cosines
from firth.text.words import as_written, stems

MAX_MATCHES = 10
LEAST_MATCH = 0.25
"""Words that match less count as unmatched. Of words of STSb dev, *ship ~ boat*, *girl ~ woman* and
*wound ~ kill* match more, *state ~ stalemate* and *raven ~ travel* less."""
_ONE_NAME = 0.5
"""Spelling cosine from which two names are one: *Israel*, *Israeli*."""


@dataclass(frozen=True)
class Alignment:
    """The words of a pair; attributes as those of `Explanation`."""

    word_matches: tuple[WordMatch, ...]
    words1: tuple[Word, ...]
    words2: tuple[Word, ...]
    knowledge: Knowledge


@dataclass(frozen=True)
class _Read:
    """A stem of a text and the word that it stands for."""

    stem: str
    text: str
    known: bool
    stop_word: bool
    mark: Mark | None


class WordReader:
    """Aligns the words of texts for explanations.

    Args:
        space: Which words the corpus has.
        names: Lower-case words that are names also at the beginning of a sentence.
    """

    def __init__(self, space: WordSpace, names: frozenset[str] = frozenset()) -> None:
        self._space, self._names = space, names
        self._stop_words = stop_words(space.idf)
        self._read = lru_cache(1 << 12)(self._read_text)

    def align(
        self,
        text1: str,
        text2: str,
        matches: Floats,
        added: Floats,
        learned: Floats | None,
        penalty: float,
    ) -> Alignment:
        """Return the aligned words of a pair.

        Args:
            text1: A text of n distinct stems.
            text2: A text of m distinct stems.
            matches: Degree to which stems match, (n, m), in [0, 1].
            added: Amount that pairs of stems add to the score by themselves, (n, m).
            learned: Amount that contexts explain, for each pair of stems, (n, m); None where the
                model cannot be split by words.
            penalty: Amount that numbers that differ take from the score.
        """
        one, two = self._read(text1), self._read(text2)
        meaning = np.outer([not w.stop_word for w in one], [not w.stop_word for w in two])
        found = np.where(meaning, matches, 0.0)
        for i, a in enumerate(one):
            for j, b in enumerate(two):
                if a.mark or b.mark:
                    found[i, j] = _marked_match(a, b, float(found[i, j]))
        matched: Any = found >= LEAST_MATCH
        best = matched & (
            (found == found.max(axis=1, initial=0, keepdims=True))
            | (found == found.max(axis=0, initial=0, keepdims=True))
        )
        places = sorted(
            zip(*np.nonzero(best), strict=True), key=lambda at: (-abs(added[at]), -found[at], at)
        )
        word_matches = tuple(
            WordMatch(one[i].text, two[j].text, float(found[i, j]), float(added[i, j]))
            for i, j in places[:MAX_MATCHES]
        )
        knowledge = Knowledge.NONE
        if all(any(w.known and not w.stop_word for w in side) for side in (one, two)):
            knowledge = Knowledge.BOTH
        elif matched.any():
            knowledge = Knowledge.SPELLING
        met1, met2 = matched.any(axis=1).tolist(), matched.any(axis=0).tolist()
        halves: tuple[Floats, Floats] | None = None
        if learned is not None:
            every = added + learned
            halves = every.sum(axis=1) / 2, every.sum(axis=0) / 2
            if penalty:
                halves = _without_numbers(halves, (one, two), (met1, met2), penalty)
        amounts1, amounts2 = (None, None) if halves is None else halves
        return Alignment(
            word_matches, _words(one, met1, amounts1), _words(two, met2, amounts2), knowledge
        )

    def _read_text(self, text: str) -> tuple[_Read, ...]:
        marks, written = marks_of(text, self._names), as_written(text)
        stemmer = self._space.idf.stemmer
        if stemmer == "german":  # all nouns have capitals
            marks = {word: mark for word, mark in marks.items() if mark is not Mark.NAME}
        stemmed = stems([word.lower() for word in written], stemmer)
        reads: dict[str, _Read] = {}
        for word, stem in zip(written, stemmed, strict=True):
            mark = marks.get(word.lower())
            known = stem in self._space.idf.frequencies
            stop_word = is_letter(stem) or (stem in self._stop_words and mark is None)
            # `as_written` splits "didn't" into two words.
            whole = mark is not Mark.NEGATION or word.lower() in NEGATIONS
            reads.setdefault(
                stem, _Read(stem, word if whole else f"{word}'t", known, stop_word, mark)
            )
        return tuple(reads[stem] for stem in self._space.stems(text))


def _words(
    reads: tuple[_Read, ...], matched: list[bool], amounts: Floats | None
) -> tuple[Word, ...]:
    given = [None] * len(reads) if amounts is None else amounts.tolist()
    return tuple(
        Word(read.text, amount, read.known, read.stop_word, met, read.mark)
        for read, met, amount in zip(reads, matched, given, strict=True)
    )


def _without_numbers(
    halves: tuple[Floats, Floats],
    sides: tuple[tuple[_Read, ...], tuple[_Read, ...]],
    matched: tuple[list[bool], list[bool]],
    penalty: float,
) -> tuple[Floats, Floats]:
    """Take the penalty from the numbers that only one text has, the same amount from each."""
    numbers = [np.array([read.mark is Mark.NUMBER for read in side], bool) for side in sides]
    alone = [some & ~np.array(met, bool) for some, met in zip(numbers, matched, strict=True)]
    # All may match: "B5" and "C5" against "5", or stand for another form ("threes").
    every = [np.ones(len(side), bool) for side in sides]
    chosen = next(some for some in (alone, numbers, every) if any(map(np.any, some)))
    each = penalty / sum(int(some.sum()) for some in chosen)
    one, two = (half - each * some for half, some in zip(halves, chosen, strict=True))
    return one, two


def _marked_match(one: _Read, two: _Read, match: float) -> float:
    """Return how far two words match of which one is a name, a number or a negation.

    Names match by their spelling, numbers only if they are equal, and negations always.
    """
    if one.stem == two.stem:
        return 1.0
    if Mark.NEGATION in (one.mark, two.mark):
        return 1.0 if one.mark is two.mark else 0.0
    if Mark.NUMBER in (one.mark, two.mark):
        return 0.0
    spelled = float(spelling_cosines([one.stem], [two.stem])[0, 0])
    return match if one.mark is not two.mark or spelled >= _ONE_NAME else 0.0
