"""What a score means: which share of random pairs, of pairs of a document, of neighbours is lower.

A cosine of 0.62 says nothing by itself, and nothing across models. Beside the scores of pairs that
were drawn from the same corpus it does: the share of random pairs that score as high is the rate at
which chance alone would give such a match.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import floor, log10
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from firth.index import INDEX
from firth.lexical.arrays import Floats
from firth.run.errors import InputError
from firth.run.files import read_json
from firth.run.run import Run
from firth.run.stage import Manifest
from firth.scale import SCALE
from firth.surrogate import SURROGATE

FILE = "scale.json"
_TAIL, _KNOTS = 2_000, 1_000
"""The highest scores are kept one by one, the others at this many quantiles."""
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_ALL = 3.0
"""Of n pairs all are below: with 95 % confidence at most 3/n of all pairs are not."""


_KEPT = ("scores", "below", "through")
_OF_VECTORS = frozenset({INDEX.name, SURROGATE.name})


class Scorer(StrEnum):
    """Whose scores."""

    VECTORS = "vectors"
    """Cosines of the index: the Surrogate's, or another model's."""
    ORIGIN = "origin"


class Pairs(StrEnum):
    """Of which sentences."""

    RANDOM = "random"
    """Drawn from all documents, seldom from the same."""
    SAME_DOCUMENT = "same-document"
    """Drawn from one document."""
    NEIGHBOURS = "neighbours"
    """One after the other."""


NAMES = {
    Pairs.RANDOM: "random pairs",
    Pairs.SAME_DOCUMENT: "pairs of a document",
    Pairs.NEIGHBOURS: "neighbours",
}


@dataclass(frozen=True)
class Levels:
    """Scores of n pairs, ascending, the highest one by one and the others in steps.

    Attributes:
        n: Pairs that were drawn.
        scores: Of some of them, ascending.
        below: How many of the n score lower than each; ascending.
        through: How many score as high at most.
    """

    n: int
    scores: tuple[float, ...]
    below: tuple[int, ...]
    through: tuple[int, ...]

    @classmethod
    def of(cls, scores: npt.ArrayLike) -> "Levels":
        """Of drawn scores, shape (n,), n ≥ 1."""
        ordered = np.sort(np.asarray(scores, np.float64))
        n = len(ordered)
        low = np.linspace(0, max(0, n - _TAIL - 1), min(_KNOTS, max(1, n - _TAIL))).astype(int)
        kept = np.unique(ordered[np.concatenate((low, np.arange(max(0, n - _TAIL), n)))])
        below, through = (np.searchsorted(ordered, kept, side=side) for side in _SIDES)
        scores_kept = tuple(kept.round(6).tolist())
        return cls(n, scores_kept, tuple(below.tolist()), tuple(through.tolist()))

    def share_below(self, scores: npt.ArrayLike) -> Floats:
        """Share of the pairs that score lower, in [0, 1]; never falls as scores rise.

        Between two scores that are kept, the lower one decides: it is never too high a share.
        """
        asked = np.asarray(scores, np.float64)
        kept = np.asarray(self.scores)
        place = np.searchsorted(kept, asked, side="right") - 1
        at = np.maximum(place, 0)
        below = np.where(asked > kept[at], np.asarray(self.through)[at], np.asarray(self.below)[at])
        found: Floats = np.where(place < 0, 0.0, below / self.n)
        return found

    def threshold(self, rate: float) -> float:
        """The lowest score that a share of at most `rate` of pairs as these reach.

        It is the k-th highest of the n drawn scores with k / (n + 1) at most `rate`, so that the
        rate is kept on average over draws, however few they were.

        Raises:
            InputError: `rate` is not between 1 / (n + 1) and 1: so few pairs cannot tell.
        """
        allowed = floor(rate * (self.n + 1) + 1e-9)
        if not 0 < rate < 1 or allowed < 1:
            raise InputError(
                f"a rate of {rate:g}: expected one from {1 / (self.n + 1):.2g} to 1, for "
                f"{self.n:,} pairs were drawn. More can be: --set scale.pairs=N"
            )
        reached = self.n - np.asarray(self.below)  # pairs at or above each score that is kept
        fitting = np.flatnonzero(reached <= allowed)
        if not len(fitting):  # not even the highest: only what is above it
            return float(np.nextafter(self.scores[-1], np.inf))
        return float(self.scores[int(fitting[0])])


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


def percent(share: float, n: int) -> str:
    """A share of n pairs that are lower, as it can be said: never rounded up, never "100 %".

    Example:
        >>> percent(0.99719, 200_000), percent(0.999995, 200_000), percent(0.5, 200_000)
        ('99.7 % of', '99.9995 % of', '50 % of')
        >>> percent(1.0, 3_000)
        'all 3,000 (at least 99.9 %) of the'
    """
    if share >= 1.0:
        return f"all {n:,} (at least {_floored(1 - _ALL / max(n, 4))} %) of the"
    return f"{_floored(share)} % of"


def _floored(share: float) -> str:
    """In per cent, rounded down to as many digits as tell it from 100."""
    if share < 0.99:
        return f"{floor(100 * share + 1e-9)}"
    digits = max(0, -floor(log10(100 * (1 - share)) + 1e-9))
    return f"{floor(100 * share * 10**digits + 1e-6) / 10**digits:.{digits}f}"
