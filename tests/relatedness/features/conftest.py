"""Sentences annotated by hand, so that tests need no trained pipeline."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from spacy.tokens import Doc

Annotated = list[tuple[str, str, str, int]]
"""Word, part of speech, dependency label, place of its head."""


@pytest.fixture(scope="session")
def annotate() -> "Callable[[Annotated], Doc]":
    """Makes a document of hand-set annotations."""
    import spacy
    from spacy.tokens import Doc

    vocabulary = spacy.blank("en").vocab

    def make(tokens: Annotated) -> Doc:
        words, tags, labels, heads = ([*column] for column in zip(*tokens, strict=True))
        return Doc(vocabulary, words=words, pos=tags, deps=labels, heads=heads)

    return make
