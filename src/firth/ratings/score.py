"""Scores of items by counting, with 95 % intervals, and how reliable they are."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.corpus.files import listed
from firth.evaluation.bootstrap import CONFIDENCE
from firth.ratings.answers import THRESHOLD, Answers, Judgements, sort_answers, to_scores
from firth.ratings.design import measure_balance
from firth.ratings.records import ANSWER, Annotation, Gold, Tuple, write_table
from firth.ratings.reliability import SPLITS, Reliability, measure_reliability
from firth.text.types import Floats, Ints

_COLUMNS = ("item", "score", "low", "high", "shown", "best", "worst")


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Scores of N items by counting, in [0, 1], with 95 % intervals, (N,) each.

    They are NaN for an item that was never judged, and intervals for items of fewer than two
    tuples. `shown`, `best` and `worst` are counts, (N,). There is no reliability where no tuple was
    answered twice.
    """

    judgements: Judgements
    shown: Ints
    best: Ints
    worst: Ints
    score: Floats
    low: Floats
    high: Floats
    answers: Answers
    reliability: Reliability | None

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        judged, answered = self.shown > 0, self.judgements.answered
        balance = measure_balance(self.judgements.tuples[answered > 0], len(judged))
        widths = self.high - self.low
        widths = widths[np.isfinite(widths)]
        return {
            "items": len(judged),
            "never_judged": [self.judgements.items[n] for n in np.flatnonzero(~judged)],
            "tuples": len(answered),
            "unanswered_tuples": int((answered == 0).sum()),
            "components": balance["components"] - int((~judged).sum()),
            "answers": len(self.judgements),
            "times_shown": float(self.shown[judged].mean()),
            "left_out": {str(why): n for why, n in self.answers.faults.items()},
            "annotators": len(self.answers.annotators),
            "failed_annotators": [annotator.name for annotator in self.answers.failed],
            "interval_width": float(widths.mean()) if len(widths) else None,
            "reliability": self.reliability and asdict(self.reliability),
        }

    def text(self) -> str:
        """Return lines for a screen."""
        values = self.as_dict()
        never = values["never_judged"]
        width = values["interval_width"]
        lines = [
            self.answers.text(),
            f"{values['items'] - len(never):,} of {values['items']:,} items have scores; each was "
            f"shown {values['times_shown']:.1f} times on average",
            "95 % intervals: " + ("none" if width is None else f"mean width {width:.2f}"),
        ]
        if never:
            lines.append(f"{len(never):,} items were never judged: {listed(never)}")
        if values["components"] > 1:
            lines.append(
                f"Caution: the answers fall into {values['components']:,} groups of items that no "
                "tuple connects. Do not compare scores of different groups"
            )
        lines.append(
            self.reliability.text()
            if self.reliability
            else "no reliability: collect two answers or more to each tuple"
        )
        return "\n".join(lines)

    def write(self, folder: Path) -> None:
        """Write `scores.csv`, `annotators.csv` and `left-out.csv`."""
        columns = (
            self.judgements.items,
            *(
                ["" if np.isnan(value) else f"{value:.6g}" for value in values.tolist()]
                for values in (self.score, self.low, self.high)
            ),
            *(counts.tolist() for counts in (self.shown, self.best, self.worst)),
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
        write_table(
            folder / "left-out.csv",
            ("line", *ANSWER, "why"),
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
    threshold: float = THRESHOLD,
    splits: int = SPLITS,
) -> Scores:
    """Score items from best-worst answers; see `sort_answers` and `measure_reliability`."""
    answers = sort_answers(tuples, annotations, gold, threshold)
    judgements = Judgements.of(tuples, answers.kept)
    appearances, best, worst = judgements.count()
    score, (low, high) = to_scores(best - worst, appearances), score_intervals(judgements)
    reliability = measure_reliability(judgements, splits=splits)
    return Scores(
        judgements=judgements,
        shown=appearances,
        best=best,
        worst=worst,
        score=score,
        low=low,
        high=high,
        answers=answers,
        reliability=reliability,
    )


def score_intervals(judgements: Judgements) -> tuple[Floats, Floats]:
    """Return the ends of 95 % intervals of scores by counting, both (N,).

    A score is a ratio of sums over the tuples of an item; answers to one tuple share its other
    items, and are not independent. The interval is Student's, by the linearized variance of that
    ratio (Cochran 1977, §6.4). An item that was chosen best every time, or worst, has an interval
    of width 0. Items that were judged in fewer than two tuples have NaN.
    """
    from scipy.stats import t

    n, tuples, tuple_of_answer = len(judgements.items), judgements.tuples, judgements.asked
    net = np.zeros(tuples.shape)  # times best minus times worst, in each tuple
    for chosen, sign in ((judgements.best, 1), (judgements.worst, -1)):
        np.add.at(net, tuple_of_answer, sign * (tuples[tuple_of_answer] == chosen[:, None]))
    appearances = np.repeat(judgements.answered[:, None], tuples.shape[1], axis=1)

    def total(values: npt.NDArray[Any]) -> Floats:
        return np.bincount(tuples.ravel(), values.ravel(), minlength=n).astype(np.float64)

    count, times = total(appearances > 0), total(appearances)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = total(net) / times
        squares = total((net - share[tuples] * appearances) ** 2)
        error = np.sqrt(squares * count / (count - 1)) / times
        half = t.ppf((1 + CONFIDENCE) / 2, count - 1) * error
    half[count < 2] = np.nan
    low, high = ((share + sign * half + 1) / 2 for sign in (-1, 1))
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
