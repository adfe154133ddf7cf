"""The settings of this wing: the sections `adapt` and `distill` of a run's settings."""

from typing import Annotated, Literal

from pydantic import Field

from firth.run.settings import Count, Positive, Section


class AdaptSettings(Section):
    """How a pretrained encoder learns which texts of the corpus belong together."""

    pairs: Literal["neighbors", "crops"] = "neighbors"
    """Next sentences, or two spans of a paragraph (Izacard et al. 2022)."""
    layers: Count | None = None
    """Top layers that learn. By default 8 of a language model and 2 of another encoder."""
    steps: Annotated[int, Field(ge=0)] = 120
    batch: Annotated[int, Field(ge=2)] = 48
    micro_batches: Count = 1
    """Parts in which a batch is computed, to save memory."""
    learning_rate: Positive | None = None
    """By default 2e-4 for a language model, 2e-5 for layers, 1e-3 for an embedding matrix."""
    temperature: Positive = 0.05
    max_tokens: Annotated[int, Field(ge=4)] = 32
    """Tokens of a text that are read in training."""


class DistillSettings(Section):
    """The encoder that a teacher is distilled into."""

    base: str = "static"
    """`static` (word vectors), `transformer` (from scratch), `layers` (of the run's language
    model), or folder or hub name of an encoder."""
    teacher: str | None = None
    """Run, folder or hub name. By default the scorer of the run."""
    sentences: Count = 100_000
    """Corpus sentences that the teacher reads."""
    dimensions: Count = 256
    """transformer: of a sentence vector."""
    layers: Count = 4
    """transformer: number of layers."""
    max_tokens: Annotated[int, Field(ge=4)] = 128
    """Tokens of a sentence that a Transformer reads."""
    epochs: Annotated[int, Field(ge=0)] | None = None
    """Passes over the sentences. By default 2; 8 for `static` with a named teacher, and 0
    for `static` with the scorer of the run, whose word vectors it shares."""
    batch: Count | None = None
    """Sentences in a step. By default 256 for `static`, 64 for a Transformer."""
    micro_batches: Count = 1
    """Parts in which a batch is computed, to save memory."""
    learning_rate: Positive | None = None
    """Peak rate. By default by the kind of the student."""
    patience: Count = 4
    """Evaluations on held-out sentences without a gain after which training stops."""
    exclude: tuple[str, ...] = ()
    """Files of texts that no student may learn, such as evaluation sets."""
