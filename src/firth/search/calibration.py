"""Calibration: what a score means, measured on pairs of sentences of the same corpus.

A cosine of 0.62 says nothing by itself, and nothing across models. The share of random pairs that
score as high is the rate at which chance alone gives such a match. The same is measured on pairs of
sentences of one document, which share a subject, and on neighbors.
"""

import csv
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from math import floor, log10
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.encoders.static import ENCODER
from firth.run.console import table
from firth.run.errors import InputError
from firth.run.files import fingerprint_file, read_json, write_json
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.settings import values_of
from firth.run.stage import Outcome, Stage
from firth.scorer.scorer import Scorer
from firth.search.index import INDEX, Index
from firth.text.arrays import Floats, Ints, starts
from firth.text.pairs import TextPair

CALIBRATION = Stage("calibration", 1)
Scores = Literal["encoder", "scorer"]
"""Cosines of the index, or similarities of the run's scorer."""
_FILE = "calibration.json"
_FEWER = 40
"""The scorer, which is slower, scores one pair for so many that the encoder compares."""
_OTHERS = 4
"""Pairs of a document, and neighbors, are one for so many random pairs."""
_ROWS = 8_192
_TAIL, _KNOTS = 2_000, 1_000
"""The highest scores are kept one by one, the others at this many quantiles."""
_COUNTED, _TOP = 50, 0.01
_SAME = 0.999
_SURE = 0.95
_ALL = 3.0
"""If all of n pairs are below, at most 3/n of all pairs are not, with 95 % confidence."""
_YES, _NO = frozenset({"1", "1.0", "true", "yes"}), frozenset({"0", "0.0", "false", "no"})
_RATES = (0.1, 0.01, 0.001, 0.0001)
_FOLDS, _REGULARIZATION = 10, 100.0


class PairKind(StrEnum):
    """Kinds of pairs of corpus sentences."""

    RANDOM = "random"
    """Two sentences of the corpus."""
    SAME_DOCUMENT = "same-document"
    """Two sentences of a document."""
    NEIGHBORS = "neighbors"
    """A sentence and the next one."""


_NAMES = {
    PairKind.RANDOM: "random pairs",
    PairKind.SAME_DOCUMENT: "pairs of a document",
    PairKind.NEIGHBORS: "neighbors",
}


@dataclass(frozen=True)
class Levels:
    """The scores of n drawn pairs: the highest one by one, the others in steps.

    Attributes:
        n: Number of drawn pairs.
        scores: Scores of some of them, ascending.
        below: How many of the n score lower than each; ascending.
        through: How many score at most as high.
    """

    n: int
    scores: tuple[float, ...]
    below: tuple[int, ...]
    through: tuple[int, ...]

    @classmethod
    def of(cls, scores: npt.ArrayLike) -> "Levels":
        """Return the levels of drawn scores, (n,), n at least 1."""
        ordered = np.sort(np.asarray(scores, np.float64))
        n = len(ordered)
        low = np.linspace(0, max(0, n - _TAIL - 1), min(_KNOTS, max(1, n - _TAIL))).astype(int)
        kept = np.unique(ordered[np.concatenate((low, np.arange(max(0, n - _TAIL), n)))])
        below = np.searchsorted(ordered, kept, side="left")
        through = np.searchsorted(ordered, kept, side="right")
        return cls(n, tuple(kept.round(6).tolist()), tuple(below.tolist()), tuple(through.tolist()))

    @cached_property
    def _arrays(self) -> tuple[Floats, Ints, Ints]:
        # A hit asks several times, and converting thousands of Python numbers is slow.
        return np.asarray(self.scores), np.asarray(self.below), np.asarray(self.through)

    def share_below(self, score: float) -> float:
        """Return the share of pairs that score lower, in [0, 1].

        It never falls as scores rise, and it is never too high: between two kept scores the lower
        one decides.
        """
        kept, below, through = self._arrays
        at = int(np.searchsorted(kept, score, side="right")) - 1
        if at < 0:
            return 0.0
        return float((through[at] if score > kept[at] else below[at]) / self.n)

    def threshold(self, rate: float) -> float:
        """Return the lowest score that a share of at most `rate` of such pairs reaches.

        It is the k-th highest of the n scores with k / (n + 1) at most `rate`, so that the rate
        holds on average over draws, however few they were.

        Raises:
            InputError: `rate` is not between 1 / (n + 1) and 1; so few pairs cannot tell.
        """
        allowed = floor(rate * (self.n + 1) + 1e-9)
        if not 0 < rate < 1 or allowed < 1:
            raise InputError(
                f"a false-match rate of {rate:g}: expected one from {1 / (self.n + 1):.2g} to 1, "
                f"because {self.n:,} pairs were drawn. Draw more: --set calibration.pairs=N"
            )
        reached = self.n - self._arrays[1]  # Pairs at or above each kept score.
        fitting = np.flatnonzero(reached <= allowed)
        if not len(fitting):  # Only what is above the highest score.
            return float(np.nextafter(self.scores[-1], np.inf))
        return self.scores[int(fitting[0])]

    def tail_threshold(self, rate: float) -> float:
        """Return the score that a share `rate` of such pairs reaches, extrapolated where needed.

        Where fewer than 50 scores are that high, the tail is taken to fall exponentially from the
        top hundredth on, as peaks over a threshold do (Pickands 1975, with shape 0). The median of
        the tail sets its slope, because its highest pairs may say the same.

        Args:
            rate: In (0, 1).
        """
        tail = min(self.n, max(10, round(_TOP * self.n)))
        if rate * self.n >= min(_COUNTED, tail):
            return self._nth_highest(max(1, floor(rate * self.n)))
        start, middle = self._nth_highest(tail), self._nth_highest(max(1, tail // 2))
        return float(start + (middle - start) / np.log(2) * np.log(tail / self.n / rate))

    def _nth_highest(self, rank: int) -> float:
        at = int(np.searchsorted(self._arrays[2], self.n - rank, side="right"))
        return self.scores[min(at, len(self.scores) - 1)]


@dataclass(frozen=True)
class Probability:
    """P(match | score) = 1 / (1 + exp(-(slope * score + intercept))), from judged pairs.

    Attributes:
        slope: Above 0.
        intercept: Any number.
        n: Number of judged pairs.
        matches: Number of those that match.
        brier: Mean squared error on pairs left out in turn, in [0, 1].
        constant_brier: The same of a constant probability, which a useful score must undercut.
    """

    slope: float
    intercept: float
    n: int
    matches: int
    brier: float
    constant_brier: float

    def of(self, score: float) -> float:
        """Return the probability that a pair with this score matches, in (0, 1)."""
        return float(_logistic(np.array(self.slope * score + self.intercept)))


@dataclass(frozen=True)
class Calibration:
    """What the scores of one model mean in one corpus.

    Attributes:
        levels: Scores of drawn pairs, for each kind of pairs that the corpus has.
        probability: Probability of a match; None where no pairs were judged.
    """

    levels: Mapping[PairKind, Levels]
    probability: Probability | None = None

    @classmethod
    def open(cls, run: str | Path | Run, scores: Scores = "encoder") -> "Calibration":
        """Open the calibration of a run.

        Raises:
            MissingStageError: It is not built.
        """
        run = Run.open(run)
        return cls.parse(read_json(run.folder(CALIBRATION) / _FILE)[scores])

    @classmethod
    def current(cls, run: Run, scores: Scores = "encoder") -> "Calibration | None":
        """Return the calibration of what the run computes now; None where there is none."""
        if not run.has(CALIBRATION):
            return None
        known = run.manifest(CALIBRATION)
        stages = [INDEX] if scores == "encoder" else Scorer.reads(run)
        if not all(run.has(stage) for stage in stages):
            return None
        now: dict[str, Any] = dict(run.inputs(*stages))
        if scores == "scorer":
            now |= values_of(run.settings, Scorer.settings(run))
        before = {**known.inputs, **known.settings}
        if any(before.get(name) != value for name, value in now.items()):
            return None
        return cls.open(run, scores)

    @classmethod
    def parse(cls, stored: Mapping[str, Any]) -> "Calibration":
        """Return what `as_dict` was called on."""
        levels = {
            PairKind(kind): Levels(
                n=each["n"],
                scores=tuple(each["scores"]),
                below=tuple(each["below"]),
                through=tuple(each["through"]),
            )
            for kind, each in stored["levels"].items()
        }
        probability = stored["probability"]
        return cls(levels, Probability(**probability) if probability else None)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "levels": {kind.value: asdict(levels) for kind, levels in self.levels.items()},
            "probability": asdict(self.probability) if self.probability else None,
        }

    def threshold(self, false_match_rate: float) -> float:
        """Return the lowest score that at most this share of random pairs reaches.

        The rate is that of one comparison. Among a million sentences, a rate of 0.0001 gives a
        query a hundred false matches.

        Raises:
            InputError: The rate is not in (0, 1), or the drawn pairs are too few for it.
        """
        return self.levels[PairKind.RANDOM].threshold(false_match_rate)

    def threshold_within(self, rate: float) -> float | None:
        """Return the score that a share `rate` of pairs of different sentences of a document reach.

        They share a subject and mostly say different things. None: the corpus has too few such
        pairs, or its documents repeat themselves so much that the threshold would be 0.95 or more.

        Args:
            rate: In (0, 1).
        """
        levels = self.levels.get(PairKind.SAME_DOCUMENT)
        if levels is None or levels.n < 1_000:
            return None
        same = 1 - levels.share_below(_SAME)  # Quotations: the same sentence twice.
        threshold = levels.tail_threshold(min(same + rate * (1 - same), 0.999))
        return threshold if threshold < _SURE else None

    def percentiles(self, score: float) -> dict[str, float]:
        """Return, for each kind of pairs, the share that scores lower, in [0, 1].

        Where pairs were judged, `probability` is the probability of a match.
        """
        shares = {kind.value: levels.share_below(score) for kind, levels in self.levels.items()}
        if self.probability:
            shares["probability"] = self.probability.of(score)
        return shares

    def describe(self, score: float) -> str:
        """Return the percentiles in words.

        For example: "higher than 99.7 % of random pairs, 93 % of neighbors".
        """
        kinds = [kind for kind in (PairKind.RANDOM, PairKind.NEIGHBORS) if kind in self.levels]
        text = "higher than " + ", ".join(
            f"{percent(self.levels[kind].share_below(score), self.levels[kind].n)} {_NAMES[kind]}"
            for kind in kinds
        )
        if self.probability:
            text += f"; a match with probability {self.probability.of(score):.2f}"
        return text

    def text(self) -> str:
        """Return a table of thresholds for rates of false matches, and the judged pairs."""
        rows = [["false matches", "threshold"]]
        for rate in _RATES:
            if rate * (self.levels[PairKind.RANDOM].n + 1) >= 1:
                rows.append([f"{100 * rate:g} %", f"{self.threshold(rate):.3f}"])
        lines = [table(rows)]
        if p := self.probability:
            lines.append(
                f"{p.n:,} judged pairs, {p.matches:,} matches: squared error {p.brier:.3f}; a "
                f"constant has {p.constant_brier:.3f}"
            )
        return "\n\n".join(lines)


def percent(share: float, n: int) -> str:
    """Return the share of n pairs that score lower, in words; it is never rounded up.

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
    """Return a share in per cent, rounded down to the first digit that is not 9."""
    if share < 0.99:
        return f"{floor(100 * share + 1e-9)}"
    digits = max(0, -floor(log10(100 * (1 - share)) + 1e-9))
    return f"{floor(100 * share * 10**digits + 1e-6) / 10**digits:.{digits}f}"


# --- Building ----------------------------------------------------------------------------------


def build_calibration(run: Run, labels: Path | None = None) -> Outcome:
    """Draw pairs of sentences, and keep what the encoder of the index and the scorer say of them.

    Args:
        run: A run with an index and a scorer.
        labels: TSV file of judged pairs: two sentences, and 1 for a match or 0.

    Raises:
        MissingStageError: The run has no index, or no scorer.
        InputError: The corpus has fewer than two sentences, or the labels cannot be used.
    """
    inputs = {"corpus": Corpus.open(run, "all").digest}
    judged = None
    if labels is not None:
        judged = read_labels(labels)
        inputs["labels"] = fingerprint_file(labels)
    reads = [INDEX, *([] if run.settings.search.encoder else [ENCODER])]
    reads += [stage for stage in Scorer.reads(run) if stage not in reads]

    def fill(_: Run, workspace: Path) -> Mapping[str, Any]:
        index, scorer = Index.open(run), Scorer.open(run)
        corpus, pairs = index.corpus, run.settings.calibration.pairs
        if len(corpus) < 2:
            raise InputError(f"{run.path}: has one sentence; expected two to compare")
        seed = derive_seed(run.settings.seed, "scale")

        def cosines(one: Ints, two: Ints) -> Floats:
            blocks = [slice(at, at + _ROWS) for at in range(0, len(one), _ROWS)]
            products = [
                np.einsum("nd,nd->n", index.vectors(one[at]), index.vectors(two[at]))
                for at in blocks
            ]
            whole: Floats = np.clip(np.concatenate(products), -1.0, 1.0).astype(np.float64)
            return whole

        def similarities(one: Ints, two: Ints) -> Floats:
            return scorer.similarities(list(zip(corpus.texts(one), corpus.texts(two), strict=True)))

        def encoded(texts: list[TextPair]) -> Floats:
            one, two = (index.encoder.encode([pair[side] for pair in texts]) for side in (0, 1))
            products: Floats = np.einsum("nd,nd->n", one, two).astype(np.float64)
            return products

        fewer = max(100, pairs // _FEWER)
        calibrations = {
            "encoder": _calibrate(corpus, pairs, seed, cosines, encoded, judged),
            "scorer": _calibrate(corpus, fewer, seed, similarities, scorer.similarities, judged),
        }
        write_json(workspace / _FILE, {k: each.as_dict() for k, each in calibrations.items()})
        return {
            name: {kind.value: levels.n for kind, levels in each.levels.items()}
            for name, each in calibrations.items()
        }

    settings = ["seed", "calibration", "search.encoder", *Scorer.settings(run)]
    return run.build(CALIBRATION, fill, reads=reads, settings=settings, inputs=inputs)


def _calibrate(
    corpus: Corpus,
    pairs: int,
    seed: int,
    score: Callable[[Ints, Ints], Floats],
    score_texts: Callable[[list[TextPair]], Floats],
    judged: tuple[list[TextPair], Ints] | None,
) -> Calibration:
    levels = {}
    for kind in PairKind:
        wanted = pairs if kind is PairKind.RANDOM else pairs // _OTHERS
        one, two = draw_pairs(corpus.document_bounds, kind, wanted, seed)
        if len(one):
            levels[kind] = Levels.of(score(one, two))
    probability = fit_probability(score_texts(judged[0]), judged[1], seed) if judged else None
    return Calibration(levels, probability)


def draw_pairs(bounds: Ints, kind: PairKind, most: int, seed: int) -> tuple[Ints, Ints]:
    """Draw pairs of sentences; return the numbers of the first and second sentence of each.

    No sentence is paired with itself. Neighbors are drawn without repetition, the others
    independently of each other.

    Args:
        bounds: First sentence of each document, and the number of all (`Corpus.document_bounds`).
        kind: Which pairs.
        most: Number of pairs; there are fewer where the corpus has fewer.
        seed: Seed of the draw.
    """
    rng = np.random.default_rng(derive_seed(seed, kind.value))
    lengths, n = np.diff(bounds), int(bounds[-1])
    if kind is PairKind.NEIGHBORS:
        there = int(np.maximum(lengths - 1, 0).sum())
        drawn = np.sort(rng.choice(there, min(most, there), replace=False))
        chosen = _among(bounds, np.maximum(lengths - 1, 0), drawn)
        return chosen, chosen + 1
    if kind is PairKind.RANDOM:
        one = rng.integers(0, n, min(most, n * (n - 1) // 2))
        two = rng.integers(0, n - 1, len(one))
        return one, two + (two >= one)
    # Every sentence is equally likely.
    several = np.where(lengths > 1, lengths, 0)
    there = int((lengths * (lengths - 1) // 2).sum())
    drawn = rng.choice(int(several.sum()), min(most, there)) if there else np.empty(0, np.int64)
    one = _among(bounds, several, drawn)
    documents = np.searchsorted(bounds, one, side="right") - 1
    two = bounds[documents] + (rng.random(len(one)) * (lengths[documents] - 1)).astype(np.int64)
    return one, two + (two >= one)


def _among(bounds: Ints, counts: Ints, places: Ints) -> Ints:
    """Return the sentences at some places among the first `counts` of each document."""
    before = starts(counts)
    documents = np.searchsorted(before, places, side="right") - 1
    numbers: Ints = bounds[documents] + places - before[documents]
    return numbers


# --- Judged pairs ------------------------------------------------------------------------------


def read_labels(path: Path) -> tuple[list[TextPair], Ints]:
    """Read judged pairs from a TSV file: two sentences, and 1 for a match or 0.

    Raises:
        InputError: The file cannot be read, some lines are invalid, or a label is too rare.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    pairs, labels, problems = [], [], []
    for number, row in enumerate(rows, start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        label = cells[2].lower() if len(cells) > 2 else ""
        if label not in _YES | _NO or not all(cells[:2]):
            line = "\t".join(row)
            problems.append(f"line {number}: expected two sentences and 1 or 0, got {line!r:.80}")
            continue
        pairs.append((cells[0], cells[1]))
        labels.append(int(label in _YES))
    if problems:
        more = [f"and {len(problems) - 10} more"] if len(problems) > 10 else []
        raise InputError(f"{path}:\n  " + "\n  ".join([*problems[:10], *more]))
    rarer = min(labels.count(1), labels.count(0))
    if rarer < 2:
        raise InputError(f"{path}: has {rarer} pairs of one label; expected at least 2 of each")
    return pairs, np.array(labels, np.int64)


def fit_probability(scores: Floats, labels: Ints, seed: int) -> Probability:
    """Fit the logistic curve of a match by its score (Platt 1999), and measure it by folds.

    Args:
        scores: Scores of judged pairs, (n,).
        labels: 1 for a match, else 0, (n,); at least 2 of each.
        seed: Seed of the folds.

    Raises:
        InputError: Pairs that match do not score higher than the others.
    """
    slope, intercept = _fit_logistic(scores, labels)
    if slope <= 0:
        raise InputError(
            "the labels: pairs that match score no higher than the others. Expected 1 for a match"
        )
    rng, fold = np.random.default_rng(seed), np.empty(len(labels), np.int64)
    for label in (0, 1):  # Every fold has its share of both.
        members = rng.permutation(np.flatnonzero(labels == label))
        fold[members] = np.arange(len(members)) % _FOLDS
    guesses = np.empty(len(labels))
    for number in np.unique(fold):
        left_out = fold == number
        a, b = _fit_logistic(scores[~left_out], labels[~left_out])
        guesses[left_out] = _logistic(a * scores[left_out] + b)
    share = float(labels.mean())
    return Probability(
        slope=round(slope, 6),
        intercept=round(intercept, 6),
        n=len(labels),
        matches=int(labels.sum()),
        brier=round(float(np.mean((guesses - labels) ** 2)), 6),
        constant_brier=round(share * (1 - share), 6),
    )


def _fit_logistic(scores: Floats, labels: Ints) -> tuple[float, float]:
    """Return slope and intercept; the slope is hardly regularized, yet finite for any labels."""
    from scipy.optimize import minimize

    def loss(line: Floats) -> tuple[float, Floats]:
        logits = line[0] * scores + line[1]
        value = np.logaddexp(0, logits).sum() - (labels * logits).sum()
        error = _logistic(logits) - labels
        slope = (error * scores).sum() + line[0] / _REGULARIZATION
        value += line[0] ** 2 / (2 * _REGULARIZATION)
        return float(value), np.array([slope, error.sum()])

    best = minimize(loss, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-6}).x
    return float(best[0]), float(best[1])


def _logistic(logits: Floats) -> Floats:
    from scipy.special import expit

    values: Floats = expit(logits)
    return values
