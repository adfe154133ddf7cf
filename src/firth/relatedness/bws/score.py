"""From answers to scores: counting, a model beside it, intervals, and what was left out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.relatedness.bws.answers import THRESHOLD, Answers, sort_answers
from firth.relatedness.bws.balance import measure_balance
from firth.relatedness.bws.bradley_terry import PRIOR, chances, fit_strengths
from firth.relatedness.bws.files import write_rows
from firth.relatedness.bws.intervals import RESAMPLES, score_intervals
from firth.relatedness.bws.judgements import Counts, Floats, Judgements
from firth.relatedness.bws.records import Annotation, Gold, Tuple
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.seeds import derive_seed

SCORES, SUMMARY, ANNOTATORS, LEFT_OUT = (
    "scores.csv",
    "summary.json",
    "annotators.csv",
    "left-out.csv",
)
_DIGITS = 6


@dataclass(frozen=True)
class Scores:
    """Scores of N items. What was never judged has scores that are not numbers.

    Attributes:
        judgements: The answers that count.
        counts: How often each item was shown and chosen.
        score: By counting, in 0…1, shape (N,).
        low: Lower ends of 95 % intervals of `score`; not a number for items of one tuple.
        high: Upper ends.
        strength: Of the Bradley–Terry model, log-odds around 0.
        answers: What was kept and what left out.
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
        judged = self.counts.shown > 0
        answered = np.bincount(self.judgements.asked, minlength=len(self.judgements.tuples))
        used = self.judgements.tuples[answered > 0]
        parts = measure_balance(used, len(judged)).components - int((~judged).sum())
        return {
            "items": len(judged),
            "items never judged": list(self.never_judged),
            "tuples": len(self.judgements.tuples),
            "tuples never answered": int((answered == 0).sum()),
            "connected parts": parts,
            "judgements": len(self.judgements),
            "judgements per item": _range(self.counts.shown[judged]),
            "answers left out": {str(why): n for why, n in self.answers.faults.items()},
            "annotators": len(self.answers.annotators),
            "annotators without gold questions": sum(
                one.accuracy is None for one in self.answers.annotators
            ),
            "annotators below the gold threshold": [
                {"annotator": one.name, "right": one.gold_right, "of": one.gold_answered}
                for one in self.answers.failed
            ],
            "mean width of intervals": _mean(self.high - self.low),
            "Spearman of both estimates": _spearman(self.score[judged], self.strength[judged]),
        }

    def text(self) -> str:
        """Lines for a screen."""
        found = self.to_dict()
        least, mean, most = found["judgements per item"].values()
        width, agree = found["mean width of intervals"], found["Spearman of both estimates"]
        lines = [
            self.answers.text(),
            f"{found['items'] - len(self.never_judged):,} of {found['items']:,} items scored, "
            f"from {least} to {most} judgements each ({mean:.1f} on average)",
            "95 % intervals are "
            + ("unknown" if width is None else f"{width:.2f} wide on average"),
            "counting and Bradley-Terry agree to a Spearman correlation of "
            + ("(undefined)" if agree is None else f"{agree:.3f}"),
        ]
        if names := self.never_judged:
            few = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
            lines.append(f"{len(names):,} items never judged: {few}")
        if found["connected parts"] > 1:
            lines.append(
                f"the answers fall into {found['connected parts']:,} parts without a common item: "
                "scores of different parts cannot be compared"
            )
        return "\n".join(lines)

    def write(self, folder: Path) -> None:
        """Write `scores.csv`, `summary.json`, `annotators.csv` and `left-out.csv`.

        Raises:
            InputError: A file cannot be written.
        """
        header = (
            "item", "score", "low", "high", "judgements", "best", "worst",
            "bradley_terry", "strength",
        )  # fmt: skip
        columns = (
            self.judgements.items,
            *map(_cells, (self.score, self.low, self.high)),
            self.counts.shown.tolist(),
            self.counts.best.tolist(),
            self.counts.worst.tolist(),
            _cells(chances(self.strength)),
            _cells(self.strength),
        )
        write_rows(folder / SCORES, header, zip(*columns, strict=True))
        write_rows(
            folder / ANNOTATORS,
            ("annotator", "answers", "gold_answered", "gold_right", "accuracy", "passed"),
            (
                (a.name, a.answers, a.gold_answered, a.gold_right,
                 "" if a.accuracy is None else f"{a.accuracy:.4f}", "yes" if a.passed else "no")
                for a in self.answers.annotators
            ),
        )  # fmt: skip
        write_rows(
            folder / LEFT_OUT,
            ("line", "tuple", "annotator", "best", "worst", "why"),
            (
                (a.line or "", a.tuple, a.annotator, a.best, a.worst, str(why))
                for a, why in self.answers.left_out
            ),
        )
        write_json(folder / SUMMARY, self.to_dict())


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
    """Score items from best-worst answers.

    Args:
        tuples: The questionnaire.
        annotations: As they were given; see `sort_answers` for what counts.
        gold: Right answers of some tuples.
        items: Ids of all items in the wanted order; by default those of the tuples, sorted.
        threshold: Least share of gold questions that must be right, in [0, 1].
        score_gold: Count answers to gold questions too.
        prior: Of Bradley–Terry, see `fit_strengths`.
        resamples: Of the intervals.
        seed: Of the intervals.

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


def _cells(values: Floats) -> list[str]:
    """Numbers for a file; nothing where there is none."""
    return ["" if np.isnan(value) else f"{value:.{_DIGITS}g}" for value in values.tolist()]


def _range(values: Any) -> dict[str, Any]:
    return {"least": int(values.min()), "mean": float(values.mean()), "most": int(values.max())}


def _mean(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


def _spearman(x: Floats, y: Floats) -> float | None:
    from scipy.stats import rankdata

    ranks = np.array([rankdata(x), rankdata(y)])
    if (ranks.std(axis=1) == 0).any():
        return None
    return float(np.corrcoef(ranks)[0, 1])
