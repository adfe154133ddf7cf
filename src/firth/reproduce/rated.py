"""Rated pairs of STSb on which ablations are measured, and what word overlap makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.baselines.dice import Dice
from firth.evaluate.load import load_set
from firth.evaluate.metrics import Difference, Estimate, Metric, estimate, paired_difference
from firth.evaluate.task import find_task
from firth.lexical.idf import fit_idf_on_run
from firth.lexical.scorer import TextPair
from firth.lexical.tfidf import TfIdf
from firth.reproduce.registry import Request
from firth.run.files import fingerprint_value
from firth.run.run import Run

Floats = npt.NDArray[np.float64]
TASK = "sts-b"
DEFAULT_SPLIT = "test"


@dataclass(frozen=True, eq=False)
class Rated:
    """Pairs with human scores.

    Attributes:
        split: Of STSb.
        pairs: The two sentences of each pair.
        gold: Human scores, 0 to 5, shape (n,).
        whole: Number of pairs of the split.
        seed: Of the sample and of the intervals.
        resamples: Bootstrap resamples of an interval.
        notes: What the loader has to say about the set.
    """

    split: str
    pairs: tuple[TextPair, ...]
    gold: Floats
    whole: int
    seed: int
    resamples: int
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """`sts-b-test-300`: no other sample of this seed is called so."""
        return f"{TASK}-{self.split}-{len(self.pairs)}"

    @property
    def described(self) -> str:
        """The sample in words."""
        part = "all" if len(self.pairs) == self.whole else f"{len(self.pairs)} random pairs of the"
        return f"{part} {self.whole} pairs of STSb {self.split}, seed {self.seed}"

    def spearman(self, similarities: Floats) -> Estimate:
        """Spearman × 100 of some similarities with the human scores, and its 95 % interval."""
        return estimate(
            Metric.SPEARMAN, self.gold, similarities, seed=self.seed, resamples=self.resamples
        )

    def difference(self, first: Floats, second: Floats) -> Difference:
        """Spearman of the first minus that of the second, on the same resamples."""
        return paired_difference(
            Metric.SPEARMAN,
            (self.gold, first),
            (self.gold, second),
            seed=self.seed,
            resamples=self.resamples,
        )

    def word_overlap(self, run: Run) -> dict[str, Estimate]:
        """tf-idf (idf of the run's corpus) and Dice on these very pairs."""
        tfidf = TfIdf(fit_idf_on_run(run)).similarities(self.pairs)
        return {"tf-idf": self.spearman(tfidf), "Dice": dice(self)}

    @property
    def fingerprint(self) -> str:
        """Of the texts of the pairs, in their order."""
        return fingerprint_value([list(pair) for pair in self.pairs])


def rated_pairs(request: Request) -> Rated:
    """The pairs that `--split` and `--pairs` name.

    A smaller sample is part of a larger one (`EvaluationSet.sampled`).

    Raises:
        InputError: STSb cannot be found.
    """
    options, config = request.options, request.run.config
    data = load_set(find_task(TASK)[0], request.data_dir, options.split or DEFAULT_SPLIT)
    chosen = data.sampled(len(data.rows) if options.pairs is None else options.pairs, config.seed)
    return Rated(
        split=data.split,
        pairs=tuple(chosen.pairs),
        gold=np.array([row.score for row in chosen.rows], dtype=np.float64),
        whole=len(data.rows),
        seed=config.seed,
        resamples=config.evaluate.resamples,
        notes=data.notes,
    )


def dice(rated: Rated) -> Estimate:
    """The share of words in common, which needs no corpus."""
    return rated.spearman(Dice().similarities(rated.pairs))


def cells(found: Estimate) -> tuple[float | None, float | None, float | None]:
    """Value and both ends of the interval: three cells of a table."""
    return found.value, found.low, found.high


def interval(found: Estimate | Difference) -> list[float | int | None]:
    """[value, low, high, n], for the JSON."""
    return [found.value, found.low, found.high, found.n]


def flat(found: Estimate, places: Sequence[object]) -> list[float | None]:
    """The same value at every place of a plot."""
    return [found.value] * len(places)
