"""Settings of the baselines that learn: one section of `baselines` in the configuration each."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from firth.settings import Count, Section

Rate = Annotated[float, Field(gt=0)]


class Stemmer(StrEnum):
    """What is left of a word before it is looked up."""

    NONE = "none"
    """The lowercased word itself."""
    PORTER = "porter"
    """Porter (1980), which the CBOS paper's toolkit has as its default."""
    ENGLISH = "english"
    """Porter's later Snowball stemmer."""


class WordSection(Section):
    """How sentences become words; the values of the CBOS paper (§IV-B)."""

    stemmer: Stemmer = Stemmer.PORTER
    min_count: Count = 5
    """Words seen less often are dropped."""
    max_words: Count = 120
    """A longer sentence is cut into pieces of this many words, which follow one another."""
    dimensions: Count = 100
    epochs: Count = 10


class WordVectorConfig(WordSection):
    """word2vec by gensim: skip-gram and CBOW, a sentence being the mean of its words."""

    stemmer: Stemmer = Stemmer.NONE
    window: Count = 5
    """Words on each side."""
    negatives: Count = 5
    subsample: Annotated[float, Field(ge=0)] = 1e-3
    """Words more frequent than this share are skipped at random; 0 for none."""
    workers: Count = 1
    """Threads; with more than one, equal seeds give different vectors."""


class BaselinesConfig(Section):
    """The trained baselines: `firth train baseline NAME`."""

    skip_gram: WordVectorConfig = WordVectorConfig()
    cbow: WordVectorConfig = WordVectorConfig()
