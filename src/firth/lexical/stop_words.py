"""Words that are no evidence: every text has them, whatever it says."""

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from firth.lexical.tfidf import Idf
from firth.lexical.words import stems

_USUAL = 0.1
"""Share of sentences from which on a word of any language is empty. By frequency alone, a smaller
share would cost a small corpus what it is about: at one in 100, *tax* and *school*."""
_TELLING = frozenset({
    "bill", "bottom", "call", "computer", "cry", "describe", "detail", "fill", "fire", "found",
    "front", "interest", "mill", "mine", "move", "name", "part", "show", "side", "sincere",
    "system", "thick", "thin", "top",
})  # fmt: skip
"""Words of scikit-learn's list that are evidence (Nothman et al. 2018 on such lists)."""
_CONTRACTED = ("don", "didn", "doesn", "isn", "wasn", "aren", "weren", "ll", "ve")
"""What `words` leaves of contractions, beside single letters."""


def stop_words(idf: Idf) -> frozenset[str]:
    """The stems that are no evidence of anything: scikit-learn's English list, and what one
    sentence in ten of the corpus has. Single letters are none either (`is_letter`).

    Example:
        >>> from firth.lexical.tfidf import fit_idf
        >>> idf = fit_idf(["Der Hund bellt."] + 9 * ["Der Mond scheint."], source="ten sentences")
        >>> found = stop_words(idf)
        >>> "der" in found, "the" in found, "bill" in found
        (True, True, False)
    """
    least = _USUAL * max(idf.sentences, 20)
    usual = (stem for stem, count in idf.frequencies.items() if count > least)
    return frozenset(
        (*usual, *stems(sorted({*ENGLISH_STOP_WORDS, *_CONTRACTED} - _TELLING), idf.stemmer))
    )


def is_letter(stem: str) -> bool:
    """Whether it is one Latin letter: what is left of *n't*, or an initial; or none, which is
    Porter's stem of *s*."""
    return not stem or (len(stem) == 1 and stem.isascii() and stem.isalpha())
