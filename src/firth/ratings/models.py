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
from firth.evaluation.sets import ALL, TASKS, EvaluationSet
from firth.ratings.features import check_scores
from firth.run.console import progress, table
from firth.run.errors import InputError, require
from firth.run.seeds import derive_seed
from firth.text.arrays import Floats, Ints
from firth.text.pairs import PairScorer
from firth.text.words import normal_form

FOLDS = 5
CROSS_VALIDATED, LEFT_OUT = "cross-validated", "leave-one-domain-out"


@dataclass(frozen=True, eq=False)
class ModelFigures:
    """A model on rated pairs.

    Attributes:
        name: Name of the model.
        similarities: Its similarity of each pair, (n,).
        figures: `all` and each domain → Spearman times 100, mean over folds.
    """

    name: str
    similarities: Floats
    figures: Mapping[str, Estimate]


@dataclass(frozen=True, eq=False)
class Study:
    """Models on rated pairs; fine-tuned ones last."""

    data: EvaluationSet
    models: tuple[ModelFigures, ...]

    def text(self) -> str:
        """Return Table 5, a line for each model, and Table 6, a line for each domain."""
        rows = [["model", "Spearman"], *([m.name, str(m.figures[ALL])] for m in self.models)]
        tables = [table(rows)]
        if self.data.subsets:
            rows = [["domain", *(model.name for model in self.models)]]
            for name in self.data.subsets:
                rows.append([name, *(str(model.figures[name]) for model in self.models)])
            tables.append(table(rows))
        return "\n\n".join(tables)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, with the similarity of each pair."""
        models = [
            {
                "name": model.name,
                "spearman": {name: asdict(one) for name, one in model.figures.items()},
                "similarities": model.similarities.tolist(),
            }
            for model in self.models
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

    Args:
        data: The pairs.
        scorers: Name → model.
        tuned: Name → similarities of models that did not learn from the pair, from `fine_tune`.
        folds: Number of folds.
        seed: Decides folds and resamples.

    Raises:
        InputError: The pairs have no scores that differ, or are fewer than the folds.
    """
    check_scores(data)
    tests = random_folds(data, folds, seed)
    models = []
    with progress(len(scorers), "Scoring pairs") as bar:
        for name, scorer in scorers.items():
            similarities = scorer.similarities(data.pairs)
            models.append(
                ModelFigures(name, similarities, _figures(data, similarities, tests, seed))
            )
            bar.advance()
    for name, similarities in (tuned or {}).items():
        by_domain = list(data.subsets.values()) if name == LEFT_OUT else tests
        figures = _figures(data, similarities, by_domain, seed)
        models.append(ModelFigures(name, similarities, figures))
    return Study(data, tuple(models))


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

    Args:
        encoder: Folder or hub name of an encoder.
        pairs: A file of scored pairs, or a set.
        out: Folder of the results.
        data_dir: Folder with the evaluation sets.
        folds: Number of random folds.
        seed: Decides folds and training.

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


def random_folds(data: EvaluationSet, folds: int, seed: int) -> list[Ints]:
    """Return the rows of random folds of equal size.

    Raises:
        InputError: There are fewer rows than folds.
    """
    # These are the folds of firth.train.folds, which needs torch.
    n = len(data.rows)
    if not 2 <= folds <= n:
        raise InputError(f"{data.id}: {n} rows cannot make {folds} folds")
    order = np.random.default_rng(derive_seed(seed, "folds", data.name, ALL)).permutation(n)
    return [np.sort(order[fold::folds]) for fold in range(folds)]


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
        others: Sets with the second score.
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
    scales = [_scale(other) for other in others]
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


def _scale(data: EvaluationSet) -> tuple[float, float]:
    """Return the lowest and highest score that a set can have; of a file, that it has."""
    if data.name in TASKS:
        return TASKS[data.name].scale
    return float(data.scores.min()), float(data.scores.max())


def _key(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(map(normal_form, texts)))
