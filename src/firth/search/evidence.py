"""Evidence for a match: the words that two texts share, and what differs between them.

Two similar texts that differ in what matters (`firth.text.differences`) say different things: they
are *related*, and no duplicates.
"""

from dataclasses import dataclass

from firth.text.differences import DifferenceType, compared
from firth.text.near import Kind, are_near
from firth.text.stems import ENGLISH_STOP_WORDS
from firth.text.tokens import tokens_of
from firth.text.words import normal_form


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


class Reader:
    """Compares pairs of texts of a language (ISO 639-1)."""

    def __init__(self, language: str = "en") -> None:
        self._language = language
        self._stop_words = ENGLISH_STOP_WORDS if language == "en" else frozenset[str]()

    def compare(self, a: str, b: str) -> Evidence:
        """Return what two texts share and differ in.

        Example:
            >>> Reader().compare("Exports will improve soon.", "Exports will worsen soon.").shared
            ('exports', 'soon')
        """
        one, two = tokens_of(a, self._language), tokens_of(b, self._language)
        both = {token.key for token in two}
        shared = dict.fromkeys(
            token.lower
            for token in one
            if token.key in both and token.lower not in self._stop_words
        )
        found = compared(a, b, self._language)
        return Evidence(
            tuple(shared),
            tuple(item.b for item in found if item.type is DifferenceType.ADDED),
            tuple(item.a for item in found if item.type is DifferenceType.LEFT_OUT),
            tuple(map(str, found.mattering)),
        )

    def differing(self, a: str, b: str) -> tuple[str, ...]:
        """Return what two texts differ in that matters, though vectors hardly see it.

        Example:
            >>> Reader().differing("Ten ships sailed.", "Not one of 12 ships sailed.")
            ('number: Ten / 12', 'negation: – / Not')
        """
        return tuple(map(str, compared(a, b, self._language).mattering))

    def kind(self, a: str, b: str) -> Kind:
        """Return how near two similar texts are, by their words and what differs.

        Example:
            >>> Reader().kind("The ship sailed.", "the ship sailed").value
            'exact'
            >>> Reader().kind("Three ships sailed to Bath.", "Five ships sailed to Bath.").value
            'related'
        """
        one, two = normal_form(a).split(), normal_form(b).split()
        if one == two:
            return Kind.EXACT
        if compared(a, b, self._language):
            return Kind.RELATED
        return Kind.NEAR if are_near(one, two) else Kind.SIMILAR
