"""Every choice that changes a result: one section of the configuration for each stage."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A part of the configuration: immutable, and strict about names it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class CorpusConfig(Section):
    """Documents in, sentences and chunks out."""

    inputs: tuple[str, ...] = ()
    """Files, folders, globs or `hub:NAME`, in the order in which they are read."""
    text_field: str = "text"
    id_field: str | None = None
    """Field of the document's name; by default `id` where a record has it, else file and line."""
    strict: bool = False
    """Stop at the first bad record instead of skipping and counting it."""
    max_record_bytes: Count = 32 << 20
    """A longer record (or line of a text file) is bad; a longer text file is split in parts."""
    chunk_sentences: Count = 8
    """Longest chunk, the unit of retrieval; a paragraph border ends a chunk that is half full."""
    window: Count = 1
    """Sentences on each side of a slot that make its context (the paper: 1)."""
    min_words: Count = 3
    max_words: Count = 60
    """Shorter and longer sentences are stored, but are neither slots nor training centres."""


class TokenizerConfig(Section):
    """Byte-level BPE learned on the corpus, shared by every model trained from scratch."""

    vocabulary: Annotated[int, Field(ge=300)] = 16_000
    lowercase: bool = True


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
    """Eq. 1 as printed: the order of contexts is the same for every sentence."""


class CoherenceConfig(Section):
    """The discriminative model p(y=1 | c_<, s, c_>) (§3.2.1)."""

    hidden: Count = 300
    """Hidden size of each LSTM direction (the paper: 300); a sentence vector has twice as many."""
    embedding: Count = 300
    interaction: Interaction = Interaction.BILINEAR
    batch: Count = 128
    """Slots a step. Each gives one positive example; the other centres of the batch are its
    negatives, half of their weight on sentences of its document, half on random ones."""
    steps: Count = 2_000
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    max_tokens: Count = 48
    """Tokens read of a sentence; the rest is cut off."""
    held_out: Annotated[float, Field(gt=0, lt=0.5)] = 0.02
    """Fraction of the documents kept from training, for the reported accuracy."""
    checkpoint_steps: Count = 200


class Backend(StrEnum):
    """What computes the likelihoods of Eq. 3."""

    SEQ2SEQ = "seq2seq"
    """Encoder-decoder Transformer trained from scratch on the corpus (§3.2.2)."""
    CAUSAL_LM = "causal-lm"
    """Any pretrained left-to-right language model, by the chain rule."""


class Precision(StrEnum):
    """Number format of the matrix products when scoring."""

    AUTO = "auto"
    """bfloat16 where the processor multiplies it in hardware, else float32."""
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


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
    dropout: Fraction = 0.1
    drop_neighbour: Fraction = 0.15
    """seq2seq: how often one input sentence is left out in training, for the baseline terms."""
    steps: Count = 4_000
    batch_tokens: Count = 8_192
    """Tokens of a batch, padding included, in training and in scoring."""
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
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


class HarvestConfig(Section):
    """Which pairs Origin scores for the Surrogate (§3.4)."""

    pairs: Annotated[int, Field(ge=30)] = 20_000
    """Pairs scored (the paper: 100 million)."""
    near: Fraction = 0.4
    """Share of pairs between a seed sentence and its neighbours in words."""
    same_document: Fraction = 0.3
    """Share of pairs from one document; what remains is drawn at random."""
    cluster: Annotated[int, Field(ge=2)] = 4
    """Sentences of a near or same-document cluster: all are paired with each other."""
    exclude: tuple[str, ...] = ()
    """Files whose lines or tab-separated cells must not be harvested, beside the built-in list."""
    shard_pairs: Annotated[int, Field(ge=10)] = 100
    """Pairs a shard: what is lost at most when a run is stopped. A shard is wholly train, dev or
    test, and its random pairs are drawn inside it."""
    train: Fraction = 0.98
    """Share of the shards; at least one shard each goes to dev and to test."""
    dev: Fraction = 0.01

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.near + self.same_document > 1:
            raise ValueError(f"near {self.near} + same_document {self.same_document} exceed 1")
        if self.train + self.dev >= 1:
            raise ValueError(f"train {self.train} + dev {self.dev} leave nothing for test")
        if self.pairs < 3 * self.shard_pairs:
            raise ValueError(
                f"pairs {self.pairs} make fewer than 3 shards of shard_pairs {self.shard_pairs}: "
                "train, dev and test need one each"
            )
        return self


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


class EvaluateConfig(Section):
    """What `firth run` evaluates at the end."""

    tasks: tuple[str, ...] = ()
    data_dir: str | None = None
    resamples: Count = 1_000
    """Bootstrap resamples of the 95 % intervals."""
