"""What a score means: which share of random pairs, of pairs of a document, of neighbours is lower.

A cosine of 0.62 says nothing by itself, and nothing across models. Beside the scores of pairs that
were drawn from the same corpus it does: the share of random pairs that score as high is the rate at
which chance alone would give such a match.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.corpus.drawn import Pairs
from firth.index import INDEX
from firth.index.index import Index
from firth.lexical.arrays import Floats
from firth.lexical.levels import Levels, percent
from firth.run.errors import DamagedError, InputError
from firth.run.files import read_json
from firth.run.run import Run
from firth.run.stage import Manifest
from firth.scale import SCALE
from firth.surrogate import SURROGATE

FILE = "scale.json"
_KEPT = ("scores", "below", "through")
_OF_VECTORS = frozenset({INDEX.name, SURROGATE.name})


class Scorer(StrEnum):
    """Whose scores."""

    VECTORS = "vectors"
    """Cosines of the index: the Surrogate's, or another model's."""
    ORIGIN = "origin"


NAMES = {
    Pairs.RANDOM: "random pairs",
    Pairs.SAME_DOCUMENT: "pairs of a document",
    Pairs.NEIGHBOURS: "neighbours",
}


@dataclass(frozen=True)
class Probability:
    """P(match | score) = 1 / (1 + exp(-(slope · score + intercept))), from pairs that were judged.

    Attributes:
        slope: Above 0.
        intercept: Of the line.
        n: Pairs.
        matches: Of them.
        brier: Mean squared error on pairs left out in turn (ten folds, or fewer).
        constant_brier: The same of their share of matches: what must be undercut.
    """

    slope: float
    intercept: float
    n: int
    matches: int
    brier: float
    constant_brier: float

    def of(self, scores: npt.ArrayLike) -> Floats:
        """Probabilities, in (0, 1)."""
        from scipy.special import expit

        found: Floats = expit(self.slope * np.asarray(scores, np.float64) + self.intercept)
        return found


@dataclass(frozen=True)
class Scale:
    """Where the scores of one scorer stand.

    Attributes:
        levels: Of each kind of pairs that the corpus has.
        probability: None where no pairs were judged.
    """

    levels: Mapping[Pairs, Levels]
    probability: Probability | None = None

    @classmethod
    def open(cls, run: str | Path | Run, scorer: Scorer = Scorer.VECTORS) -> "Scale":
        """The scale of a run's scores.

        Raises:
            MissingStageError: It is not built; the message names the command.
            InputError: It was not built for this scorer.
        """
        run = Run.open(run)
        stored = read_json(run.folder(SCALE) / FILE)["scorers"]
        if scorer not in stored:
            raise InputError(
                f"{run.path}: its scale has no scores of {scorer.value}. Build it again: "
                f"{SCALE.command} {run.path}"
            )
        return cls.parse(stored[scorer])

    @classmethod
    def current(cls, run: Run, scorer: Scorer) -> "Scale | None":
        """The scale of what the run answers now; None where it is not built, or of other scores."""
        if not run.has(SCALE):
            return None
        known = run.manifest(SCALE)
        other = {*_OF_VECTORS, "labels"}
        inputs = {INDEX.name} if scorer is Scorer.VECTORS else {*known.inputs} - other
        for name in inputs:
            found = Manifest.read(run.path / name)
            if found is None or found.digest != known.inputs.get(name):
                return None
        if scorer is Scorer.ORIGIN:
            decide = [name for name in known.config if not name.startswith(f"{SCALE.name}.")]
            if run.config.values(decide) != {name: known.config[name] for name in decide}:
                return None
        stored = read_json(run.folder(SCALE) / FILE)["scorers"]
        return cls.parse(stored[scorer]) if scorer in stored else None

    @classmethod
    def of_model(cls, run: Run, model: str | Path) -> "Scale | None":
        """The scale of a model's cosines: where it is the one whose vectors the index has."""
        with suppress(DamagedError):
            if run.has(INDEX) and Path(Index.open(run).model).resolve() == Path(model).resolve():
                return cls.current(run, Scorer.VECTORS)
        return None

    @classmethod
    def parse(cls, stored: Mapping[str, Any]) -> "Scale":
        """What `as_dict` gave."""
        levels = {
            Pairs(kind): Levels(found["n"], *(tuple(found[name]) for name in _KEPT))
            for kind, found in stored["levels"].items()
        }
        given = stored["probability"]
        return cls(levels, Probability(**given) if given else None)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            "levels": {
                kind.value: {"n": found.n} | {name: list(getattr(found, name)) for name in _KEPT}
                for kind, found in self.levels.items()
            },
            "probability": self.probability.__dict__ if self.probability else None,
        }

    def threshold(self, rate: float) -> float:
        """The lowest score that at most a share `rate` of random pairs reach: a false-match rate.

        It is the rate of one comparison. Who compares with a million sentences and wants one false
        match in all has to ask for a millionth. Errors as in `Levels.threshold`.
        """
        return self.levels[Pairs.RANDOM].threshold(rate)

    def shares(self, score: float) -> dict[str, float]:
        """Kind of pairs → share that scores lower; and `probability`, where pairs were judged."""
        found = {kind.value: float(at.share_below(score)) for kind, at in self.levels.items()}
        if self.probability:
            found["probability"] = float(self.probability.of(score))
        return found

    def describe(self, score: float) -> str:
        """In words: "higher than 99.7 % of random pairs, 93 % of neighbours"."""
        wanted = [kind for kind in (Pairs.RANDOM, Pairs.NEIGHBOURS) if kind in self.levels]
        text = "higher than " + ", ".join(
            f"{percent(float(self.levels[kind].share_below(score)), self.levels[kind].n)} "
            f"{NAMES[kind]}"
            for kind in wanted
        )
        if self.probability:
            text += f"; a match with probability {float(self.probability.of(score)):.2f}"
        return text


def with_shares(found: Mapping[str, Any], scale: Scale | None, score: float) -> dict[str, Any]:
    """Plain values of what has a score, and under `scale`, where it is known, what that means."""
    return {**found, "scale": scale.shares(score)} if scale else {**found}
