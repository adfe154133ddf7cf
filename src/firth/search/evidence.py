"""Evidence for a match: the words that two texts share, and what differs between them.

Two similar texts that differ in what matters (`firth.text.differences`) say different things: they
are *related*, and no duplicates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from firth.text.differences import Differences, DifferenceType, differences
from firth.text.lexicon import lexicon_of
from firth.text.near import Kind, WordTable, are_near
from firth.text.tokens import tokens_of
from firth.text.types import Singles
from firth.text.words import normal_form

if TYPE_CHECKING:
    from firth.search.index import Index

_FACTS = (DifferenceType.NUMBER, DifferenceType.DATE, DifferenceType.NAME, DifferenceType.ORDER)
MIN_WORDS = 6
"""Shorter sentences are repeated in any large corpus by chance."""
_FILLINGS = 1 << 12
"""Vectors of fillings that are remembered."""


@dataclass(frozen=True)
class Evidence:
    """What speaks for and against a match of two texts.

    `shared` are words of meaning that both have, in the order of the first. `added` are runs of at
    least five that only the second has, and `left_out` those that only the first has. `differ` says
    what they differ in that matters.
    """

    shared: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    differ: tuple[str, ...] = ()


class _Fillings:
    """The encoder of an index, opened when two fillings of one slot are first compared."""

    def __init__(self, index: "Index") -> None:
        self._vector = lru_cache(_FILLINGS)(lambda text: index.encoder.encode([text])[0])

    def encode(self, texts: Sequence[str]) -> list[Singles]:
        """Return the vectors of a few words each."""
        return [self._vector(text) for text in texts]


class Reader:
    """Compares pairs of texts of a language (ISO 639-1), or of one of several."""

    def __init__(self, language: str = "en", encoder: _Fillings | None = None) -> None:
        self._language, self._encoder = language, encoder

    @classmethod
    def of(cls, index: "Index") -> "Reader":
        """Compare texts of an index. The cosine of a pretrained encoder decides a slot."""
        return cls(index.corpus.language, _Fillings(index) if index.is_pretrained else None)

    def _differences(self, a: str, b: str) -> Differences:
        return differences(a, b, language=self._language, encoder=self._encoder)

    def compare(self, a: str, b: str) -> Evidence:
        """Return what two texts share and differ in."""
        different = self._differences(a, b)
        keys = {token.key for token in tokens_of(b, different.language)}
        stop_words = lexicon_of(different.language).stop
        shared = dict.fromkeys(
            token.lower
            for token in tokens_of(a, different.language)
            if token.key in keys and token.lower not in stop_words
        )
        return Evidence(
            tuple(shared),
            tuple(item.b for item in different if item.kind is DifferenceType.ADDED),
            tuple(item.a for item in different if item.kind is DifferenceType.LEFT_OUT),
            tuple(map(str, different.mattering)),
        )

    def differing(self, a: str, b: str) -> tuple[str, ...]:
        """Return what two texts differ in that matters, though vectors hardly see it."""
        return tuple(map(str, self._differences(a, b).mattering))

    def differing_passages(self, a: Sequence[str], b: Sequence[str]) -> tuple[str, ...]:
        """Return numbers, dates, names and orders in which sentences of two documents differ.

        Sentences of one document that are near copies of one of the other are compared, unless the
        other has them, too. Other words may differ: a story may be retold.

        Example:
            >>> text = "The mayor of the town opened the harbor in {}."
            >>> Reader().differing_passages([text.format(2017)], [text.format(2019)])
            ('number: 2017 / 2019',)
        """
        of_a, of_b = dict.fromkeys(a), dict.fromkeys(b)
        only_a = [text for text in of_a if text not in of_b]
        texts = [*only_a, *(text for text in of_b if text not in of_a)]
        near = WordTable([texts], MIN_WORDS).near(before=len(only_a))
        facts = [
            str(item)
            for i, j in zip(near.left.tolist(), near.right.tolist(), strict=True)
            if j >= len(only_a)
            for item in self._differences(texts[i], texts[j]).mattering
            if item.kind in _FACTS
        ]
        return tuple(dict.fromkeys(facts))

    def kind(self, a: str, b: str) -> Kind:
        """Return how near two similar texts are, by their words and what differs.

        Example:
            >>> Reader().kind("The ship sailed.", "the ship sailed").value
            'exact'
            >>> Reader().kind("Three ships sailed to Bath.", "Five ships sailed to Bath.").value
            'related'
        """
        a_words, b_words = normal_form(a).split(), normal_form(b).split()
        if a_words == b_words:
            return Kind.EXACT
        if self._differences(a, b):
            return Kind.RELATED
        return Kind.NEAR if are_near(a_words, b_words) else Kind.SIMILAR
