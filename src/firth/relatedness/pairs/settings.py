"""What is asked of a sample of pairs: strategy, measure of overlap, limits."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from firth.run.errors import ConfigError


class Strategy(StrEnum):
    """Ways of choosing pairs (Abdalla et al. 2021, §3.1 and Appendix A)."""

    GIVEN = "given"
    """Pairs of a file at random, as Wiki_pp: paraphrases, translations."""
    RANDOM = "random"
    """Sentences paired at random, as Stance (there within one target)."""
    OVERLAP = "overlap"
    """Sentences paired at random whose overlap lies within limits, as Wiki_r and SNLI."""
    BUCKETS = "buckets"
    """So many pairs from each percentile of overlap, as Goodreads, ParaNMT_pp, Formality_pp."""
    SCORES = "scores"
    """So many scored pairs from each bin of their scores, as STS."""


class OverlapMeasure(StrEnum):
    """Overlap of the sets A and B of the words of two sentences, in [0, 1]."""

    DICE = "dice"
    """2·|A ∩ B| / (|A| + |B|)."""
    IDF = "idf"
    """The same with each word counted by its idf among the sentences of the source."""
    FIRST = "first"
    """|A ∩ B| / |A|: the share of the first sentence, as in Appendix A.1.1."""


class PairPool(StrEnum):
    """Where pairs of sentences are looked for."""

    INDEX = "index"
    """A first sentence at random; its partners are all found through the inverted index."""
    RANDOM = "random"
    """Both sentences at random, until enough pairs fit or `examine` pairs have been seen."""


class Growth(StrEnum):
    """How many pairs each bucket gives, from the lowest overlap to the highest."""

    UNIFORM = "uniform"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True)
class SampleSettings:
    """What to sample. Every setting with a help text is an option of `firth pairs sample`."""

    strategy: Annotated[Strategy, "How pairs are chosen; see docs/pairs.md."]
    pairs: Annotated[int, "How many; fewer if there are not so many.", {"min": 1}] = 1_000
    measure: Annotated[OverlapMeasure | None, "Of overlap. Default: dice; idf for buckets."] = None
    pool: Annotated[PairPool, "Where pairs of sentences are looked for."] = PairPool.INDEX
    min_overlap: Annotated[
        float | None, "Least overlap, 0 to 1. Default: 0.25 for the strategy overlap, else 0."
    ] = None
    max_overlap: Annotated[
        float | None, "Overlaps are below this. Default: 0.75 for the strategy overlap."
    ] = None
    length_difference: Annotated[
        float | None,
        "Largest difference in length (words), as a share of the longer sentence, 0 to 1. Default: "
        "0.25 for the strategy overlap.",
    ] = None
    min_words: Annotated[int, "Fewest words of a sentence."] = 5
    max_words: Annotated[int, "Most words of a sentence."] = 25
    buckets: Annotated[int, "Percentile buckets of overlap; 50 or 100 in the paper."] = 50
    growth: Annotated[Growth, "Pairs a bucket, from low overlap to high."] = Growth.UNIFORM
    steepness: Annotated[float, "Exponential: the last bucket gives so many times the first."] = (
        100.0
    )
    examine: Annotated[
        int | None, "Pairs to look at. Default: 20 times --pairs; for pool random a million."
    ] = None
    bins: Annotated[int, "Bins of equal width of the scores."] = 5
    score_range: Annotated[tuple[float, float], "Lowest and highest score."] = (0.0, 5.0)
    uses: Annotated[int, "In how many pairs a sentence may be; given pairs have no limit."] = 1
    seed: Annotated[int, "Seed of every random choice.", {"min": 0}] = 13
    floor: float = 0.05
    """Least overlap that the index looks for where no other is asked for, above 0."""
    bands: int = 20
    """Of overlap, of equal width: a first sentence gives the pool of buckets a partner of each."""
    searched: int = 50_000
    """Partners for that pool are looked for among so many sentences, drawn at random."""

    def __post_init__(self) -> None:
        if problems := self._problems():
            raise ConfigError("sample of pairs", problems)

    @property
    def overlap(self) -> OverlapMeasure:
        """The measure of overlap that is used."""
        usual = OverlapMeasure.IDF if self.strategy is Strategy.BUCKETS else OverlapMeasure.DICE
        return self.measure or usual

    @property
    def overlap_range(self) -> tuple[float, float]:
        """Least overlap, and the one that must not be reached (above 1: no limit)."""
        low, high = (0.25, 0.75) if self.strategy is Strategy.OVERLAP else (0.0, 2.0)
        return (
            low if self.min_overlap is None else self.min_overlap,
            high if self.max_overlap is None else self.max_overlap,
        )

    @property
    def length_tolerance(self) -> float:
        """Largest difference in length that is used, as a share of the longer sentence."""
        usual = 0.25 if self.strategy is Strategy.OVERLAP else 1.0
        return usual if self.length_difference is None else self.length_difference

    @property
    def examined(self) -> int:
        """Most pairs to look at: through the index 20 times the pairs, at random a million."""
        if self.examine is not None:
            return self.examine
        return 20 * self.pairs if self.pool is PairPool.INDEX else max(1_000_000, 20 * self.pairs)

    def _problems(self) -> list[str]:
        low, high = self.overlap_range
        first, last = self.score_range
        tolerance = self.length_tolerance
        checks = (
            (self.pairs >= 1, f"pairs {self.pairs}: expected at least 1"),
            (0 <= low <= 1, f"min_overlap {low:g}: expected 0 to 1"),
            (low < high, f"max_overlap {high:g}: expected more than min_overlap, {low:g}"),
            (0 <= tolerance <= 1, f"length_difference {tolerance:g}: expected 0 to 1"),
            (self.min_words >= 1, f"min_words {self.min_words}: expected at least 1"),
            (self.min_words <= self.max_words,
             f"max_words {self.max_words}: expected at least min_words, {self.min_words}"),
            (self.buckets >= 2, f"buckets {self.buckets}: expected at least 2"),
            (self.steepness >= 1, f"steepness {self.steepness:g}: expected at least 1"),
            (self.examine is None or self.examine >= 1,
             f"examine {self.examine}: expected at least 1"),
            (self.bins >= 1, f"bins {self.bins}: expected at least 1"),
            (first < last, f"score_range {first:g} to {last:g}: expected the lower one first"),
            (self.uses >= 1, f"uses {self.uses}: expected at least 1"),
            (0 < self.floor <= 1, f"floor {self.floor:g}: expected more than 0, at most 1"),
            (self.bands >= 1, f"bands {self.bands}: expected at least 1"),
            (self.searched >= 2, f"searched {self.searched}: expected at least 2"),
        )  # fmt: skip
        return [problem for good, problem in checks if not good]
