"""The settings of this wing: the section `tokenizer` of a run, and what all trainings have."""

from typing import Annotated

from pydantic import Field

from firth.run.settings import Count, Positive, Section


class TrainingSettings(Section):
    """What the trainings of a wing have."""

    micro_batches: Count = 1
    """Parts in which a batch is computed, to save memory."""
    learning_rate: Positive | None = None
    """Peak of Adam's rate. By default 5e-4 from random weights, 2e-5 of an encoder."""


class TokenizerSettings(Section):
    """The tokenizer of models that are trained from scratch."""

    vocabulary: Annotated[int, Field(ge=300)] = 16_000
    """Tokens, at most."""
    lower_case: bool = True
    """Whether case is ignored."""
