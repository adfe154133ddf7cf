"""A context: what stands to the left and to the right of one slot."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Context:
    """The neighbours of a slot, c = (c_<, c_>) (§3.2).

    Attributes:
        left: c_<, the preceding sentences in reading order; the last one is next to the slot.
        right: c_>, the subsequent sentences in reading order; the first one is next to the slot.

    Example:
        >>> context = Context(("It rained all night.",), ("We stayed at home.",))
        >>> context.filled("The streets were flooded.")
        'It rained all night. The streets were flooded. We stayed at home.'
    """

    left: tuple[str, ...]
    right: tuple[str, ...]

    def filled(self, sentence: str) -> str:
        """The running text with `sentence` in the slot."""
        return " ".join((*self.left, sentence, *self.right))
