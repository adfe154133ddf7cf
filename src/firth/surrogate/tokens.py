"""The tokenizer of a static Surrogate: words, and pieces to spell others with."""

from collections.abc import Sequence

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

UNKNOWN = "<unk>"
"""Token 0: a word that no pieces can spell. It counts as nothing."""
CONTINUED = "##"
"""Before a piece that is not the first of its word."""


def word_tokenizer(vocabulary: Sequence[str]) -> Tokenizer:
    r"""Lowercased runs of `\w` (as `firth.lexical.words.words`), numbered from 1.

    A word that is not in the vocabulary is spelled, always with the longest piece that fits; 0 if
    that cannot be.
    """
    numbers = {UNKNOWN: 0} | {word: number for number, word in enumerate(vocabulary, 1)}
    tokenizer = Tokenizer(
        models.WordPiece(numbers, unk_token=UNKNOWN, continuing_subword_prefix=CONTINUED)
    )
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\w+"), behavior="removed", invert=True)
    return tokenizer
