"""Settings of Origin: which method, and the components of the ensemble (`origin`)."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from firth.run.section import Count, Fraction, Section


class Method(StrEnum):
    """What Origin computes."""

    ENSEMBLE = "ensemble"
    """Fits into all contexts of the corpus, by sentence vectors, and an alignment of words."""
    PAPER = "paper"
    """Fits into a set of contexts chosen for each sentence (§3.3, Eqs. 3 and 4)."""


class ComponentWeights(Section):
    """Weights of the two similarities that method `ensemble` sums; divided by their sum."""

    sentences: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Of the cosine of the sentence vectors: a language model's, or sums of words."""
    words: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.5
    """Of the alignment of words: each with its best match in the other sentence."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not (self.sentences or self.words):
            raise ValueError("both weights are 0: nothing is left to compare by")
        return self


class OriginConfig(Section):
    """What the similarity of two sentences is computed from.

    `weights` belongs to method `ensemble`; the settings of method `paper` are a section of their
    own.
    """

    method: Method = Method.ENSEMBLE
    weights: ComponentWeights | None = None
    """None takes what the check on the run's held-out documents chose (stage `origin`)."""
    own: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Length of the directions that words have of their own, in sums of words: of a word with an
    idf of 6, a typical learned vector being 1. None takes what the check chose."""
    numbers: Fraction = 0.25
    """Share of a score that goes where both texts name numbers and have none in common. Chosen on
    STSb dev and STS12 (docs/research/origin.md)."""
    items: Count | None = None
    """Held-out sentences by which the check chooses. None takes 2,000 for sums of words, and 500
    for a language model, which takes a thousand times as long."""
