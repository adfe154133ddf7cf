"""Settings of Origin: which method, and the components of the ensemble (`origin`)."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from firth.run.section import Section


class Method(StrEnum):
    """What Origin computes."""

    ENSEMBLE = "ensemble"
    """Fits into all contexts of the corpus, by words, by sentence vectors and by shared terms."""
    PAPER = "paper"
    """Fits into a set of contexts chosen for each sentence (§3.3, Eqs. 3 and 4)."""


class ComponentWeights(Section):
    """Weights of the three similarities that method `ensemble` sums; divided by their sum."""

    sentences: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Of the cosine of the sentence vectors: their fits into all contexts of the corpus."""
    words: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Of the overlap of their words' fits into each other."""
    terms: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Of tf-idf cosine: the words they share."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not any((self.sentences, self.words, self.terms)):
            raise ValueError("all three weights are 0: nothing is left to compare by")
        return self


class OriginConfig(Section):
    """What the similarity of two sentences is computed from.

    `weights` belongs to method `ensemble`; the settings of method `paper` are a section of their
    own.
    """

    method: Method = Method.ENSEMBLE
    weights: ComponentWeights | None = None
    """None takes what was chosen for the encoder on STSb dev and STS12: for a bag 2, 1, 1, for a
    language model 4, 1, 1."""
