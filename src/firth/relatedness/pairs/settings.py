"""What is asked of a sample of pairs: strategy, measure of overlap, limits."""

from dataclasses import dataclass
from enum import StrEnum

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
    """What to sample.

    Attributes:
        strategy: How pairs are chosen.
        pairs: How many; fewer if there are not so many.
        measure: Of overlap; None takes idf for buckets and Dice for all else.
        pool: Where pairs of sentences are looked for; not for pairs that are given.
        min_overlap: Least overlap, in [0, 1]; None takes 0.25 for the strategy overlap, else 0.
        max_overlap: Overlaps are below it; None takes 0.75 for the strategy overlap, else no limit.
        length_difference: Largest difference of the two numbers of words, as a share of the larger,
            in [0, 1]; None takes 0.25 for overlap and no limit for all else.
        min_words: Fewest words of a sentence.
        max_words: Most words of a sentence.
        buckets: Percentiles of overlap, 50 or 100 in the paper.
        growth: How the number of pairs grows with the bucket.
        steepness: How many times as many pairs the last bucket gives as the first, if exponential.
        examine: Pairs looked at; None takes what the pool needs (see `examined`).
        bins: Bins of equal width of the scores.
        score_range: Lowest and highest score.
        uses: In how many pairs a sentence may be; given pairs have no such limit.
        seed: Of every random choice.
        floor: Least overlap that the index looks for where no other is asked for, above 0.
        bands: Of equal width of overlap: a first sentence gives the pool of buckets one partner
            from each.
        searched: Partners for that pool are looked for among so many sentences, drawn at random.
    """

    strategy: Strategy
    pairs: int = 1_000
    measure: OverlapMeasure | None = None
    pool: PairPool = PairPool.INDEX
    min_overlap: float | None = None
    max_overlap: float | None = None
    length_difference: float | None = None
    min_words: int = 5
    max_words: int = 25
    buckets: int = 50
    growth: Growth = Growth.UNIFORM
    steepness: float = 100.0
    examine: int | None = None
    bins: int = 5
    score_range: tuple[float, float] = (0.0, 5.0)
    uses: int = 1
    seed: int = 13
    floor: float = 0.05
    bands: int = 20
    searched: int = 50_000

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
