"""The words of a pair of texts: which match, which match nothing, and what each contributes."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from firth.encoders.words import WordSpace
from firth.scorer.parts import Knowledge, Mark, Word, WordMatch
from firth.text.lexicon import lexicon_of
from firth.text.stems import spelling_cosines, stop_words
from firth.text.tokens import NOUNS_WITH_CAPITALS, tokens_of
from firth.text.types import Floats
from firth.text.words import as_written, is_letter, language_among, words

MAX_MATCHES = 10
LEAST_MATCH = 0.25
"""Words that match less count as unmatched. Of words of STSb dev, *ship ~ boat*, *girl ~ woman* and
*wound ~ kill* match more, *state ~ stalemate* and *raven ~ travel* less."""
_ONE_NAME = 0.5
"""Spelling cosine from which two names are one: *Israel*, *Israeli*."""


Aligned = tuple[tuple[WordMatch, ...], tuple[Word, ...], tuple[Word, ...], Knowledge]
"""The words of a pair: `word_matches`, `words1`, `words2` and `knowledge` of `Explanation`."""


class WordReader:
    """Aligns the words of texts for explanations.

    The space knows the words of the corpus. The names, in lower case, are names also at the
    beginning of a sentence.
    """

    def __init__(self, space: WordSpace, names: frozenset[str] = frozenset()) -> None:
        self._space, self._names = space, names
        self._stop_words = stop_words(space.idf)
        self._read = lru_cache(1 << 12)(self._read_text)

    def align(
        self,
        text1: str,
        text2: str,
        matches: Sequence[Floats],
        added: Sequence[Floats],
        every: Sequence[Floats] | None,
    ) -> Aligned:
        """Return the aligned words of a text of n distinct stems and one of m.

        Args:
            matches: Degrees to which stems match, (n, m) each, in [0, 1]; the largest counts.
            added: Amounts that pairs of stems add to the score by themselves, (n, m) each.
            every: Amounts that they add in all, (n, m) each; None where some of the score cannot be
                split by words.
        """
        (stems1, one), (stems2, two) = self._read(text1), self._read(text2)
        shape = len(one), len(two)
        alone = sum(added, start=np.zeros(shape))
        meaning = np.outer([not w.stop_word for w in one], [not w.stop_word for w in two])
        degrees = np.max([np.zeros(shape), *matches], axis=0)
        found = np.where(meaning, degrees, 0.0)
        for i, a in enumerate(one):
            for j, b in enumerate(two):
                if a.mark or b.mark:
                    spelled = float(spelling_cosines([stems1[i]], [stems2[j]])[0, 0])
                    found[i, j] = _marked_match(a, b, float(found[i, j]), spelled)
        matched: Any = found >= LEAST_MATCH
        best = matched & (
            (found == found.max(axis=1, initial=0, keepdims=True))
            | (found == found.max(axis=0, initial=0, keepdims=True))
        )
        places = sorted(
            zip(*np.nonzero(best), strict=True), key=lambda at: (-abs(alone[at]), -found[at], at)
        )
        word_matches = tuple(
            WordMatch(one[i].text, two[j].text, float(found[i, j]), float(alone[i, j]))
            for i, j in places[:MAX_MATCHES]
        )
        knowledge = Knowledge.NONE
        if all(any(w.known and not w.stop_word for w in side) for side in (one, two)):
            knowledge = Knowledge.BOTH
        elif matched.any():
            knowledge = Knowledge.SPELLING
        sides = [
            [replace(word, matched=met) for word, met in zip(words, any_met, strict=True)]
            for words, any_met in ((one, matched.any(axis=1).tolist()),
                                   (two, matched.any(axis=0).tolist()))
        ]  # fmt: skip
        if every is not None:
            whole = sum(every, start=np.zeros(shape))
            halves = (whole.sum(axis=1) / 2).tolist(), (whole.sum(axis=0) / 2).tolist()
            sides = [
                [
                    replace(word, contribution=amount)
                    for word, amount in zip(words, half, strict=True)
                ]
                for words, half in zip(sides, halves, strict=True)
            ]
        return word_matches, tuple(sides[0]), tuple(sides[1]), knowledge

    def _read_text(self, text: str) -> tuple[list[str], list[Word]]:
        """Return the distinct stems of a text and, for each, its first word."""
        language, lower = language_among(text, self._space.idf.language), words(text)
        marks, negations = marks_of(text, language, self._names), lexicon_of(language).negations
        stemmed = self._space.idf.terms(text)
        first: dict[str, Word] = {}
        for word, low, stem in zip(as_written(text), lower, stemmed, strict=True):
            mark = marks.get(low)
            known = stem in self._space.idf.frequencies
            stop_word = is_letter(stem) or (stem in self._stop_words and mark is None)
            # `as_written` splits "didn't" into two words.
            whole = mark is not Mark.NEGATION or low in negations
            shown = word if whole else f"{word}'t"
            first.setdefault(stem, Word(text=shown, known=known, stop_word=stop_word, mark=mark))
        return list(first), list(first.values())


def marks_of(text: str, language: str, names: frozenset[str] = frozenset()) -> dict[str, Mark]:
    """Return the lower-case words of a text that are names, numbers or negations.

    A capital at the beginning of a sentence makes no name, unless the word is in `names`. Of
    *didn't* the word is *didn*.

    Example:
        >>> marks = marks_of("The mayor of Bath didn't invite 12 people.", "en")
        >>> {word: mark.value for word, mark in marks.items()}
        {'bath': 'name', 'didn': 'negation', '12': 'number'}
    """
    lexicon, marks = lexicon_of(language), dict[str, Mark]()
    known = frozenset[str]() if language in NOUNS_WITH_CAPITALS else names
    for token in tokens_of(text, language):
        parts = words(token.text.removesuffix("'s").removesuffix("\u2019s"))
        if token.is_name or (token.text[0].isupper() and known.issuperset(parts)):
            marks |= dict.fromkeys(parts, Mark.NAME)
        if token.lower in lexicon.negations:
            marks |= dict.fromkeys(parts[:1], Mark.NEGATION)
        for word in parts:
            if lexicon.numerals.get(word, 0) > 1 or any(map(str.isdigit, word)):
                marks[word] = Mark.NUMBER
    return marks


def _marked_match(one: Word, two: Word, match: float, spelled: float) -> float:
    """Return how far two words match of which one is a name, a number or a negation.

    Names match by their spelling, numbers only if they are equal, and negations always. `spelled`
    is their spelling cosine: 1 for one stem.
    """
    if spelled == 1.0:
        return 1.0
    if Mark.NEGATION in (one.mark, two.mark):
        return 1.0 if one.mark is two.mark else 0.0
    if Mark.NUMBER in (one.mark, two.mark):
        return 0.0
    return match if one.mark is not two.mark or spelled >= _ONE_NAME else 0.0
