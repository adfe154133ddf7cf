"""What all ablations of Origin have in common: rated pairs, λ, fits, peers, notes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firth.evaluate.metrics import Estimate
from firth.origin.settings import Selection, Weights
from firth.reproduce.context_fits import READS, ContextFits, context_fits, deviations
from firth.reproduce.derived import with_generator
from firth.reproduce.differs import differing, differing_note
from firth.reproduce.options import RUN_WEIGHTS
from firth.reproduce.rated import Rated, cells, interval, rated_pairs
from firth.reproduce.registry import Request
from firth.reproduce.report import Row
from firth.run.errors import ConfigError
from firth.run.run import Run

CONTEXTS = 64
"""|C_s| where it is fixed and none is given (the paper: 500)."""


@dataclass(frozen=True, eq=False)
class Ablation:
    """An ablation about to be measured.

    Attributes:
        run: Whose stages the terms come from.
        rated: What it is measured on.
        weights: λ1 … λ4.
        shortlist: Contexts of a sentence that get their terms.
        overlap: tf-idf and Dice on the same pairs.
        request: What was asked for.
    """

    run: Run
    rated: Rated
    weights: Weights
    shortlist: int
    overlap: Mapping[str, Estimate]
    request: Request

    @classmethod
    def start(cls, request: Request, shortlist: int) -> "Ablation":
        """Find the pairs and the stages, before any work.

        Raises:
            InputError: STSb or the language model cannot be found.
            MissingStageError: The run lacks a stage that Origin needs.
        """
        rated = rated_pairs(request)
        check_stages(request)
        return cls.over(request, rated, with_generator(request.run, request.options), shortlist)

    @classmethod
    def over(cls, request: Request, rated: Rated, run: Run, shortlist: int) -> "Ablation":
        """The same over another run than that of the request."""
        weights = request.options.weights(request.run.config.origin.weights)
        return cls(run, rated, weights, shortlist, rated.word_overlap(run), request)

    def fits(self, selection: Selection = Selection.TWO_STEP) -> ContextFits:
        """The terms over shortlists made by `selection`."""
        return context_fits(self.run, self.rated, self.shortlist, selection)

    def overlap_rows(self, columns: int) -> list[Row]:
        """A row each for tf-idf and Dice, padded to `columns` cells."""
        return [
            Row(name, (*cells(one), *[None] * (columns - 3))) for name, one in self.overlap.items()
        ]

    def notes(self) -> list[str]:
        """What it was measured on and with."""
        values = ", ".join(f"{value:g}" for value in self.weights.model_dump().values())
        of_run = " (the run's)" if self.request.options.lambdas == RUN_WEIGHTS else ""
        model = self.request.options.model
        generator = f"{self.run.config.generator.backend.value}" + (f" {model}" if model else "")
        return [
            f"Measured on {self.rated.described}; low and high: 95 % bootstrap interval.",
            "The paper's Origin: raw terms, cosine, contexts by two-step selection; "
            f"λ = {values}{of_run}; generator {generator}.",
            "Printed: all of STSb test, a corpus of 100 billion tokens, λ not given.",
            *self.rated.notes,
        ]

    def looks(self, fits: ContextFits) -> list[str]:
        """How the terms vary: what explains the shape of a table."""
        return [deviations(fits), differing_note(differing(fits, self.weights))]

    def details(self, *fits: ContextFits) -> dict[str, Any]:
        """What the JSON keeps of every ablation."""
        return {
            "seed": self.rated.seed,
            "split": self.rated.split,
            "pairs": len(self.rated.pairs),
            "stages": self.run.inputs(*READS),
            "lambdas": self.weights.model_dump(mode="json"),
            "screened_chunks": self.run.config.retrieve.chunks,
            "shortlist": self.shortlist,
            "fits": {one.selection.value: one.digest for one in fits},
            "terms": {
                one.selection.value: {
                    name: {"mean": mean, "deviation": spread}
                    for name, (mean, spread) in one.spread.items()
                }
                for one in fits
            },
            "differing": {one.selection.value: dict(differing(one, self.weights)) for one in fits},
            "overlap": {name: interval(one) for name, one in self.overlap.items()},
        }


def check_stages(request: Request) -> None:
    """Raise `MissingStageError` if the run lacks a stage that Origin needs."""
    # A language model that is named takes the place of the run's generator.
    request.run.inputs(*(READS if request.options.model is None else READS[:-1]))


def fixed_size(request: Request, name: str) -> tuple[int, int]:
    """|C_s| and the shortlist, where |C_s| is fixed.

    Raises:
        ConfigError: The shortlist is below |C_s|.
    """
    contexts = request.options.contexts or CONTEXTS
    shortlist = request.options.shortlist or 2 * contexts
    if shortlist < contexts:
        raise ConfigError(name, [f"--shortlist: got {shortlist}, below --contexts {contexts}"])
    return contexts, shortlist
