"""What compares sentences and tells where its scores come from: Origin, in either of its kinds."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from firth.lexical.arrays import Floats
from firth.lexical.scorer import TextPair
from firth.run.errors import InputError


@dataclass(frozen=True)
class Shown:
    """A piece of evidence as a reader sees it.

    Attributes:
        amount: What it adds to the score, or how far it moved it.
        note: How the two sentences fit there, and what it is.
        text: A context, or a word.
    """

    amount: float
    note: str
    text: str


class Explanation(Protocol):
    """A score and what it comes from."""

    @property
    def sentence1(self) -> str:
        """s1."""

    @property
    def sentence2(self) -> str:
        """s2."""

    @property
    def similarity(self) -> float:
        """The score."""

    @property
    def summary(self) -> str:
        """The score and what it is made of, in a line."""

    def shown(self, top: int) -> list[Shown]:
        """The `top` weightiest pieces of evidence (of each component, where there are any)."""

    def as_dict(self) -> Mapping[str, Any]:
        """Everything as plain values, for JSON."""


class Explainer(ABC):
    """A scorer that takes its scores apart into what they come from."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is, for people: shown beside figures, where it is evaluated."""

    def similarity(self, a: str, b: str) -> float:
        """sim(s1, s2), in [-1, 1]; symmetric. Raise `InputError` for what is no text."""
        return float(self.similarities([(a, b)])[0])

    @abstractmethod
    def similarities(self, pairs: Sequence[TextPair], title: str = "Origin") -> Floats:
        """sim(s1, s2) of each pair, shape (n,), in [-1, 1].

        Args:
            pairs: The two sentences of each pair; their order does not matter.
            title: Shown beside the progress bar.

        Raises:
            InputError: An item of `pairs` is not two texts.
        """

    def unknown(self, text: str) -> list[str]:
        """The distinct words of `text` that the corpus never had, in order.

        Scores say nothing of them. None are named by a kind that keeps no list of words.
        """
        return []

    @abstractmethod
    def explain(self, a: str, b: str) -> Explanation:
        """The score of a pair and what it comes from."""


def checked(pairs: Sequence[TextPair]) -> Sequence[TextPair]:
    """`pairs` as they are; raise `InputError` naming the first that is not two texts."""
    for number, pair in enumerate(pairs):
        # A text is a sequence of texts too: of its letters.
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(s, str) for s in pair):
            raise InputError(f"pair {number}: got {pair!r:.80}; expected two texts")
    return pairs
