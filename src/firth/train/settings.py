"""The settings of this wing: the sections `adapt`, `distill` and `tokenizer` of a run."""

from typing import Annotated, Literal

from pydantic import Field

from firth.run.settings import Count, Names, Positive, Section


class TrainingSettings(Section):
    """What every training has."""

    micro_batches: Count = 1
    """Parts in which a batch is computed, to save memory."""
    learning_rate: Positive | None = None
    """Peak of Adam's rate. By default by what learns: a language model 2e-4, layers 2e-5, an
    embedding matrix 1e-3; a student from scratch or of word vectors 5e-4."""


class TokenizerSettings(Section):
    """The tokenizer of models that are trained from scratch."""

    vocabulary: Annotated[int, Field(ge=300)] = 16_000
    """Tokens, at most."""
    lower_case: bool = True
    """Whether case is ignored."""


class AdaptSettings(TrainingSettings):
    """How a pretrained encoder learns which texts of the corpus belong together."""

    pairs: Literal["neighbors", "crops"] = "neighbors"
    """Next sentences, or two spans of a paragraph (Izacard et al. 2022)."""
    layers: Count | None = None
    """Top layers that learn. By default 8 of a language model and 2 of another encoder."""
    steps: Annotated[int, Field(ge=0)] = 120
    batch: Annotated[int, Field(ge=2)] = 48
    temperature: Positive = 0.05
    max_tokens: Annotated[int, Field(ge=4)] = 32
    """Tokens of a text that are read in training."""


class DistillSettings(TrainingSettings):
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
    patience: Count = 4
    """Evaluations on held-out sentences without a gain after which training stops."""
    exclude: Names = ()
    """Files of texts that no student may learn, such as evaluation sets."""
