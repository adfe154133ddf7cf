"""Settings of the method as printed: screening, coherence, likelihoods, contexts, similarity."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from firth.run.section import Count, Fraction, Precision, Rate, Section


class RetrieveConfig(Section):
    """TF-IDF screening of chunks (§3.3)."""

    chunks: Count = 20_000
    """Chunks retrieved for a sentence (the paper: 20,000)."""
    features_log2: Annotated[int, Field(ge=8, le=28)] = 20
    """Uni- and bi-grams are hashed to 2 to this power features."""


class Interaction(StrEnum):
    """The last layer of the coherence model."""

    BILINEAR = "bilinear"
    """Sentence and context vectors multiply: a context's rank depends on the sentence."""
    ADDITIVE = "additive"
    """Eq. 1 as printed: the order of contexts is the same for every sentence, and no accuracy above
    chance can be learned."""


class CoherenceConfig(Section):
    """The discriminative model p(y=1 | c_<, s, c_>) (§3.2.1)."""

    hidden: Count = 300
    """Hidden size of each LSTM direction (the paper: 300); a sentence vector has twice as many."""
    embedding: Count = 300
    interaction: Interaction = Interaction.BILINEAR
    batch: Count = 128
    """Positions a step. Each gives one positive example; the other centres of the batch are its
    negatives, half of their weight on sentences of its document, half on random ones."""
    per_document: Count = 8
    """Positions of one document that stand together in a batch."""
    steps: Count = 2_000
    learning_rate: Rate = 1e-3
    """Peak, after a linear warm-up."""
    warmup: Fraction = 0.1
    """Share of the steps in which the learning rate rises."""
    max_tokens: Count = 48
    """Tokens read of a sentence; the rest is cut off."""
    held_out: Annotated[float, Field(gt=0, lt=0.5)] = 0.02
    """Fraction of the documents kept from training, for the reported accuracy."""
    precision: Precision = Precision.AUTO
    """Of the matrix products in training."""
    parts: Count = 1
    """Parts in which a batch is worked on: memory is that of one, and processes that torchrun
    starts share them. But for rounding and dropout, results are the same."""
    checkpoint_steps: Count = 200


class Backend(StrEnum):
    """What computes the likelihoods of Eq. 3."""

    SEQ2SEQ = "seq2seq"
    """Encoder-decoder Transformer trained from scratch on the corpus (§3.2.2)."""
    CAUSAL_LM = "causal-lm"
    """Any pretrained left-to-right language model, by the chain rule."""


class GeneratorConfig(Section):
    """The conditional likelihoods of §3.2.2."""

    backend: Backend = Backend.SEQ2SEQ
    model: str | None = None
    """causal-lm: folder or hub name of the pretrained model."""
    gguf_file: str | None = None
    """causal-lm: the GGUF file inside `model`, where the weights come as one."""
    shared: bool = True
    """seq2seq: one model for the three directions; false trains three."""
    layers: Count = 3
    """seq2seq: layers of the encoder and of the decoder ("Transformer-large": 6)."""
    width: Count = 256
    """seq2seq: size of the hidden states ("Transformer-large": 1024)."""
    heads: Count = 4
    feedforward: Count = 1024
    pointer: bool = True
    """seq2seq: words of the neighbours can be pointed at; false is the plain Transformer."""
    dropout: Fraction = 0.1
    drop_neighbour: Fraction = 0.15
    """seq2seq: how often one input sentence is left out in training, for the baseline terms."""
    steps: Count = 4_000
    batch_tokens: Count = 8_192
    """Tokens of a batch, padding included, in training and in scoring."""
    accumulate: Count = 1
    """Batches a step, one after the other, where as many tokens do not fit at once; processes that
    torchrun starts share them."""
    learning_rate: Rate = 1e-3
    """Peak, after a linear warm-up (the paper: 1e-4 at full size)."""
    warmup: Count = 200
    max_tokens: Count = 48
    """Tokens read of a sentence, and of each side of a context; the rest is cut off."""
    held_out: Annotated[float, Field(gt=0, lt=0.5)] = 0.02
    precision: Precision = Precision.AUTO
    checkpoint_steps: Count = 200

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.backend is Backend.CAUSAL_LM and self.model is None:
            raise ValueError("backend causal-lm needs `model`: a folder or a hub name")
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not divisible by {self.heads} heads")
        return self


class Selection(StrEnum):
    """How C_s is built (§3.3, §5.4)."""

    TWO_STEP = "two-step"
    """TF-IDF screening, coherence ranking, greedy selection by Eq. 3."""
    WITHOUT_COHERENCE = "without-coherence"
    """The same, the screening's order standing in for the coherence ranking."""
    RANDOM = "random"
    """Positions drawn at random from the corpus."""


class Measure(StrEnum):
    """How two vectors of context fits are compared (Eq. 4)."""

    COSINE = "cosine"
    """Eq. 4 as printed."""
    CENTRED = "centred"
    """The same after subtracting each vector's mean: Pearson's correlation."""

    @property
    def decimals(self) -> int:
        """Decimals of a score that is shown: raw cosines differ in the last ones."""
        return 12 if self is Measure.COSINE else 6


class Weights(Section):
    """λ1 … λ4 of Eq. 3. The paper gives none."""

    coherence: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """λ1, of log p(y=1 | s, c)."""
    sentence: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """λ2, of log p(s | c) / |s|."""
    left: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """λ3, of log p(c_< | s, c_>) / |c_<|."""
    right: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """λ4, of log p(c_> | c_<, s) / |c_>|."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not any((self.coherence, self.sentence, self.left, self.right)):
            raise ValueError("all four weights are 0: no term of Eq. 3 is left")
        return self


class PaperConfig(Section):
    """Context sets (§3.3), context fit (Eq. 3) and similarity (Eq. 4)."""

    contexts: Count = 64
    """|C_s| (the paper: 500)."""
    shortlist: Count = 128
    """Contexts kept by the coherence ranking, to be scored by Eq. 3; at least `contexts`."""
    selection: Selection = Selection.TWO_STEP
    diverse: bool = True
    """At most one context a chunk, and preceding sentences with Jaccard < `max_jaccard`."""
    max_jaccard: Fraction = 0.5
    weights: Weights = Weights()
    pmi: bool = False
    """Subtract from each log-likelihood the same one with the sentence left out: a pointwise mutual
    information."""
    measure: Measure = Measure.CENTRED

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.shortlist < self.contexts:
            raise ValueError(f"shortlist {self.shortlist} is below contexts {self.contexts}")
        return self
