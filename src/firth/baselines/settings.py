"""Settings of the baselines that learn: one section of `baselines` in the configuration each."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from firth.context.settings import BagConfig
from firth.corpus.settings import WordSection
from firth.lexical.words import Stemmer
from firth.run.section import Count, Fraction, Rate, Section


class Likeness(StrEnum):
    """How an anchor and a candidate are compared while learning."""

    DOT = "dot"
    """Their product, as in Eq. 6 of CBOS."""
    COSINE = "cosine"
    """Their cosine, as in Siamese CBOW."""


class Optimiser(StrEnum):
    """How word vectors follow their gradient; the paper does not say."""

    SGD = "sgd"
    """The gradient times the rate, as in word2vec."""
    ADAGRAD = "adagrad"
    """The same, divided by the root of what the word's squared gradients have summed up to."""


class NeighbourSection(WordSection):
    """Sentence vectors that must tell neighbours from random sentences."""

    epochs: Count = 10
    window: Count = 1
    """k, neighbours on each side (the papers: 1)."""
    negatives: Count = 2
    """m, sentences drawn uniformly from the corpus for each centre (the papers: 2)."""
    batch: Count = 10
    """Centres whose gradients are summed in a step (CBOS: 10)."""
    optimiser: Optimiser = Optimiser.ADAGRAD
    learning_rate: Rate = 0.1
    """At the start; it falls linearly to 0."""
    spread: Rate = 0.1
    """Standard deviation of the first word vectors."""
    temperature: Rate = 1.0
    """Divides the likenesses before the softmax; 1 is as printed."""


class CbosConfig(NeighbourSection):
    """CBOS: the mean of the neighbours' sums predicts the sentence (Eqs. 4 to 7)."""

    likeness: Likeness = Likeness.DOT


class SiameseCbowConfig(NeighbourSection):
    """Siamese CBOW: a sentence predicts its neighbours, by cosine."""

    stemmer: Stemmer = Stemmer.NONE
    epochs: Count = 5
    batch: Count = 100


class WordVectorConfig(WordSection):
    """word2vec by gensim: skip-gram and CBOW, a sentence being the mean of its words."""

    stemmer: Stemmer = Stemmer.NONE
    epochs: Count = 5
    window: Count = 5
    """Words on each side."""
    negatives: Count = 5
    subsample: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1e-3
    """Words more frequent than this share are skipped at random; 0 for none."""
    workers: Count = 1
    """Threads; with more than one, equal seeds give different vectors."""


class SkipThoughtConfig(WordSection):
    """Skip-thought vectors, small: a GRU encoder and two decoders (Kiros et al. 2015)."""

    stemmer: Stemmer = Stemmer.NONE
    min_count: Count = 20
    max_words: Count = 30
    dimensions: Count = 100
    """Size of a word vector."""
    hidden: Count = 256
    """Size of the sentence vector (the original: 2,400)."""
    steps: Count = 1_000
    batch: Count = 64
    sampled_words: Count = 1_000
    """Words that stand for the whole vocabulary in a step's softmax, about."""
    learning_rate: Rate = 2e-3
    warmup: Fraction = 0.05
    """Share of the steps in which the learning rate rises to its peak."""


class Pooled(StrEnum):
    """How token vectors become a sentence vector."""

    MEAN = "mean"
    CLS = "cls"


class EncoderConfig(Section):
    """An encoder tuned on the corpus, without any label."""

    base: str | None = None
    """Folder or hub name of the encoder to start from."""
    sentences: Count = 100_000
    """At most so many sentences of the corpus, evenly spaced."""
    epochs: Count = 1
    batch: Count = 64
    learning_rate: Rate = 3e-5
    warmup: Fraction = 0.1
    """Share of the steps in which the learning rate rises to its peak."""
    max_tokens: Annotated[int, Field(ge=4)] = 64
    """Longer sentences are cut, in training and in use."""
    pooling: Pooled = Pooled.CLS
    """Of a base that says nothing about it."""


class SimcseConfig(EncoderConfig):
    """SimCSE, unsupervised; the values of Gao et al. (2021) for BERT-base."""

    temperature: Rate = 0.05
    """Cosines are divided by it."""


class TsdaeConfig(EncoderConfig):
    """TSDAE; the values of Wang et al. (2021)."""

    batch: Count = 8
    deletion: Annotated[float, Field(ge=0, lt=1)] = 0.6
    """Share of words deleted."""


class CtConfig(EncoderConfig):
    """Contrastive Tension; the values of Carlsson et al. (2021)."""

    batch: Count = 16
    learning_rate: Rate = 1e-5
    pooling: Pooled = Pooled.MEAN
    negatives: Count = 7
    """Different sentences for each same one."""


class BaselinesConfig(Section):
    """The trained baselines: `firth train baseline NAME`."""

    skip_gram: WordVectorConfig = WordVectorConfig()
    cbow: WordVectorConfig = WordVectorConfig()
    siamese_cbow: SiameseCbowConfig = SiameseCbowConfig()
    cbos: CbosConfig = CbosConfig()
    bag: BagConfig = BagConfig()
    skip_thought: SkipThoughtConfig = SkipThoughtConfig()
    simcse: SimcseConfig = SimcseConfig()
    tsdae: TsdaeConfig = TsdaeConfig()
    ct: CtConfig = CtConfig()
