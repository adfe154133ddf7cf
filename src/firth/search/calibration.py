"""Calibration: what a score means, measured on pairs of sentences of the same corpus.

A cosine of 0.62 says nothing by itself, and nothing across models. The share of random pairs that
score as high is the rate at which chance alone gives such a match. The same is measured on pairs of
different sentences of one document, which share a subject, and on neighbors.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from math import floor, log10
from pathlib import Path
from typing import Any, Literal

import numpy as np

from firth.corpus.corpus import Corpus
from firth.encoders.static import ENCODER
from firth.evaluation.files import Content, read_pair_file
from firth.run.console import table
from firth.run.errors import InputError
from firth.run.files import fingerprint_file, read_arrays, read_json, write_arrays, write_json
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.settings import values_of
from firth.run.stage import Outcome, Stage
from firth.scorer.scorer import Scorer
from firth.search.index import INDEX, Index
from firth.text.arrays import Floats, Ints, starts
from firth.text.pairs import TextPair

CALIBRATION = Stage("calibration", 1)
Model = Literal["encoder", "scorer"]
"""What gives scores: the encoder of the index, by cosines, or the scorer of the run."""
RANDOM, SAME_DOCUMENT, NEIGHBORS = "random", "same-document", "neighbors"
_KINDS = {RANDOM: "random pairs", SAME_DOCUMENT: "pairs of a document", NEIGHBORS: "neighbors"}
_PROBABILITY = "probability"
_FEWER = 40
"""The scorer, which is slower, scores one pair for so many that the encoder compares."""
_OTHERS = 4
"""Pairs of a document, and neighbors, are one for so many random pairs."""
_ROWS = 8_192
_FEWEST, _COUNTED, _TOP = 1_000, 50, 0.01
_SAME, _SURE = 0.999, 0.95
_ALL = 3.0
"""If all of n pairs are below, at most 3/n of all pairs are not, with 95 % confidence."""
_RATES = (0.1, 0.01, 0.001, 0.0001)
_FOLDS, _REGULARIZATION = 10, 100.0


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
        scores: Scores of drawn pairs, ascending, float64, (n,), for each kind that the corpus has:
            `random`, `same-document` (two different sentences), `neighbors`.
        probability: Probability of a match; None where no pairs were judged.
    """

    scores: Mapping[str, Floats]
    probability: Probability | None = None

    @classmethod
    def open(cls, run: str | Path | Run, model: Model = "encoder") -> "Calibration":
        """Open the calibration of a run.

        Raises:
            MissingStageError: It is not built.
        """
        folder = Run.open(run).folder(CALIBRATION)
        scores, _ = read_arrays(folder / f"{model}.safetensors")
        stored = read_json(folder / f"{model}.json")
        ordered = {kind: scores[kind] for kind in _KINDS if kind in scores}
        return cls(ordered, Probability(**stored) if stored else None)

    @classmethod
    def current(cls, run: Run, model: Model = "encoder") -> "Calibration | None":
        """Return the calibration of what the run computes now; None where there is none."""
        if not run.has(CALIBRATION):
            return None
        known = run.manifest(CALIBRATION)
        stages = [INDEX] if model == "encoder" else Scorer.reads(run)
        if not all(run.has(stage) for stage in stages):
            return None
        now: dict[str, Any] = dict(run.inputs(*stages))
        if model == "scorer":
            now |= values_of(run.settings, Scorer.settings(run))
        before = {**known.inputs, **known.settings}
        if any(before.get(name) != value for name, value in now.items()):
            return None
        return cls.open(run, model)

    def threshold(self, false_match_rate: float) -> float:
        """Return the lowest score that at most this share of random pairs reaches.

        It is the k-th highest of the n scores with k / (n + 1) at most the rate, so that the rate
        holds on average over draws. It is the rate of one comparison: among a million sentences, a
        rate of 0.0001 gives a query a hundred false matches.

        Raises:
            InputError: The rate is not between 1 / (n + 1) and 1; there are too few pairs for it.
        """
        scores = self.scores[RANDOM]
        n = len(scores)
        allowed = floor(false_match_rate * (n + 1) + 1e-9)
        if not 0 < false_match_rate < 1 or allowed < 1:
            raise InputError(
                f"a false-match rate of {false_match_rate:g}: expected one from {1 / (n + 1):.2g} "
                f"to 1, because {n:,} pairs were drawn. Draw more: --set calibration.pairs=N"
            )
        if allowed >= n:
            return float(scores[0])
        # Scores that equal one that is not allowed are not allowed either.
        first = int(np.searchsorted(scores, scores[n - allowed - 1], side="right"))
        return float(scores[first] if first < n else np.nextafter(scores[-1], np.inf))

    def threshold_within(self, rate: float) -> float | None:
        """Return the score that a share `rate` of pairs of different sentences of a document reach.

        They share a subject and mostly say different things. Where fewer than 50 scores are that
        high, the tail is taken to fall exponentially from the top hundredth on, as peaks over a
        threshold do (Pickands 1975, with shape 0). The median of the tail sets its slope, because
        its highest pairs may say the same. None: the corpus has too few such pairs, or its
        documents repeat themselves so much that the threshold would be 0.95 or more.

        Args:
            rate: In (0, 1).
        """
        scores = self.scores.get(SAME_DOCUMENT, np.empty(0))
        n = len(scores)
        if n < _FEWEST:
            return None
        tail = max(10, round(_TOP * n))
        if rate * n >= min(_COUNTED, tail):
            threshold = float(scores[n - floor(rate * n)])
        else:
            start, middle = scores[n - tail], scores[n - tail // 2]
            threshold = float(start + (middle - start) / np.log(2) * np.log(tail / n / rate))
        return threshold if threshold < _SURE else None

    def percentiles(self, score: float) -> dict[str, float]:
        """Return, for each kind of pairs, the share that scores lower, in [0, 1].

        Where pairs were judged, `probability` is the probability of a match.
        """
        shares = {kind: self._share_below(kind, score) for kind in self.scores}
        if self.probability:
            shares[_PROBABILITY] = self.probability.of(score)
        return shares

    def _share_below(self, kind: str, score: float) -> float:
        scores = self.scores[kind]
        return int(np.searchsorted(scores, score)) / len(scores)

    def describe(self, score: float) -> str:
        """Return the percentiles in words.

        For example: "higher than 99.7 % of random pairs, 93 % of neighbors".
        """
        text = "higher than " + ", ".join(
            f"{percent(self._share_below(kind, score), len(self.scores[kind]))} {_KINDS[kind]}"
            for kind in (RANDOM, NEIGHBORS)
            if kind in self.scores
        )
        if self.probability:
            text += f"; a match with probability {self.probability.of(score):.2f}"
        return text

    def as_dict(self) -> dict[str, Any]:
        """Return thresholds for rates of false matches, and counts, as plain values for JSON."""
        known = [rate for rate in _RATES if rate * (len(self.scores[RANDOM]) + 1) >= 1]
        return {
            "pairs": {kind: len(scores) for kind, scores in self.scores.items()},
            "thresholds": {f"{rate:g}": self.threshold(rate) for rate in known},
            "probability": asdict(self.probability) if self.probability else None,
        }

    def text(self) -> str:
        """Return a table of thresholds for rates of false matches, and the judged pairs."""
        stored = self.as_dict()["thresholds"]
        rows = [[f"{100 * float(rate):g} %", f"{score:.3f}"] for rate, score in stored.items()]
        lines = [table([["false matches", "threshold"], *rows])]
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
        labels: File of judged pairs (`read_labels`).

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

        def cosines(one: Ints, two: Ints) -> Floats:
            blocks = [slice(at, at + _ROWS) for at in range(0, len(one), _ROWS)]
            vectors = ((index.vectors(one[at]), index.vectors(two[at])) for at in blocks)
            products = [np.einsum("nd,nd->n", *sides) for sides in vectors]
            whole: Floats = np.clip(np.concatenate(products), -1.0, 1.0).astype(np.float64)
            return whole

        def similarities(one: Ints, two: Ints) -> Floats:
            return scorer.similarities(list(zip(corpus.texts(one), corpus.texts(two), strict=True)))

        def encoded(texts: list[TextPair]) -> Floats:
            sides = [index.encoder.encode([pair[side] for pair in texts]) for side in (0, 1)]
            products: Floats = np.einsum("nd,nd->n", *sides).astype(np.float64)
            return products

        models: dict[str, tuple[int, _Score, _ScoreTexts]] = {
            "encoder": (pairs, cosines, encoded),
            "scorer": (max(100, pairs // _FEWER), similarities, scorer.similarities),
        }
        seed, summary = derive_seed(run.settings.seed, "scale"), {}
        for name, (most, score, score_texts) in models.items():
            scores = _draw(corpus, most, seed, score)
            write_arrays(workspace / f"{name}.safetensors", scores)
            fitted = fit_probability(score_texts(judged[0]), judged[1], seed) if judged else None
            write_json(workspace / f"{name}.json", asdict(fitted) if fitted else None)
            summary[name] = {kind: len(some) for kind, some in scores.items()}
        return summary

    settings = ["seed", "calibration", "search.encoder", *Scorer.settings(run)]
    return run.build(CALIBRATION, fill, reads=reads, settings=settings, inputs=inputs)


_Score = Callable[[Ints, Ints], Floats]
_ScoreTexts = Callable[[list[TextPair]], Floats]


def _draw(corpus: Corpus, most: int, seed: int, score: _Score) -> dict[str, Floats]:
    """Return the ascending scores of pairs of each kind."""
    drawn = {}
    for kind in _KINDS:
        wanted = most if kind == RANDOM else most // _OTHERS
        one, two = draw_pairs(corpus.document_bounds, kind, wanted, seed)
        scores = np.sort(score(one, two)) if len(one) else np.empty(0)
        if kind == SAME_DOCUMENT:  # Quotations repeat a sentence.
            scores = scores[scores < _SAME]
        if len(scores):
            drawn[kind] = scores
    return drawn


def draw_pairs(bounds: Ints, kind: str, most: int, seed: int) -> tuple[Ints, Ints]:
    """Draw pairs of sentences; return the numbers of the first and second sentence of each.

    No sentence is paired with itself. Neighbors are drawn without repetition, the others
    independently of each other.

    Args:
        bounds: First sentence of each document, and the number of all (`Corpus.document_bounds`).
        kind: `random`, `same-document` or `neighbors`.
        most: Number of pairs; there are fewer where the corpus has fewer.
        seed: Seed of the draw.
    """
    rng = np.random.default_rng(derive_seed(seed, kind))
    lengths, n = np.diff(bounds), int(bounds[-1])
    if kind == NEIGHBORS:
        before = np.maximum(lengths - 1, 0)
        there = int(before.sum())
        drawn = np.sort(rng.choice(there, min(most, there), replace=False))
        chosen = _among(bounds, before, drawn)
        return chosen, chosen + 1
    if kind == RANDOM:
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
    """Read judged pairs: columns `sentence1`, `sentence2` and `label`, which is 1 for a match.

    Raises:
        InputError: The file cannot be used (`read_pair_file`), or a label is too rare.
    """
    file = read_pair_file(path, content=Content.LABELLED)
    if file.similar_label is None:
        raise InputError(
            f"{path}: has the labels {', '.join(file.labels)[:80]}; expected 1 for a match and 0"
        )
    labels = np.array([row.label == file.similar_label for row in file.rows], np.int64)
    if (rarer := int(min(labels.sum(), (1 - labels).sum()))) < 2:
        raise InputError(f"{path}: has {rarer} pairs of one label; expected at least 2 of each")
    return [(row.texts[0], row.texts[1]) for row in file.rows], labels


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
        return float(value + line[0] ** 2 / (2 * _REGULARIZATION)), np.array([slope, error.sum()])

    best = minimize(loss, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-6}).x
    return float(best[0]), float(best[1])


def _logistic(logits: Floats) -> Floats:
    from scipy.special import expit

    values: Floats = expit(logits)
    return values
