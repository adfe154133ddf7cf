"""Settings of what contexts tell, which Origin compares by default (`context`)."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from firth.corpus.settings import WordSection
from firth.run.section import Count, Fraction, Pooling, Precision, Rate, Section


class BagConfig(WordSection):
    """The contrastive bag of words."""

    dimensions: Count = 200
    epochs: Count | None = 1
    """None takes as many as make 200 steps, at most 10: a small corpus is read more often."""
    batch: Annotated[int, Field(ge=2)] = 1024
    """Pairs a step; each first sentence is told from the batch's other second ones."""
    learning_rate: Rate = 0.01
    """Adam's, at its peak."""
    warmup: Fraction = 0.1
    """Share of the steps in which the learning rate rises to its peak."""
    temperature: Rate = 0.07
    by_source: bool = False
    """Take each batch from one file of the corpus, so that its subject does not give pairs away."""


class Encoder(StrEnum):
    """What gives a sentence its vector, by which it fits into contexts."""

    BAG = "bag"
    """The sum of word vectors learned from the corpus alone."""
    CAUSAL_LM = "causal-lm"
    """A pretrained left-to-right language model, tuned on the corpus."""
    SENTENCE_ENCODER = "sentence-encoder"
    """Any other pretrained encoder, adapted to the corpus as far as the check finds no harm."""


class Scale(StrEnum):
    """What is done to the dimensions of an encoder's vectors, by sentences of the corpus."""

    NONE = "none"
    CENTRED = "centred"
    """The mean is taken away."""
    STANDARDISED = "standardised"
    """The mean is taken away, and the rest divided by the deviation."""


class Pairs(StrEnum):
    """Which texts of the corpus a model learns to find together."""

    NEIGHBOURS = "neighbours"
    """A sentence and the next one; crops, where few sentences have one."""
    CROPS = "crops"
    """Two random spans of one paragraph (Izacard et al. 2022, section 3.1)."""
    TITLES = "titles"
    """The title of a document and a sentence of it."""


class TuneConfig(Section):
    """How a pretrained model learns what stands together in the corpus.

    For causal-lm chosen on STSb dev, with SmolLM2-135M (docs/research/origin.md).
    """

    pairs: Pairs = Pairs.NEIGHBOURS
    layers: Count | None = None
    """Layers tuned, from the top; the others stay as they are. None: 8 of a causal language model,
    2 of another encoder. Where there are none (static), the embedding matrix learns."""
    steps: Annotated[int, Field(ge=0)] = 120
    """0 leaves the model as it is."""
    batch: Annotated[int, Field(ge=2)] = 48
    """Pairs a step; each sentence is told from the batch's other second ones."""
    surplus: Count = 4
    """Times as many pairs are drawn for a step as it takes, those of other documents first."""
    learning_rate: Rate | None = None
    """Adam's, at its peak. None: 2e-4 for a causal language model, 2e-5 for the layers of another
    encoder, 1e-3 for an embedding matrix."""
    warmup: Annotated[int, Field(ge=0)] = 20
    """Steps in which the learning rate rises to its peak, at most half of all."""
    temperature: Rate = 0.05
    max_tokens: Annotated[int, Field(ge=4)] = 32
    """Of a text, in training."""
    parts: Count = 1
    """Parts in which a batch is worked on: memory is that of one, and processes that torchrun
    starts share them. But for rounding and dropout, results are the same."""
    checkpoint_steps: Count = 25


class ContextConfig(Section):
    """The contrastive coherence models: which sentences stand in the same contexts."""

    encoder: Encoder | None = None
    """None: a bag where no `model` is named, else what the model's files are."""
    model: str | None = None
    """Folder or hub name of the pretrained model."""
    gguf_file: str | None = None
    """causal-lm: the GGUF file inside `model`, where the weights come as one."""
    precision: Precision = Precision.AUTO
    """causal-lm: number format of the matrix products."""
    prompt: str = 'This sentence : "{}" means in one word:"'
    """causal-lm: what the model reads, `{}` standing for the sentence (Jiang et al. 2023)."""
    max_tokens: Count = 256
    """causal-lm: tokens read of a sentence; the rest is cut off."""
    pooling: Pooling | None = None
    """sentence-encoder: of a model that has none of its own; None takes the mean."""
    scale: Scale | None = None
    """sentence-encoder: None takes what the check on the run's held-out documents chose. (causal-lm
    is always standardised.)"""
    references: Annotated[int, Field(ge=2)] = 1_000
    """Sentences of the corpus by which the dimensions of a pretrained model are scaled."""
    bag: BagConfig = BagConfig(by_source=True, epochs=None)
    trust: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 50.0
    """Sentences with a word at which what was learned of it is trusted half."""
    tune: TuneConfig = TuneConfig()
    contexts: Count | None = None
    """Corpus sentences that explanations are made of; None takes 20,000 for a bag and 2,000 for a
    pretrained model. They change no score."""
    themes: Count = 100
    """Groups of those sentences, at most, by which explanations speak."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.encoder not in (None, Encoder.BAG) and self.model is None:
            raise ValueError(f"encoder {self.encoder} needs `model`: a folder or a hub name")
        if self.prompt.count("{}") != 1 or self.prompt.count("{") + self.prompt.count("}") != 2:
            raise ValueError("prompt: expected one {}, where the sentence goes, and no other brace")
        return self


class AdaptConfig(Section):
    """An encoder that is adapted to the corpus for itself, as a folder (`firth adapt`).

    How: `context.pooling`, `.scale`, `.references` and `.tune`.
    """

    encoder: str | None = None
    """Folder or hub name. None: none is adapted."""
