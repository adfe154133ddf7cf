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
        self._words_of = lru_cache(1 << 12)(self._read_text)

    def align(
        self,
        text1: str,
        text2: str,
        matches: Sequence[Floats],
        added: Sequence[Floats],
        by_words: Sequence[Floats] | None,
    ) -> Aligned:
        """Return the aligned words of a text of n distinct stems and one of m.

        Args:
            matches: Degrees to which stems match, (n, m) each, in [0, 1]; the largest counts.
            added: Amounts that pairs of stems add to the score by themselves, (n, m) each.
            by_words: Amounts that they add in all, (n, m) each; None where some of the score cannot
                be split by words.
        """
        (stems1, words1), (stems2, words2) = self._words_of(text1), self._words_of(text2)
        shape = len(words1), len(words2)
        alone = sum(added, start=np.zeros(shape))
        meaning = np.outer([not w.stop_word for w in words1], [not w.stop_word for w in words2])
        degrees = np.max([np.zeros(shape), *matches], axis=0)
        degrees = np.where(meaning, degrees, 0.0)
        for i, a in enumerate(words1):
            for j, b in enumerate(words2):
                if a.mark or b.mark:
                    spelled = float(spelling_cosines([stems1[i]], [stems2[j]])[0, 0])
                    degrees[i, j] = _marked_match(a, b, float(degrees[i, j]), spelled)
        matched: Any = degrees >= LEAST_MATCH
        best = matched & (
            (degrees == degrees.max(axis=1, initial=0, keepdims=True))
            | (degrees == degrees.max(axis=0, initial=0, keepdims=True))
        )
        places = sorted(
            zip(*np.nonzero(best), strict=True), key=lambda at: (-abs(alone[at]), -degrees[at], at)
        )
        word_matches = tuple(
            WordMatch(words1[i].text, words2[j].text, float(degrees[i, j]), float(alone[i, j]))
            for i, j in places[:MAX_MATCHES]
        )
        knowledge = Knowledge.NONE
        if all(any(w.known and not w.stop_word for w in side) for side in (words1, words2)):
            knowledge = Knowledge.BOTH
        elif matched.any():
            knowledge = Knowledge.SPELLING
        sides = [
            [replace(word, matched=met) for word, met in zip(words, any_met, strict=True)]
            for words, any_met in ((words1, matched.any(axis=1).tolist()),
                                   (words2, matched.any(axis=0).tolist()))
        ]  # fmt: skip
        if by_words is not None:
            amounts = sum(by_words, start=np.zeros(shape))
            halves = (amounts.sum(axis=1) / 2).tolist(), (amounts.sum(axis=0) / 2).tolist()
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
            if mark is Mark.NEGATION and low not in negations:
                word += "'t"  # `as_written` splits "didn't" into two words.
            is_known = stem in self._space.idf.frequencies
            is_stop_word = is_letter(stem) or (stem in self._stop_words and mark is None)
            first.setdefault(
                stem, Word(text=word, known=is_known, stop_word=is_stop_word, mark=mark)
            )
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


def _marked_match(a: Word, b: Word, match: float, spelled: float) -> float:
    """Return how far two words match of which one is a name, a number or a negation.

    Names match by their spelling, numbers only if they are equal, and negations always. `spelled`
    is their spelling cosine: 1 for one stem.
    """
    if spelled == 1.0:
        return 1.0
    if Mark.NEGATION in (a.mark, b.mark):
        return 1.0 if a.mark is b.mark else 0.0
    if Mark.NUMBER in (a.mark, b.mark):
        return 0.0
    return match if a.mark is not b.mark or spelled >= _ONE_NAME else 0.0
