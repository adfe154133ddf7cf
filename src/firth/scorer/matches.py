"""The words of a pair of texts: which match, which match nothing, and what each contributes."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from firth.encoders.words import WordSpace
from firth.scorer.parts import Knowledge, Word, WordMatch
from firth.text.stems import stop_words
from firth.text.types import Floats
from firth.text.words import is_letter, spans

MAX_MATCHES = 10
LEAST_MATCH = 0.25
"""Words that match less count as unmatched. Of words of STSb dev, *ship ~ boat*, *girl ~ woman* and
*wound ~ kill* match more, *state ~ stalemate* and *raven ~ travel* less."""


Aligned = tuple[tuple[WordMatch, ...], tuple[Word, ...], tuple[Word, ...], Knowledge]
"""The words of a pair: `word_matches`, `words1`, `words2` and `knowledge` of `Explanation`."""


class WordReader:
    """Aligns the words of texts for explanations. The space knows the words of the corpus."""

    def __init__(self, space: WordSpace) -> None:
        self._space, self._stop_words = space, stop_words(space.idf)

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
        words1, words2 = self._read_text(text1), self._read_text(text2)
        shape = len(words1), len(words2)
        alone = reduce(np.add, added or [np.zeros(shape)])  # no copy: long texts have large ones
        meaning = np.outer([not w.stop_word for w in words1], [not w.stop_word for w in words2])
        degrees = reduce(np.maximum, matches, np.zeros(shape)) * meaning
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
        halves: Any = (None, None)
        if by_words is not None:
            amounts = reduce(np.add, by_words or [np.zeros(shape)])
            halves = (amounts.sum(axis=1) / 2).tolist(), (amounts.sum(axis=0) / 2).tolist()
        both = (words1, matched, halves[0]), (words2, matched.T, halves[1])
        sides = [
            tuple(
                replace(
                    word, matched=bool(met.any()), contribution=None if half is None else half[n]
                )
                for n, (word, met) in enumerate(zip(words, rows, strict=True))
            )
            for words, rows, half in both
        ]
        return word_matches, sides[0], sides[1], knowledge

    def _read_text(self, text: str) -> list[Word]:
        """Return the first word of each distinct stem of a text."""
        first: dict[str, Word] = {}
        for (start, end), stem in zip(spans(text), self._space.idf.terms(text), strict=True):
            if text[end : end + 2] in ("'t", "\u2019t"):  # `spans` sees two words in "didn't".
                end += 2
            is_known = stem in self._space.idf.frequencies
            is_stop_word = is_letter(stem) or stem in self._stop_words
            word = Word(text=text[start:end], known=is_known, stop_word=is_stop_word)
            first.setdefault(stem, word)
        return list(first.values())
