"""Settings of the Surrogate."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from firth.run.section import Count, Fraction, Precision, Rate, Section


class Way(StrEnum):
    """What a student learns of its teacher."""

    MATRICES = "matrices"
    """The similarities of all sentences of a batch to each other, and where the teacher has
    sentence vectors, these."""
    PAPER = "paper"
    """The scores of harvested pairs, one by one (§3.4)."""


class Architecture(StrEnum):
    """How a Surrogate reads two sentences."""

    BI_ENCODER = "bi-encoder"
    """One after the other, each into a vector (Siamese)."""
    CROSS_ENCODER = "cross-encoder"
    """Together, into a score (§5.6)."""


class BaseKind(StrEnum):
    """The kinds of encoder to start from."""

    STATIC = "static"
    """Word vectors of the corpus, averaged."""
    TRANSFORMER = "transformer"
    """A Transformer with random weights."""
    LAYERS = "layers"
    """Some layers of the run's own language model, made to read in both directions."""
    PRETRAINED = "pretrained"
    """An encoder from a folder or hub."""

    @classmethod
    def of(cls, base: str) -> "BaseKind":
        """The kind of a base as the configuration names it."""
        return cls(base) if base in (cls.STATIC, cls.TRANSFORMER, cls.LAYERS) else cls.PRETRAINED


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
    """The encoder that a run's teacher is distilled into."""

    base: str = "static"
    """`static`: word vectors learned on the corpus, averaged; `transformer`: one from scratch;
    `layers`: some of the run's own language model; anything else: folder or hub name of an encoder,
    such as roberta-base."""
    way: Way | None = None
    """None takes `matrices`, but `paper` where the teacher is Origin as printed."""
    teacher: str | None = None
    """matrices: another run, or folder or hub name of any sentence encoder. None: the run's
    Origin."""
    sentences: Count = 100_000
    """matrices: corpus sentences that the teacher reads, at most."""
    learned: Count | None = None
    """matrices: how many of those that are not held out are learned from; None takes all."""
    near: Count = 8
    """matrices: sentences of a batch that the teacher finds alike; 1 leaves it to chance."""
    temperature: Rate = 0.05
    """matrices: of the softmax over the other sentences of a batch."""
    spread: Rate = 0.1
    """matrices: the standard deviation that the teacher's similarities are given before it."""
    vector_weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 5.0
    """matrices: weight of the loss of vectors, beside 1 for that of similarities."""
    precision: Precision = Precision.AUTO
    """matrices: number format of the products of a Transformer in training."""
    checkpoint_steps: Count = 200
    """Steps between two checkpoints."""
    dimensions: Count | None = None
    """static and transformer: size of the sentence vector. None takes 512 and 256."""
    vocabulary: Count = 100_000
    """static: words with a vector, the most frequent ones."""
    min_sentences: Count = 2
    """static: sentences of the corpus a word must be in to have a vector."""
    start_epochs: Count = 1
    """static: passes over neighbouring sentences (or parts of one) that teach the first vectors
    where the run has no stage `context` to take them from."""
    piece_length: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.6
    """static: length of a piece's own direction, that of the rarest word being 1."""
    numbers: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 2.0
    """static: how many times as long vectors of numbers are as they were. Chosen on STSb dev and
    STS12 (docs/research/surrogate.md)."""
    layers: Count = 4
    """transformer: its layers."""
    head_size: Count = 32
    """transformer: dimensions of an attention head; one head where they do not divide the size."""
    keep_layers: tuple[int, ...] | None = None
    """layers: numbers of those that are kept, from 0, or from -1 backwards. None takes the first
    six."""
    max_tokens: Annotated[int, Field(ge=4)] = 128
    """transformer and layers: tokens of a sentence that are read."""
    calibration: Calibration | None = None
    """paper: None takes what suits the base: `match` for static, `quantile` (the paper has no map)
    for the others, whose first cosines mean nothing."""
    scale_pairs: Annotated[int, Field(ge=2)] = 10_000
    """paper, match: training pairs whose cosines by the start give the scale of the labels."""
    epochs: Annotated[int, Field(ge=0)] | None = None
    """None takes 2; by way matrices, for static, 8 where a `teacher` is named, else none: the start
    holds what a sum of words can hold of Origin (docs/research/surrogate.md, 10 and 13)."""
    batch: Count | None = None
    """Sentences a step, or pairs. None takes 512 for static, 128 for layers,
    64 for the others."""
    learning_rate: Rate | None = None
    """Adam's, at its peak. None takes what suits the base: 2e-5 for a pretrained one, 5e-4 for
    the others."""
    parts: Count = 1
    """Of a Transformer: parts in which a batch is worked on: memory is that of one, and processes
    that torchrun starts share them. But for rounding and dropout, results are the same."""
    warmup: Fraction = 0.1
    """Share of the steps in which the rate rises; it falls linearly in the others."""
    looks: Count = 10
    """Times the agreement on dev is taken, evenly spread; the best weights are kept."""

    @property
    def kind(self) -> BaseKind:
        """What `base` names."""
        return BaseKind.of(self.base)

    @property
    def chosen_calibration(self) -> Calibration:
        """As configured, else what suits the base.

        A static start agrees with Origin already, and absolute labels would tear its cosines from
        their scale; those of the other bases mean nothing before training.
        """
        static = self.kind is BaseKind.STATIC
        return self.calibration or (Calibration.MATCH if static else Calibration.QUANTILE)

    @property
    def chosen_dimensions(self) -> int:
        """Size of the vector: as configured, else what suits the base."""
        return self.dimensions or (512 if self.kind is BaseKind.STATIC else 256)

    @property
    def chosen_batch(self) -> int:
        """Pairs a step: as configured, else what suits the base."""
        usual = {BaseKind.STATIC: 512, BaseKind.LAYERS: 128}
        return self.batch or usual.get(self.kind, 64)

    @property
    def chosen_rate(self) -> float:
        """The peak learning rate: as configured, else what suits the base."""
        return self.learning_rate or (2e-5 if self.kind is BaseKind.PRETRAINED else 5e-4)

    @property
    def chosen_parts(self) -> int:
        """Parts of a batch: as configured; one for a static model, which is quick."""
        return 1 if self.kind is BaseKind.STATIC else self.parts

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.way is Way.PAPER and self.teacher is not None:
            raise ValueError("`teacher` teaches by way matrices; way paper learns from the harvest")
        if self.way is Way.PAPER and self.kind is BaseKind.LAYERS:
            raise ValueError("base layers is taught by way matrices")
        if self.way is Way.PAPER and self.epochs == 0:
            raise ValueError("epochs: got 0; way paper needs one at least")
        if self.keep_layers is not None and not self.keep_layers:
            raise ValueError("keep_layers: got no layer; expected one at least")
        return self

    def steps(self, pairs: int) -> int:
        """Steps of a whole training on so many pairs, by way paper."""
        return self.passes(Way.PAPER) * -(-pairs // self.chosen_batch)

    def passes(self, way: Way) -> int:
        """Passes over what is learned from: as configured, else what suits the base."""
        if self.epochs is not None:
            return self.epochs
        if self.kind is BaseKind.STATIC and way is Way.MATRICES:
            return 8 if self.teacher is not None else 0
        return 2


class CrossEncoderConfig(Section):
    """The cross-encoder that a run's harvest is distilled into, beside its Surrogate (§5.6).

    What is not said here is as in `SurrogateConfig`, by way paper.
    """

    base: str = "transformer"
    """`transformer`: one from scratch; anything else: folder or hub name of an encoder, such as
    roberta-base."""
    dimensions: Count | None = None
    layers: Count = 4
    head_size: Count = 32
    max_tokens: Annotated[int, Field(ge=4)] = 256
    """transformer: tokens of both sentences that are read."""
    calibration: Calibration | None = None
    """None takes `quantile`."""
    epochs: Count | None = None
    """None takes 2."""
    batch: Count | None = None
    learning_rate: Rate | None = None
    parts: Count = 1
    warmup: Fraction = 0.1
    looks: Count = 10
    checkpoint_steps: Count = 200

    @property
    def student(self) -> SurrogateConfig:
        """The same as settings of a Surrogate."""
        return SurrogateConfig(way=Way.PAPER, **self.model_dump())

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (kind := BaseKind.of(self.base)) in (BaseKind.STATIC, BaseKind.LAYERS):
            raise ValueError(
                f"base: got {kind}, which has no layer that could see two sentences; expected "
                "transformer, or the folder or hub name of an encoder"
            )
        if self.calibration is Calibration.MATCH:
            raise ValueError(
                "calibration: got match, the scale of a start's cosines, of which a cross-encoder "
                "has none; expected quantile, zscore or none"
            )
        return self
