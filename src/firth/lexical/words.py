"""The two notions of sameness used everywhere: the words of a text, and its normal form."""

import re
import unicodedata

_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    r"""Lowercased runs of `\w`, in order: what Dice, Jaccard and tf-idf call words.

    Example:
        >>> words("You shall know a word, by its company!")
        ['you', 'shall', 'know', 'a', 'word', 'by', 'its', 'company']
    """
    return _WORD.findall(text.lower())


def normal_form(text: str) -> str:
    """NFKC, lowercase, words joined by one blank: two sentences with one normal form are the same.

    Example:
        >>> normal_form("The  cat sat.") == normal_form("the cat, sat")
        True
    """
    return " ".join(words(unicodedata.normalize("NFKC", text)))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """|a ∩ b| / |a ∪ b|, in [0, 1]; 1 for two empty sets."""
    union = len(a | b)
    return len(a & b) / union if union else 1.0
