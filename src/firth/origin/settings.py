"""Settings of Origin, of both its methods (`origin` in the configuration)."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from firth.run.section import Count, Fraction, Section


class Selection(StrEnum):
    """How C_s is built (§3.3, §5.4)."""

    TWO_STEP = "two-step"
    """TF-IDF screening, coherence ranking, greedy selection by Eq. 3."""
    WITHOUT_COHERENCE = "without-coherence"
    """The same, the screening's order standing in for the coherence ranking."""
    RANDOM = "random"
    """Slots drawn at random from the corpus."""


class Measure(StrEnum):
    """How two vectors of context fits are compared (Eq. 4)."""

    COSINE = "cosine"
    """Eq. 4 as printed."""
    CENTRED = "centred"
    """The same after subtracting each vector's mean: Pearson's correlation."""


class Weights(Section):
    """λ1 … λ4 of Eq. 3. The paper gives none."""

    coherence: Annotated[float, Field(ge=0)] = 1.0
    """λ1, of log p(y=1 | s, c)."""
    sentence: Annotated[float, Field(ge=0)] = 1.0
    """λ2, of log p(s | c) / |s|."""
    left: Annotated[float, Field(ge=0)] = 1.0
    """λ3, of log p(c_< | s, c_>) / |c_<|."""
    right: Annotated[float, Field(ge=0)] = 1.0
    """λ4, of log p(c_> | c_<, s) / |c_>|."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not any((self.coherence, self.sentence, self.left, self.right)):
            raise ValueError("all four weights are 0: no term of Eq. 3 is left")
        return self


class Method(StrEnum):
    """What Origin computes."""

    ENSEMBLE = "ensemble"
    """Fits into all contexts of the corpus, by words, by sentence vectors and by shared terms."""
    PAPER = "paper"
    """Fits into a set of contexts chosen for each sentence (§3.3, Eqs. 3 and 4)."""


class Parts(Section):
    """Shares of the three similarities that method `ensemble` sums; divided by their sum."""

    sentences: Annotated[float, Field(ge=0)] = 1.0
    """Of the cosine of the sentence vectors: their fits into all contexts of the corpus."""
    words: Annotated[float, Field(ge=0)] = 1.0
    """Of the overlap of their words' fits into each other."""
    terms: Annotated[float, Field(ge=0)] = 1.0
    """Of tf-idf cosine: the words they share."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not any((self.sentences, self.words, self.terms)):
            raise ValueError("all three shares are 0: nothing is left to compare by")
        return self


class OriginConfig(Section):
    """What the similarity of two sentences is computed from.

    `parts` belongs to method `ensemble`; everything else to method `paper`.
    """

    method: Method = Method.ENSEMBLE
    parts: Parts | None = None
    """None takes what was chosen for the encoder on STSb dev and STS12: for a bag 2, 1, 1, for a
    language model 4, 1, 1."""
    contexts: Count = 64
    """|C_s| (the paper: 500)."""
    shortlist: Count = 128
    """Contexts kept by the coherence ranking, to be scored by Eq. 3; at least `contexts`."""
    selection: Selection = Selection.TWO_STEP
    diverse: bool = True
    """At most one context a chunk, and preceding sentences with Jaccard < `max_jaccard`."""
    max_jaccard: Fraction = 0.5
    weights: Weights = Weights()
    baseline_corrected: bool = False
    """Subtract from each log-likelihood the same one with the sentence left out."""
    measure: Measure = Measure.CENTRED

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.shortlist < self.contexts:
            raise ValueError(f"shortlist {self.shortlist} is below contexts {self.contexts}")
        return self
