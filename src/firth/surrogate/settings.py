"""Settings of the Surrogate."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from firth.run.section import Count, Section


class Calibration(StrEnum):
    """How Origin scores become labels in [0, 1]."""

    QUANTILE = "quantile"
    """The score's rank among the training scores, divided by their number."""
    ZSCORE = "zscore"
    """The normal distribution function of the standardised score."""
    NONE = "none"
    """The score as it is, clipped to [0, 1]."""
    MATCH = "match"
    """The score on the scale of the start's cosines: same mean, same deviation."""


class SurrogateConfig(Section):
    """The Siamese encoder distilled from the harvest (§3.4)."""

    base: str = "static"
    """`static`: word vectors learned on the corpus, averaged; `transformer`: a small one from
    scratch; anything else: folder or hub name of an encoder, such as roberta-base."""
    dimensions: Count = 256
    """static and transformer: size of the sentence vector."""
    vocabulary: Count = 100_000
    """static: words with a vector, the most frequent ones; each in two sentences at least."""
    start_epochs: Annotated[int, Field(ge=0)] = 1
    """static: passes over neighbouring sentences that teach the first vectors where the run has no
    stage `fit` to take them from; 0 for random vectors, whatever it has."""
    calibration: Calibration | None = None
    """None takes what suits the base: `match` for static, `quantile` (the paper has no map) for the
    others, whose first cosines mean nothing."""
    epochs: Count = 2
    batch: Count | None = None
    """None takes 512 for static, 64 for the others."""
    learning_rate: Annotated[float, Field(gt=0)] | None = None
    """None takes what suits the base: 2e-5 for a pretrained one, more for the other two."""
