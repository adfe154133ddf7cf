"""Evidence for a match: the words that two texts share, and what differs between them.

Two similar texts that differ in what matters (`firth.text.differences`) say different things: they
are *related*, and no duplicates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from firth.encoders.encoder import PretrainedEncoder
from firth.encoders.kinds import FoundEncoder
from firth.text.differences import DifferenceType, differences
from firth.text.lexicon import lexicon_of
from firth.text.near import Kind, are_near
from firth.text.tokens import tokens_of
from firth.text.types import Singles
from firth.text.words import normal_form

_FILLINGS = 1 << 12
"""Vectors of fillings that are remembered."""


@dataclass(frozen=True)
class Evidence:
    """What speaks for and against a match of two texts.

    `kind` is how near they are, by their words and what differs. `shared` are words of meaning that
    both have, in the order of the first. `added` are runs of at least five that only the second
    has, and `left_out` those that only the first has. `differ` says what they differ in that
    matters.
    """

    kind: Kind
    shared: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    differ: tuple[str, ...] = ()


class SlotEncoder:
    """The encoder of a run, opened when two fillings of one slot are first compared."""

    def __init__(self, encoder: FoundEncoder) -> None:
        self._encoder = encoder
        self._vector = lru_cache(_FILLINGS)(self._encode)

    @cached_property
    def _opened(self) -> PretrainedEncoder:
        return self._encoder.open()

    def _encode(self, text: str) -> Singles:
        vector: Singles = self._opened.encode([text])[0]
        return vector

    def encode(self, texts: Sequence[str]) -> list[Singles]:
        """Return the vectors of a few words each."""
        return [self._vector(text) for text in texts]


class Reader:
    """Compares pairs of texts of a language (ISO 639-1), or of one of several.

    With the encoder of a run, the cosine of two fillings decides a slot.
    """

    def __init__(self, language: str = "en", encoder: FoundEncoder | None = None) -> None:
        self._language = language
        self._encoder = SlotEncoder(encoder) if encoder is not None else None

    def compare(self, a: str, b: str) -> Evidence:
        """Return what two texts share and differ in.

        Example:
            >>> Reader().compare("Exports will improve soon.", "Exports will worsen soon.").shared
            ('exports', 'soon')
        """
        words = normal_form(a).split(), normal_form(b).split()
        if words[0] == words[1]:
            return Evidence(Kind.EXACT)
        differ = differences(a, b, language=self._language, encoder=self._encoder)
        keys = {token.key for token in tokens_of(b, differ.language)}
        stop_words = lexicon_of(differ.language).stop
        shared = dict.fromkeys(
            token.lower
            for token in tokens_of(a, differ.language)
            if token.key in keys and token.lower not in stop_words
        )
        near = Kind.NEAR if are_near(*words) else Kind.SIMILAR
        return Evidence(
            kind=Kind.RELATED if differ else near,
            shared=tuple(shared),
            added=tuple(item.b for item in differ if item.kind is DifferenceType.ADDED),
            left_out=tuple(item.a for item in differ if item.kind is DifferenceType.LEFT_OUT),
            differ=tuple(map(str, differ.mattering)),
        )

    def differing(self, a: str, b: str) -> tuple[str, ...]:
        """Return what two texts differ in that matters, though vectors hardly see it.

        Example:
            >>> Reader().differing("Ten ships sailed.", "Not one of 12 ships sailed.")
            ('number: Ten / 12', 'negation: – / Not')
        """
        differ = differences(a, b, language=self._language, encoder=self._encoder)
        return tuple(map(str, differ.mattering))
