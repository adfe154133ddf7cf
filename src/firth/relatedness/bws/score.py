"""From answers to scores: by counting, by Bradley–Terry, with intervals, and what was left out."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.relatedness.bws.answers import (
    THRESHOLD,
    Answers,
    Counts,
    Judgements,
    few_of,
    rank_correlation,
    sort_answers,
    to_scores,
)
from firth.relatedness.bws.design import Floats, Ints, measure_balance
from firth.relatedness.bws.records import Annotation, Gold, Tuple, read_answered, read_items
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.progress import bar
from firth.run.results import write_folder
from firth.run.rows import write_rows
from firth.run.seeds import derive_seed
from firth.run.stage import Outcome

PRIOR = 1.5
"""On simulated answers as reliable as STR-2021's anything from 1 to 8 is as good."""
RESAMPLES = 1_000
_BLOCK = 1 << 22
_COLUMNS = (
    "item", "score", "low", "high", "judgements", "best", "worst", "bradley_terry", "strength",
)  # fmt: skip


@dataclass(frozen=True)
class Scores:
    """Scores of N items: by counting, in 0…1, with the ends of 95 % intervals, and the strength of
    the Bradley–Terry model, log-odds around 0; all (N,). What was never judged has no numbers, and
    items of one tuple no interval.
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
        """Items without any usable answer."""
        shown = zip(self.judgements.items, self.counts.shown, strict=True)
        return tuple(name for name, times in shown if not times)

    def to_dict(self) -> dict[str, Any]:
        """The summary as plain values."""
        judged, answered = self.counts.shown > 0, self.judgements.answered
        parts = measure_balance(self.judgements.tuples[answered > 0], len(judged)).components
        times, widths = self.counts.shown[judged], self.high - self.low
        widths = widths[np.isfinite(widths)]
        people = self.answers.annotators
        return {
            "items": len(judged),
            "items never judged": list(self.never_judged),
            "tuples": len(answered),
            "tuples never answered": int((answered == 0).sum()),
            "connected parts": parts - int((~judged).sum()),
            "judgements": len(self.judgements),
            "judgements per item": {
                "least": int(times.min()), "mean": float(times.mean()), "most": int(times.max())
            },
            "answers left out": {str(why): n for why, n in self.answers.faults.items()},
            "annotators": len(people),
            "annotators without gold questions": sum(one.accuracy is None for one in people),
            "annotators below the gold threshold": [
                {"annotator": one.name, "right": one.gold_right, "of": one.gold_answered}
                for one in self.answers.failed
            ],
            "mean width of intervals": float(widths.mean()) if len(widths) else None,
            "Spearman of both estimates": rank_correlation(
                self.score[judged], self.strength[judged]
            ),
        }  # fmt: skip

    def text(self) -> str:
        """Lines for a screen."""
        found, never = self.to_dict(), self.never_judged
        least, mean, most = found["judgements per item"].values()
        width, agree = found["mean width of intervals"], found["Spearman of both estimates"]
        wide = "unknown" if width is None else f"{width:.2f} wide on average"
        alike = "(undefined)" if agree is None else f"{agree:.3f}"
        lines = [
            self.answers.text(),
            f"{found['items'] - len(never):,} of {found['items']:,} items scored, "
            f"from {least} to {most} judgements each ({mean:.1f} on average)",
            f"95 % intervals are {wide}",
            f"counting and Bradley-Terry agree to a Spearman correlation of {alike}",
        ]
        if never:
            lines.append(f"{len(never):,} items never judged: {few_of(never)}")
        if found["connected parts"] > 1:
            lines.append(
                f"the answers fall into {found['connected parts']:,} parts without a common item: "
                "scores of different parts cannot be compared"
            )
        return "\n".join(lines)

    def write(self, folder: Path) -> None:
        """Write `scores.csv`, `summary.json`, `annotators.csv` and `left-out.csv`."""
        columns = (
            self.judgements.items,
            *map(_cells, (self.score, self.low, self.high)),
            *(one.tolist() for one in (self.counts.shown, self.counts.best, self.counts.worst)),
            *map(_cells, (chances(self.strength), self.strength)),
        )
        write_rows(folder / "scores.csv", _COLUMNS, zip(*columns, strict=True))
        write_rows(
            folder / "annotators.csv",
            ("annotator", "answers", "gold_answered", "gold_right", "accuracy", "passed"),
            (
                (a.name, a.answers, a.gold_answered, a.gold_right,
                 "" if a.accuracy is None else f"{a.accuracy:.4f}", "yes" if a.passed else "no")
                for a in self.answers.annotators
            ),
        )  # fmt: skip
        write_rows(
            folder / "left-out.csv",
            ("line", "tuple", "annotator", "best", "worst", "why"),
            ((a.line or "", a.tuple, a.annotator, a.best, a.worst, str(why))
             for a, why in self.answers.left_out),
        )  # fmt: skip
        write_json(folder / "summary.json", self.to_dict())


def score_answers(
    tuples: Sequence[Tuple],
    annotations: Sequence[Annotation],
    gold: Iterable[Gold] = (),
    *,
    items: Sequence[str] = (),
    threshold: float = THRESHOLD,
    score_gold: bool = False,
    prior: float = PRIOR,
    resamples: int = RESAMPLES,
    seed: int = 13,
) -> Scores:
    """Score `items` (ids in the wanted order; by default those of the tuples, sorted) from
    best-worst answers. `threshold` and `score_gold` are those of `sort_answers`, which says what
    counts, `prior` of `fit_strengths`, `resamples` and the seed of `score_intervals`.

    Raises:
        InputError: Tuples hold items that are not among `items`, or no answer can be used.
    """
    if items and (strange := {name for one in tuples for name in one.items} - set(items)):
        raise InputError(
            f"the tuples hold {len(strange):,} items that are not among the items, as "
            f"{min(strange)!r}; expected the items that the tuples were made from"
        )
    answers = sort_answers(tuples, annotations, gold, threshold=threshold, score_gold=score_gold)
    judgements = Judgements.of(tuples, answers.kept, items)
    counts = judgements.count()
    low, high = score_intervals(
        judgements, seed=derive_seed(seed, "bws", "intervals"), resamples=resamples
    )
    strength = fit_strengths(judgements, prior)
    return Scores(judgements, counts, counts.scores, low, high, strength, answers)


def write_scores(
    tuples: Path,
    annotations: Path,
    out: Path,
    gold: Path | None = None,
    items: Path | None = None,
    **settings: Any,
) -> Outcome:
    """Score the answers of files into a folder; settings as of `score_answers`, errors also as of
    the readers and `write_folder`.
    """
    names = [item.id for item in read_items(items)] if items else []
    asked, given, right = read_answered(tuples, annotations, gold, names or None)

    def build(folder: Path) -> str:
        found = score_answers(asked, given, right, items=names, **settings)
        found.write(folder)
        return found.text()

    files = {"tuples": tuples, "annotations": annotations, "gold": gold, "items": items}
    return write_folder(
        out, command="firth bws score", inputs=files, config=settings, build=build,
        libraries=("numpy", "scipy", "scikit-learn"),
    )  # fmt: skip


def implied_pairs(judgements: Judgements) -> Ints:
    """Pairs (winner, loser), numbers of items, shape (A × (2n − 3), 2): the best beats all others,
    and all others beat the worst, five pairs of a 4-tuple (Abdalla et al., §2.2).
    """
    members = judgements.tuples[judgements.asked]
    best, worst = judgements.best[:, None], judgements.worst[:, None]
    middle = members[(members != best) & (members != worst)].reshape(len(members), -1)
    above = np.stack([np.broadcast_to(best, middle.shape), middle], axis=-1)
    below = np.stack([middle, np.broadcast_to(worst, middle.shape)], axis=-1)
    ends = np.stack([best, worst], axis=-1)
    return np.concatenate([above, below, ends], axis=1).reshape(-1, 2)


def fit_strengths(judgements: Judgements, prior: float = PRIOR) -> Floats:
    """Strengths θ with p(i beats j) = 1 / (1 + exp(θ_j − θ_i)); Bradley and Terry (1952).

    Shape (N,), log-odds with mean 0 over judged items; not a number for items never judged. A
    normal prior, of standard deviation `prior` in log-odds, keeps the strength of an item finite
    that won or lost every time. The implied pairs of one answer are not independent, so the
    likelihood says nothing about precision.

    Raises:
        InputError: A prior that is not above 0.
    """
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression

    if not prior > 0:
        raise InputError(f"prior: got {prior:g}; expected a standard deviation above 0")
    pairs = implied_pairs(judgements)
    # Logistic regression without intercept on rows +1 (winner), −1 (loser); every other row is
    # turned round, because the library wants both outcomes.
    outcome = np.arange(len(pairs)) % 2
    signs = np.where(outcome, 1.0, -1.0)[:, None] * np.array([1.0, -1.0])
    ends = np.arange(0, 2 * len(pairs) + 1, 2)
    rows = csr_array(
        (signs.ravel(), pairs.ravel(), ends), shape=(len(pairs), len(judgements.items))
    )
    model = LogisticRegression(C=prior**2, fit_intercept=False, tol=1e-6, max_iter=10_000)
    strengths = np.asarray(model.fit(rows, outcome).coef_[0], dtype=np.float64)
    judged = judgements.count().shown > 0
    strengths -= strengths[judged].mean()
    strengths[~judged] = np.nan
    return strengths


def chances(strengths: Floats) -> Floats:
    """The chance of beating an item of strength 0, in 0…1; same shape as `strengths`."""
    from scipy.special import expit

    return np.asarray(expit(strengths))


def score_intervals(
    judgements: Judgements, *, seed: int, resamples: int = RESAMPLES, confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Expanded percentile intervals of scores by counting (Hesterberg 2015): lower and upper ends
    in 0…1, both (N,); not a number for items judged in less than two tuples.

    For each item its tuples are drawn again, each with all answers to it: answers to one tuple
    share its other items, and are not independent. Of eight tuples, plain percentiles are too
    narrow, so that those of a t distribution are taken instead. An item that was chosen best (or
    worst) every time has an interval of width 0: a bootstrap does not know of what it has not seen.
    """
    low, high = (np.full(len(judgements.items), np.nan) for _ in range(2))
    rng = np.random.default_rng(seed)
    with bar("intervals of scores", len(judgements.items)) as shown:
        for items, differences, counts in _by_number_of_tuples(judgements):
            width = differences.shape[1]
            if width < 2:
                shown.advance(len(items))
                continue
            ends = _ends(width, confidence)
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
                low[items[rows]], high[items[rows]] = np.quantile(
                    to_scores(won, asked), ends, axis=1
                )
                shown.advance(size)
    return low, high


def _ends(tuples: int, confidence: float) -> tuple[float, float]:
    """Percentiles such that a normal mean would have t intervals with so many observations."""
    from scipy.stats import norm, t

    quantile = float(t.ppf((1 + confidence) / 2, tuples - 1))
    low = float(norm.cdf(-quantile * math.sqrt(tuples / (tuples - 1))))
    return low, 1 - low


def _by_number_of_tuples(judgements: Judgements) -> list[tuple[Ints, Ints, Ints]]:
    """Items judged in equally many tuples: their numbers (m,), and for each of these tuples times
    best less times worst, and number of answers, both (m, tuples).
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
        at = np.searchsorted(codes, chosen * len(tuples) + judgements.asked)
        np.add.at(won, at, sign)
    counts = answered[places[order]]
    per_item = np.bincount(items, minlength=n)
    starts = np.cumsum(per_item) - per_item
    groups = []
    for width in np.unique(per_item[per_item > 0]):
        members = np.flatnonzero(per_item == width)
        at = starts[members][:, None] + np.arange(width)
        groups.append((members, won[at], counts[at]))
    return groups


def _cells(values: Floats) -> list[str]:
    """Numbers for a file; nothing where there is none."""
    return ["" if np.isnan(value) else f"{value:.6g}" for value in values.tolist()]
