"""Rated pairs of STSb, and what all ablations on them share: peers, λ, terms, figures, notes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from firth.baselines.dice import Dice
from firth.corpus.statistics import fit_idf_on_run
from firth.evaluate.load import load_set
from firth.evaluate.metrics import Difference, Estimate, Metric, estimate, paired_difference
from firth.evaluate.task import find_task
from firth.lexical.scorer import TextPair
from firth.lexical.tfidf import TfIdf
from firth.paper.context_fit import Indices
from firth.paper.settings import Measure, Selection, Weights
from firth.reproduce.context_fits import (
    READS,
    ContextFits,
    Floats,
    context_fits,
    deviations,
    differing,
    differing_note,
)
from firth.reproduce.derived import with_generator
from firth.reproduce.options import RUN_WEIGHTS, Request
from firth.reproduce.report import Lines, Report, Row, intervals, row
from firth.run.errors import ConfigError
from firth.run.run import Run

TASK = "sts-b"
DEFAULT_SPLIT = "test"
CONTEXTS = 64
"""|C_s| where it is fixed and none is given (the paper: 500)."""


@dataclass(frozen=True, eq=False)
class Rated:
    """Pairs of a split of STSb with human scores.

    Attributes:
        gold: Human scores, 0 to 5, shape (n,).
        whole: Number of pairs of the split.
        seed: Of the sample and of the intervals, with so many `resamples`.
        caveats: What the loader has to say about the set.
    """

    split: str
    pairs: tuple[TextPair, ...]
    gold: Floats
    whole: int
    seed: int
    resamples: int
    caveats: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """`sts-b-test-300`: no other sample of this seed is called so."""
        return f"{TASK}-{self.split}-{len(self.pairs)}"

    @property
    def note(self) -> str:
        """The sample in words."""
        part = "all" if len(self.pairs) == self.whole else f"{len(self.pairs)} random pairs of the"
        return (
            f"Measured on {part} {self.whole} pairs of STSb {self.split}, seed {self.seed}; low "
            "and high: 95 % bootstrap interval."
        )

    @property
    def details(self) -> dict[str, Any]:
        """The sample for the JSON."""
        return {"seed": self.seed, "split": self.split, "pairs": len(self.pairs)}

    def spearman(self, similarities: Floats) -> Estimate:
        """Spearman × 100 of some similarities with the human scores, and its 95 % interval."""
        return estimate(
            Metric.SPEARMAN, self.gold, similarities, seed=self.seed, resamples=self.resamples
        )

    def difference(self, first: Floats, second: Floats) -> Difference:
        """Spearman of the first minus that of the second, on the same resamples."""
        return paired_difference(Metric.SPEARMAN, (self.gold, first), (self.gold, second),
                                 seed=self.seed, resamples=self.resamples)  # fmt: skip

    def dice(self) -> Estimate:
        """The share of words in common, which needs no corpus."""
        return self.spearman(Dice().similarities(self.pairs))

    def word_overlap(self, run: Run) -> dict[str, Estimate]:
        """tf-idf (idf of the run's corpus) and Dice on these very pairs."""
        tfidf = TfIdf(fit_idf_on_run(run)).similarities(self.pairs)
        return {"tf-idf": self.spearman(tfidf), "Dice": self.dice()}


def rated_pairs(request: Request) -> Rated:
    """The pairs that `--split` and `--pairs` name; a smaller sample is part of a larger one.

    Raises:
        InputError: STSb cannot be found, or no run was named.
    """
    options, config = request.options, request.run.config
    data = load_set(find_task(TASK)[0], request.data_dir, options.split or DEFAULT_SPLIT)
    chosen = data.sampled(len(data.rows) if options.pairs is None else options.pairs, config.seed)
    gold = np.array([row.score for row in chosen.rows], dtype=np.float64)
    return Rated(data.split, tuple(chosen.pairs), gold, len(data.rows), config.seed,
                 config.evaluate.resamples, data.notes)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Measured:
    """Origin on the rated pairs: Eq. 4 of each, shape (n,), and the correlations with the human
    scores of these and of the centred form."""

    similarities: Floats
    cosine: Estimate
    centred: Estimate


@dataclass(frozen=True, eq=False)
class Ablation:
    """An ablation about to be measured on `rated`: the terms come from the stages of `run`, over a
    shortlist of so many contexts of each sentence."""

    request: Request
    run: Run
    rated: Rated
    shortlist: int

    @classmethod
    def start(cls, request: Request, shortlist: int) -> "Ablation":
        """Find the pairs and the stages, before any work.

        Raises:
            InputError: STSb or the language model cannot be found.
            MissingStageError: The run lacks a stage that Origin needs.
        """
        rated = rated_pairs(request)
        check_stages(request)
        return cls(request, with_generator(request.run, request.options), rated, shortlist)

    @property
    def weights(self) -> Weights:
        """λ1 … λ4."""
        return self.request.options.weights(self.request.run.config.paper.weights)

    @cached_property
    def overlap(self) -> Mapping[str, Estimate]:
        """tf-idf and Dice on the same pairs."""
        return self.rated.word_overlap(self.run)

    def fits(
        self, selection: Selection = Selection.TWO_STEP, shortlist: int | None = None
    ) -> ContextFits:
        """The terms over shortlists made by `selection`, of the ablation's length or another."""
        length = shortlist or self.shortlist
        return context_fits(self.run, self.rated.name, self.rated.pairs, length, selection)

    def measured(
        self, fits: ContextFits, kept: Sequence[tuple[Indices, Indices]], size: int,
        weights: Weights | None = None,
    ) -> Measured:  # fmt: skip
        """Origin over the first `size` contexts of the sets in `kept`, by both measures."""
        cosine, centred = (
            fits.similarities(kept, size, weights or self.weights, measure)
            for measure in (Measure.COSINE, Measure.CENTRED)
        )
        return Measured(cosine, self.rated.spearman(cosine), self.rated.spearman(centred))

    def notes(self) -> list[str]:
        """What it was measured on and with."""
        values = ", ".join(f"{value:g}" for value in self.weights.model_dump().values())
        of_run = " (the run's)" if self.request.options.lambdas == RUN_WEIGHTS else ""
        model = self.request.options.model
        generator = self.run.config.generator.backend.value + (f" {model}" if model else "")
        return [
            self.rated.note,
            "The paper's Origin: raw terms, cosine, contexts by two-step selection; "
            f"λ = {values}{of_run}; generator {generator}.",
            "Printed: all of STSb test, a corpus of 100 billion tokens, λ not given.",
            *self.rated.caveats,
        ]

    def looks(self, fits: ContextFits) -> list[str]:
        """How the terms vary: what explains the shape of a table."""
        return [deviations(fits), differing_note(differing(fits, self.weights))]

    def details(self, *fits: ContextFits) -> dict[str, Any]:
        """What the JSON keeps of every ablation."""
        return self.rated.details | {
            "stages": self.run.inputs(*READS),
            "lambdas": self.weights.model_dump(mode="json"),
            "screened_chunks": self.run.config.retrieve.chunks,
            "shortlist": self.shortlist,
            "fits": {one.selection.value: one.digest for one in fits},
            "terms": {
                one.selection.value: {name: dict(zip(("mean", "deviation"), both, strict=True))
                                      for name, both in one.spread.items()}
                for one in fits
            },
            "differing": {one.selection.value: differing(one, self.weights) for one in fits},
            "overlap": intervals(self.overlap),
        }  # fmt: skip

    def report(
        self, title: str, columns: tuple[str, ...], rows: Sequence[Row], plot: Lines,
        notes: Sequence[str], details: Mapping[str, Any], *fits: ContextFits,
    ) -> Report:  # fmt: skip
        """What was found over `fits`, with the rows, notes and details of every ablation."""
        rows = [*rows, *(row(name, one) for name, one in self.overlap.items())]
        notes, details = [*self.notes(), *notes], self.details(*fits) | dict(details)
        return Report(self.request.name, title, columns, rows, plot, notes, details)


def check_stages(request: Request) -> None:
    """Raise `MissingStageError` if the run lacks a stage that Origin needs."""
    # A language model that is named takes the place of the run's generator.
    request.run.inputs(*(READS if request.options.model is None else READS[:-1]))


def fixed_size(request: Request) -> tuple[int, int]:
    """|C_s| and the shortlist, where |C_s| is fixed.

    Raises:
        ConfigError: The shortlist is below |C_s|.
    """
    contexts = request.options.contexts or CONTEXTS
    shortlist = request.options.shortlist or 2 * contexts
    if shortlist < contexts:
        problem = f"--shortlist: got {shortlist}, below --contexts {contexts}"
        raise ConfigError(request.name, [problem])
    return contexts, shortlist
