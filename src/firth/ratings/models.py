"""How well models predict ratings: Tables 5 and 6 of Abdalla et al., and bins of other scores (§4).

Every figure is a mean over the same random folds, also for models that learn nothing from the
pairs, as in the paper (§6).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from firth.evaluation.bootstrap import Estimate, bootstrap_seed, estimate
from firth.evaluation.metrics import Metric, measure, metric_sample
from firth.evaluation.sets import ALL, TASKS, EvaluationSet, make_folds
from firth.ratings.features import check_scores
from firth.run.console import progress, table
from firth.run.errors import InputError, require
from firth.text.arrays import Floats, Ints
from firth.text.pairs import PairScorer
from firth.text.words import normal_form

FOLDS = 5
CROSS_VALIDATED, LEFT_OUT = "cross-validated", "leave-one-domain-out"


@dataclass(frozen=True, eq=False)
class Study:
    """Models on rated pairs; fine-tuned ones last.

    Attributes:
        data: The pairs.
        figures: Model → `all` and each domain → Spearman times 100, mean over folds.
        similarities: Model → its similarity of each pair, (n,).
    """

    data: EvaluationSet
    figures: Mapping[str, Mapping[str, Estimate]]
    similarities: Mapping[str, Floats]

    def text(self) -> str:
        """Return Table 5, a line for each model, and Table 6, a line for each domain."""
        rows = [["model", "Spearman"], *([m, str(one[ALL])] for m, one in self.figures.items())]
        tables = [table(rows)]
        if self.data.subsets:
            rows = [["domain", *self.figures]]
            for name in self.data.subsets:
                rows.append([name, *(str(one[name]) for one in self.figures.values())])
            tables.append(table(rows))
        return "\n\n".join(tables)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, with the similarity of each pair."""
        models = [
            {
                "name": model,
                "spearman": {name: asdict(one) for name, one in figures.items()},
                "similarities": self.similarities[model].tolist(),
            }
            for model, figures in self.figures.items()
        ]
        return {"data": self.data.id, "fingerprint": self.data.fingerprint, "models": models}


def study_models(
    data: EvaluationSet,
    scorers: Mapping[str, PairScorer],
    tuned: Mapping[str, Floats] | None = None,
    *,
    folds: int = FOLDS,
    seed: int = 13,
) -> Study:
    """Measure models on rated pairs, by fold and domain.

    `tuned` has the similarities, (n,), of models that did not learn from the pair (`fine_tune`).

    Raises:
        InputError: The pairs have no scores that differ, or are fewer than the folds.
    """
    check_scores(data)
    tests = list(make_folds(data, folds, seed).values())
    similarities = {
        name: scorers[name].similarities(data.pairs)
        for name in progress(list(scorers), "Scoring pairs")
    }
    figures = {}
    for name, values in (similarities | dict(tuned or {})).items():
        parts = list(data.subsets.values()) if name == LEFT_OUT else tests
        similarities[name] = values
        figures[name] = _figures(data, values, parts, seed)
    return Study(data, figures, similarities)


def fine_tune(
    encoder: str,
    pairs: str | Path,
    out: Path,
    *,
    data_dir: Path | None = None,
    folds: int = FOLDS,
    seed: int = 13,
) -> tuple[EvaluationSet, dict[str, Floats]]:
    """Fine-tune an encoder on rated pairs, and let it score the pairs that were held out (§6.2).

    Random folds are over pairs, and leave-one-domain-out over domains where there are several.
    Finished results in `out` are reused.

    Returns:
        The pairs, in the order of the similarities; and the similarities by kind of folds, (n,).

    Raises:
        InputError: Pairs or encoder cannot be used.
        MissingExtraError: torch is not installed.
    """
    require("torch", "torch", "Fine-tuning")
    from firth.evaluation.files import read_pair_file
    from firth.train.finetune import joined, load_splits
    from firth.train.folds import cross_validate

    data = joined(load_splits(pairs, data_dir).values(), ALL)
    plans: dict[str, dict[str, Any]] = {CROSS_VALIDATED: {"folds": folds}}
    if data.subsets:
        is_file = Path(pairs).is_file()
        column = read_pair_file(pairs).columns["subset"] if is_file else "subset"
        plans[LEFT_OUT] = {"leave_out": column}
    tuned = {}
    for name, plan in plans.items():
        result = cross_validate(encoder, pairs, out / name, data_dir=data_dir, seed=seed, **plan)
        tuned[name] = np.array(result.report["cosines"]["fine-tuned"], dtype=np.float64)
    return data, tuned


def _figures(
    data: EvaluationSet, similarities: Floats, tests: Sequence[Ints], seed: int
) -> dict[str, Estimate]:
    """Return the mean over folds, of all rows and of those of each domain."""
    figures = {}
    for name, rows in {ALL: np.arange(len(data.rows)), **data.subsets}.items():
        parts = [part for test in tests if len(part := np.intersect1d(test, rows))]
        samples = [
            metric_sample(
                Metric.SPEARMAN,
                [(data.scores[part], similarities[part])],
                bootstrap_seed(seed, "relatedness", name, number),
            )
            for number, part in enumerate(parts)
        ]
        figures[name] = estimate(samples)
    return figures


# --- Bins ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bins:
    """Rank correlation of two scores of the same pairs, within bins of the second one (§4).

    Attributes:
        figures: `all` and each bin → Spearman times 100.
        shared: Number of pairs that have both scores.
        total: Number of pairs that have the first score.
    """

    figures: Mapping[str, Estimate]
    shared: int
    total: int

    def text(self) -> str:
        """Return the table for a screen."""
        rows = [["bin", "Spearman", "pairs"]]
        rows += [[name, str(one), f"{one.n:,}"] for name, one in self.figures.items()]
        return f"{table(rows)}\n{self.shared:,} of {self.total:,} pairs have both scores"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def compare_in_bins(
    first: EvaluationSet,
    others: Sequence[EvaluationSet],
    bins: int = 5,
    *,
    domain: str | None = None,
    seed: int = 13,
) -> Bins:
    """Correlate two scores of the same pairs, such as relatedness and similarity, within bins.

    Pairs are the same where their texts are, in any order, whatever the case and punctuation. Bins
    have equal width over the range of the second scores: [0, 1], (1, 2], and so on. A pair with
    several second scores has their mean.

    Args:
        first: Pairs with the first score.
        others: Sets with the second score. Their range is the published one, or that of a file.
        bins: Number of bins.
        domain: Use only pairs of this domain of `first`.
        seed: Decides the resamples.

    Raises:
        InputError: There is no such domain, or fewer than two pairs have both scores.
    """
    rows = [row for row in first.rows if domain in (None, row.subset)]
    if not rows:
        known = ", ".join(first.subsets) or "none"
        raise InputError(f"{first.id}: no domain {domain!r}. It has: {known}")
    second: dict[tuple[str, ...], list[float]] = {}
    for row in (row for other in others for row in other.rows):
        second.setdefault(_key(row.texts), []).append(row.score)
    shared = [(row.score, second[key]) for row in rows if (key := _key(row.texts)) in second]
    if len(shared) < 2:
        raise InputError(
            f"{len(shared)} of {len(rows)} pairs of {first.id} are in "
            f"{', '.join(other.id for other in others)}; expected the same pairs in both"
        )
    one = np.array([score for score, _ in shared])
    two = np.array([float(np.mean(scores)) for _, scores in shared])
    scales = [
        TASKS[one.name].scale if one.name in TASKS else (one.scores.min(), one.scores.max())
        for one in others
    ]
    edges = np.linspace(min(s[0] for s in scales), max(s[1] for s in scales), bins + 1)
    places = np.clip(np.searchsorted(edges, two, side="left"), 1, bins)
    masks = {ALL: places > 0}
    for place, (low, high) in enumerate(pairwise(edges), start=1):
        masks[f"{'[' if place == 1 else '('}{low:g}, {high:g}]"] = places == place
    figures = {}
    for name, mask in masks.items():
        drawn = bootstrap_seed(seed, "relatedness", "bins", name)
        figures[name] = measure(Metric.SPEARMAN, one[mask], two[mask], seed=drawn)
    return Bins(figures, len(shared), len(rows))


def _key(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(map(normal_form, texts)))
