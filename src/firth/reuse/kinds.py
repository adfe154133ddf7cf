"""What can be asked for."""

from enum import StrEnum


class Kind(StrEnum):
    """How near two texts are."""

    EXACT = "exact"
    """The same words in the same order, up to case and punctuation."""
    NEAR = "near"
    """Most of the same pairs of consecutive words: a Jaccard similarity of at least 0.7."""
    REWORDED = "reworded"
    """Alike by the model, in other words."""


class Unit(StrEnum):
    """What is compared."""

    SENTENCES = "sentences"
    DOCUMENTS = "documents"


class Order(StrEnum):
    """Whether sentences may have moved."""

    FREE = "free"
    """Any sentence can meet any other."""
    KEPT = "kept"
    """What comes later in one document comes later in the other: the alignment is monotone."""
