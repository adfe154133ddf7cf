"""A context: what stands to the left and to the right of one position; and texts that have none."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Context:
    """The neighbours of a position, c = (c_<, c_>) (§3.2).

    Attributes:
        left: c_<, the preceding sentences in reading order; the last one stands next to it.
        right: c_>, the subsequent sentences in reading order; the first one stands next to it.

    Example:
        >>> context = Context(("It rained all night.",), ("We stayed at home.",))
        >>> context.filled("The streets were flooded.")
        'It rained all night. The streets were flooded. We stayed at home.'
    """

    left: tuple[str, ...]
    right: tuple[str, ...]

    def filled(self, sentence: str) -> str:
        """The running text with `sentence` in the position."""
        return " ".join((*self.left, sentence, *self.right))


FEW_NEIGHBOURS = 0.25
"""Pairs of neighbouring sentences, as a share of all sentences: below it, texts stand alone."""


def stand_alone(neighbours: int, sentences: int) -> bool:
    """Whether so few sentences have a neighbour that models must learn from parts of one."""
    return neighbours < FEW_NEIGHBOURS * sentences
