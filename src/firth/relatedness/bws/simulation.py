"""A whole simulated annotation, as files: answers, gold questions, the truth, and what came out."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from firth.relatedness.bws.balance import number_items
from firth.relatedness.bws.calibrate import calibrate_noise, evenly_spread
from firth.relatedness.bws.files import write_rows
from firth.relatedness.bws.judgements import Floats
from firth.relatedness.bws.records import (
    Annotation,
    Gold,
    Item,
    Tuple,
    write_annotations,
    write_gold,
)
from firth.relatedness.bws.simulate import (
    Crowd,
    simulate_gold,
    simulate_judgements,
    to_annotations,
    true_gold,
)
from firth.relatedness.bws.split_half import split_half
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.seeds import derive_seed

ANNOTATIONS, GOLD, TRUTH, SUMMARY = "annotations.csv", "gold.csv", "truth.csv", "summary.json"
_SPLITS = 100


@dataclass(frozen=True)
class Simulation:
    """Simulated answers.

    Attributes:
        crowd: Who answered, with the noise that was used.
        answers: Answers to each tuple.
        annotations: Answers to tuples, then those to gold questions.
        gold: Right answers of gold tuples.
        truth: Id of each item and its true score.
        reliability: Split-half reliability of the answers, gold questions aside (Spearman); None
            where it is undefined.
        correlation: Spearman correlation of scores by counting with the truth.
    """

    crowd: Crowd
    answers: int
    annotations: tuple[Annotation, ...]
    gold: tuple[Gold, ...]
    truth: tuple[tuple[str, float], ...]
    reliability: float | None
    correlation: float

    def to_dict(self) -> dict[str, Any]:
        """The summary as plain values."""
        return {
            "annotators": asdict(self.crowd),
            "answers per tuple": self.answers,
            "annotations": len(self.annotations),
            "gold questions": len(self.gold),
            "split-half reliability": self.reliability,
            "Spearman with the truth": self.correlation,
        }

    def text(self) -> str:
        """Lines for a screen."""
        shr = "undefined" if self.reliability is None else f"{self.reliability:.3f}"
        return (
            f"{len(self.annotations):,} answers of {self.crowd.annotators:,} annotators "
            f"({self.crowd.n_careless:,} careless), noise {self.crowd.noise:.4f} "
            f"({self.crowd.kind})\n"
            f"split-half reliability {shr}; scores by counting correlate with the truth to "
            f"{self.correlation:.3f} (Spearman)"
        )

    def write(self, folder: Path) -> None:
        """Write `annotations.csv`, `truth.csv`, `summary.json`, and `gold.csv` if there is any."""
        write_annotations(folder / ANNOTATIONS, self.annotations)
        write_rows(
            folder / TRUTH, ("item", "score"), ((name, repr(score)) for name, score in self.truth)
        )
        if self.gold:
            write_gold(folder / GOLD, self.gold)
        write_json(folder / SUMMARY, self.to_dict())


def simulate_answers(
    items: Sequence[Item],
    tuples: Sequence[Tuple],
    crowd: Crowd,
    *,
    answers: int = 2,
    target: float | None = None,
    gold: int = 0,
    seed: int = 13,
) -> Simulation:
    """Have simulated annotators answer a questionnaire.

    Args:
        items: With their true scores.
        tuples: The questionnaire.
        crowd: Who answers.
        answers: Answers to each tuple.
        target: Split-half reliability for which the noise is chosen; None keeps `crowd.noise`.
        gold: Questions that are made gold ones, which all annotators answer.
        seed: Of everything.

    Raises:
        InputError: Items without a score, more gold questions than tuples, more answers to a tuple
            than annotators, or a target that cannot be reached.
    """
    from scipy.stats import spearmanr

    truth = true_scores(items)
    names, rows = number_items(tuples, [item.id for item in items])
    ids = [one.id for one in tuples]
    if target is not None:
        noise = calibrate_noise(truth, rows, answers, crowd, target, seed=seed)
        crowd = replace(crowd, noise=noise)
    judged, who = simulate_judgements(truth, rows, answers, crowd, seed=seed)
    annotations = to_annotations(ids, names, judged.asked, who, judged.best, judged.worst)
    questions: list[Gold] = []
    if gold:
        chosen, *checks = simulate_gold(truth, rows, gold, crowd, seed=seed)
        questions = true_gold(ids, names, rows, truth, chosen)
        golden = {question.tuple for question in questions}
        annotations = [one for one in annotations if one.tuple not in golden]
        annotations += to_annotations(ids, names, *checks)
    scores = judged.count().scores
    known = np.isfinite(scores)
    try:
        found = split_half(judged, seed=seed, splits=_SPLITS)
        reliability = float(np.nanmean(found.spearman))
    except InputError:  # too few items for a correlation: the answers are good all the same
        reliability = None
    return Simulation(
        crowd=crowd,
        answers=answers,
        annotations=tuple(annotations),
        gold=tuple(questions),
        truth=tuple(zip(names, truth.tolist(), strict=True)),
        reliability=reliability,
        correlation=float(spearmanr(scores[known], truth[known]).statistic),
    )


def with_random_truth(items: Sequence[Item], seed: int) -> list[Item]:
    """Items with made-up true scores, evenly spread over 0…1 in random order."""
    order = np.random.default_rng(derive_seed(seed, "bws", "truth")).permutation(len(items))
    made_up = evenly_spread(len(items))[order].tolist()
    return [replace(item, score=score) for item, score in zip(items, made_up, strict=True)]


def true_scores(items: Sequence[Item]) -> Floats:
    """Scores of items, shape (N,); raise `InputError` naming how many have none."""
    scores = [item.score for item in items if item.score is not None]
    if len(scores) < len(items):
        missing = next(item.id for item in items if item.score is None)
        raise InputError(
            f"{len(items) - len(scores):,} of {len(items):,} items have no score, as {missing!r}; "
            "expected a column score with a number for each, or --random-truth"
        )
    return np.array(scores)
