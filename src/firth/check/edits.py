"""Minimal edits of a sentence: those that keep its meaning, and those that change it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Edit:
    """Two edits of one sentence: `keep` means the same, `change` does not."""

    kind: str
    keep: str
    change: str


def edits_of(sentence: str, others: Sequence[str], rng: np.random.Generator) -> list[Edit]:
    """The edits that can be made of a sentence.

    Args:
        sentence: To be edited.
        others: Sentences from which names and numbers may be drawn.
        rng: Decides what is left open.
    """
    return []
