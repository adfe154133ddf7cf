"""Scores of items: by counting with 95 % intervals, and by the Bradley-Terry model."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.evaluation.bootstrap import CONFIDENCE, RESAMPLES
from firth.evaluation.files import listed
from firth.ratings.answers import THRESHOLD, Answers, Counts, Judgements, sort_answers, to_scores
from firth.ratings.design import measure_balance
from firth.ratings.records import (
    Annotation,
    Gold,
    Tuple,
    read_answers,
    read_items,
    write_annotations,
    write_table,
)
from firth.run.console import progress
from firth.run.errors import InputError, require
from firth.run.files import fingerprint_file, fingerprint_value
from firth.run.outputs import write_folder
from firth.run.seeds import derive_seed
from firth.run.stage import Outcome
from firth.text.arrays import Floats, Ints

PRIOR = 1.5
"""Standard deviation of the prior of strengths. On simulated answers as reliable as those of
STR-2021, all values from 1 to 8 are equally good."""
_BLOCK = 1 << 22
_COLUMNS = (
    "item", "score", "low", "high", "shown", "best", "worst", "bradley_terry", "strength",
)  # fmt: skip


@dataclass(frozen=True)
class Scores:
    """Scores of N items; NaN for an item that was never judged.

    Attributes:
        judgements: The answers that count.
        counts: How often each item was shown and chosen.
        score: Scores by counting, in [0, 1], (N,).
        low: Lower ends of their 95 % intervals, (N,); NaN for items of fewer than two tuples.
        high: Upper ends, (N,).
        strength: Strengths of the Bradley-Terry model, log-odds around 0, (N,).
        answers: All answers, with the reasons why some do not count.
    """

    judgements: Judgements
    counts: Counts
    score: Floats
    low: Floats
    high: Floats
    strength: Floats
    answers: Answers

    @property
    def never_judged(self) -> tuple[str, ...]:
        """Items without an answer that counts."""
        shown = zip(self.judgements.items, self.counts.shown, strict=True)
        return tuple(name for name, times in shown if not times)

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        judged, answered = self.counts.shown > 0, self.judgements.answered
        components = measure_balance(self.judgements.tuples[answered > 0], len(judged)).components
        from scipy.stats import spearmanr

        agreement = spearmanr(self.score[judged], self.strength[judged]).statistic
        widths = self.high - self.low
        widths = widths[np.isfinite(widths)]
        annotators = self.answers.annotators
        return {
            "items": len(judged),
            "never_judged": list(self.never_judged),
            "tuples": len(answered),
            "unanswered_tuples": int((answered == 0).sum()),
            "components": components - int((~judged).sum()),
            "answers": len(self.judgements),
            "times_shown": float(self.counts.shown[judged].mean()),
            "left_out": {str(why): n for why, n in self.answers.faults.items()},
            "annotators": len(annotators),
            "unchecked_annotators": sum(one.accuracy is None for one in annotators),
            "failed_annotators": [one.name for one in self.answers.failed],
            "interval_width": float(widths.mean()) if len(widths) else None,
            "spearman_counting_bradley_terry": None if np.isnan(agreement) else float(agreement),
        }

    def text(self) -> str:
        """Return lines for a screen."""
        values, never = self.as_dict(), self.never_judged
        width, agree = values["interval_width"], values["spearman_counting_bradley_terry"]
        lines = [
            self.answers.text(),
            f"{values['items'] - len(never):,} of {values['items']:,} items have scores; each was "
            f"shown {values['times_shown']:.1f} times on average",
            "95 % intervals: " + ("none" if width is None else f"mean width {width:.2f}"),
            "counting and Bradley-Terry: Spearman "
            + ("undefined" if agree is None else f"{agree:.3f}"),
        ]
        if never:
            lines.append(f"{len(never):,} items were never judged: {listed(never)}")
        if values["components"] > 1:
            lines.append(
                f"Caution: the answers fall into {values['components']:,} groups of items that no "
                "tuple connects. Do not compare scores of different groups"
            )
        return "\n".join(lines)

    def write(self, folder: Path) -> None:
        """Write `scores.csv`, `annotators.csv`, `annotations.csv` and `left-out.csv`."""
        columns = (
            self.judgements.items,
            *map(_cells, (self.score, self.low, self.high)),
            *(one.tolist() for one in (self.counts.shown, self.counts.best, self.counts.worst)),
            *map(_cells, (chances(self.strength), self.strength)),
        )
        write_table(folder / "scores.csv", _COLUMNS, zip(*columns, strict=True))
        write_table(
            folder / "annotators.csv",
            ("annotator", "answers", "gold_answered", "gold_right", "passed"),
            (
                (a.name, a.answers, a.gold_answered, a.gold_right, "yes" if a.passed else "no")
                for a in self.answers.annotators
            ),
        )
        write_annotations(folder / "annotations.csv", self.answers.kept)
        write_table(
            folder / "left-out.csv",
            ("line", "tuple", "annotator", "best", "worst", "why"),
            (
                (a.line or "", a.tuple, a.annotator, a.best, a.worst, str(why))
                for a, why in self.answers.left_out
            ),
        )


def score_answers(
    tuples: Sequence[Tuple],
    annotations: Sequence[Annotation],
    gold: Iterable[Gold] = (),
    *,
    items: Sequence[str] = (),
    threshold: float = THRESHOLD,
    resamples: int = RESAMPLES,
    seed: int = 13,
) -> Scores:
    """Score items from best-worst answers.

    Args:
        tuples: Tuples of one size.
        annotations: All annotations.
        gold: Questions with known answers.
        items: Ids in the wanted order; by default those of the tuples, sorted.
        threshold: As for `sort_answers`.
        resamples: Bootstrap resamples of the intervals.
        seed: Decides the resamples.

    Raises:
        InputError: Tuples hold items that are not among `items`, or no answer counts.
    """
    require("sklearn", "ratings", "The Bradley-Terry model")
    answers = sort_answers(tuples, annotations, gold, threshold=threshold)
    judgements = Judgements.of(tuples, answers.kept, items)
    counts = judgements.count()
    drawn = derive_seed(seed, "bws", "intervals")
    low, high = score_intervals(judgements, seed=drawn, resamples=resamples)
    strength = fit_strengths(judgements)
    return Scores(judgements, counts, counts.scores, low, high, strength, answers)


def write_scores(
    tuples: Path,
    annotations: Path,
    out: Path,
    gold: Path | None = None,
    items: Path | None = None,
    *,
    threshold: float = THRESHOLD,
    seed: int = 13,
    force: bool = False,
) -> Outcome:
    """Score the answers in files, and write `Scores.write` into a folder; `firth ratings score`.

    Raises:
        InputError: As the readers, `score_answers` and `firth.run.outputs.write_folder`.
    """
    names = [item.id for item in read_items(items)] if items else []
    questions, given, right = read_answers(tuples, annotations, gold, names or None)

    def fill(folder: Path) -> Mapping[str, Any]:
        scores = score_answers(questions, given, right, items=names, threshold=threshold, seed=seed)
        scores.write(folder)
        return {**scores.as_dict(), "lines": scores.text().split("\n")}

    return write_folder(
        out,
        fill,
        command="ratings score",
        settings={"threshold": threshold, "seed": seed},
        inputs=input_fingerprints(
            tuples=tuples, annotations=annotations, gold=gold, items=items, read=given
        ),
        force=force,
    )


def input_fingerprints(read: Sequence[Annotation], **files: Path | None) -> dict[str, str]:
    """Return a fingerprint for each file that is given; the annotations may be a database."""
    prints = {name: fingerprint_file(path) for name, path in files.items() if path is not None}
    rows = [[a.tuple, a.annotator, a.best, a.worst] for a in read]
    return {**prints, "annotations": fingerprint_value(rows)}


# --- Bradley-Terry -------------------------------------------------------------------------------


def implied_pairs(judgements: Judgements) -> Ints:
    """Return the pairs (winner, loser) that follow from A answers, (A × (2n - 3), 2).

    The best item beats all others, and all others beat the worst: five pairs of a tuple of four
    (Abdalla et al., §2.2).
    """
    members = judgements.tuples[judgements.asked]
    best, worst = judgements.best[:, None], judgements.worst[:, None]
    middle = members[(members != best) & (members != worst)].reshape(len(members), -1)
    above = np.stack([np.broadcast_to(best, middle.shape), middle], axis=-1)
    below = np.stack([middle, np.broadcast_to(worst, middle.shape)], axis=-1)
    ends = np.stack([best, worst], axis=-1)
    return np.concatenate([above, below, ends], axis=1).reshape(-1, 2)


def fit_strengths(judgements: Judgements, prior: float = PRIOR) -> Floats:
    """Return strengths θ with p(i beats j) = 1 / (1 + exp(θ_j - θ_i)) (Bradley and Terry 1952).

    The implied pairs of one answer are not independent, so the likelihood gives no intervals.

    Args:
        judgements: Answers that count.
        prior: Standard deviation of a normal prior, in log-odds. It keeps the strength of an item
            finite that won or lost every time.

    Returns:
        Log-odds with mean 0 over the judged items, (N,); NaN for items that were never judged.

    Raises:
        InputError: The prior is not above 0.
    """
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression

    if not prior > 0:
        raise InputError(f"prior: got {prior:g}; expected a standard deviation above 0")
    pairs = implied_pairs(judgements)
    # Logistic regression without intercept on rows with 1 (winner) and -1 (loser). Every other row
    # is reversed, because the library needs both outcomes.
    outcome = np.arange(len(pairs)) % 2
    signs = np.where(outcome, 1.0, -1.0)[:, None] * np.array([1.0, -1.0])
    ends = np.arange(0, 2 * len(pairs) + 1, 2)
    shape = (len(pairs), len(judgements.items))
    rows = csr_array((signs.ravel(), pairs.ravel(), ends), shape=shape)
    model = LogisticRegression(C=prior**2, fit_intercept=False, tol=1e-6, max_iter=10_000)
    strengths = np.asarray(model.fit(rows, outcome).coef_[0], dtype=np.float64)
    judged = judgements.count().shown > 0
    strengths -= strengths[judged].mean()
    strengths[~judged] = np.nan
    return strengths


def chances(strengths: Floats) -> Floats:
    """Return the probability of beating an item of strength 0, in [0, 1]; the same shape."""
    from scipy.special import expit

    return np.asarray(expit(strengths))


# --- Intervals -----------------------------------------------------------------------------------


def score_intervals(
    judgements: Judgements, *, seed: int, resamples: int = RESAMPLES
) -> tuple[Floats, Floats]:
    """Return the ends of 95 % intervals of scores by counting, both (N,).

    The tuples of an item are resampled, each with all its answers: answers to one tuple share its
    other items, and are not independent. An item has about eight tuples, for which plain
    percentiles are too narrow, so they are expanded to those of a t distribution (Hesterberg 2015).
    An item that was chosen best every time, or worst, has an interval of width 0.

    Args:
        judgements: Answers that count.
        seed: Decides the resamples.
        resamples: Number of resamples of each item.

    Returns:
        Lower and upper ends in [0, 1]; NaN for items that were judged in fewer than two tuples.
    """
    low, high = (np.full(len(judgements.items), np.nan) for _ in range(2))
    rng = np.random.default_rng(seed)
    with progress(len(judgements.items), "Intervals of scores") as bar:
        for items, differences, counts in _by_number_of_tuples(judgements):
            width = differences.shape[1]
            if width < 2:
                bar.advance(len(items))
                continue
            ends = _percentiles(width)
            step = max(1, _BLOCK // (resamples * width))
            for start in range(0, len(items), step):
                rows = slice(start, start + step)
                size = len(items[rows])
                drawn = rng.integers(width, size=(size, resamples * width))
                won, asked = (
                    np.take_along_axis(one[rows], drawn, axis=1)
                    .reshape(size, resamples, width)
                    .sum(2)
                    for one in (differences, counts)
                )
                both = np.quantile(to_scores(won, asked), ends, axis=1)
                low[items[rows]], high[items[rows]] = both
                bar.advance(size)
    return low, high


def _percentiles(tuples: int) -> tuple[float, float]:
    """Return the percentiles with which a normal mean would have t intervals."""
    from scipy.stats import norm, t

    quantile = float(t.ppf((1 + CONFIDENCE) / 2, tuples - 1))
    low = float(norm.cdf(-quantile * math.sqrt(tuples / (tuples - 1))))
    return low, 1 - low


def _by_number_of_tuples(judgements: Judgements) -> list[tuple[Ints, Ints, Ints]]:
    """Group the items by the number t of tuples in which they were judged.

    Returns:
        For each t: numbers of m items, (m,); and for each of their tuples times best minus times
        worst, and number of answers, both (m, t).
    """
    tuples, n, answered = judgements.tuples, len(judgements.items), judgements.answered
    used = np.flatnonzero(answered)
    items = tuples[used].ravel()
    places = np.repeat(used, tuples.shape[1])
    codes = items * len(tuples) + places  # one for each item in each tuple
    order = np.argsort(codes)
    codes = codes[order]
    won = np.zeros(len(codes), dtype=np.int64)
    for chosen, sign in ((judgements.best, 1), (judgements.worst, -1)):
        np.add.at(won, np.searchsorted(codes, chosen * len(tuples) + judgements.asked), sign)
    counts = answered[places[order]]
    per_item = np.bincount(items, minlength=n)
    first = np.cumsum(per_item) - per_item
    groups = []
    for width in np.unique(per_item[per_item > 0]):
        members = np.flatnonzero(per_item == width)
        at = first[members][:, None] + np.arange(width)
        groups.append((members, won[at], counts[at]))
    return groups


def _cells(values: Floats) -> list[str]:
    return ["" if np.isnan(value) else f"{value:.6g}" for value in values.tolist()]
