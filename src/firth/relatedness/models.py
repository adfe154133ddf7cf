"""How well models do on scored pairs: means over folds (Table 5), and by domain (Table 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.evaluate.cache import Cache
from firth.evaluate.figures import Fold, Scheme, divide, mean_over_parts
from firth.evaluate.metrics import Estimate, Floats, Metric
from firth.evaluate.models import Model, label_of, score, system_of
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.task import ALL
from firth.relatedness.report import TextTable, describe, figure, write_columns, write_results
from firth.relatedness.scored import DOMAIN, check_scores, load_pairs, scores_of
from firth.relatedness.tune import (
    FOLDS,
    LABELS,
    MODEL,
    Recipe,
    Tuned,
    check_recipe,
    place_of,
    tune,
)
from firth.run.errors import MissingExtraError
from firth.run.progress import bar, note

DEFAULT_MODELS = ("baseline:dice", "baseline:tfidf", "baseline:glove", "baseline:glove+max")
"""What is measured when nothing is named; those that are not installed are left out."""
_LIBRARIES = ("numpy", "torch", "transformers", "sentence-transformers")


@dataclass(frozen=True)
class Setting:
    """How figures are made: random folds, the seed of folds and resampling, and bootstrap resamples
    of each interval.
    """

    folds: int = FOLDS
    seed: int = 13
    resamples: int = 1_000


@dataclass(frozen=True, eq=False)
class ModelScores:
    """A model (what the caller calls it, or how it was tuned; what it is), its similarities (n,),
    and Spearman × 100, a mean over folds, of `all` and each domain. Of a fine-tuned one, how many
    pairs share a sentence with a training pair, the figure of the others, and test fold → where its
    model lies in the folder of results.
    """

    label: str
    name: str
    similarities: Floats
    figures: Mapping[str, Estimate]
    shared: int | None = None
    apart: Estimate | None = None
    kept: Mapping[str, str] = field(default_factory=dict)


WRITTEN = ("results.json", "table.md", "table.tex", "domains.md", "domains.tex",
           "similarities.parquet")  # fmt: skip
"""What `Study.write` may write."""


@dataclass(frozen=True, eq=False)
class Study:
    """Models on scored pairs, fine-tuned ones last, and what was asked."""

    data: EvaluationSet
    models: tuple[ModelScores, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    command: str | None = None

    @property
    def figures(self) -> dict[str, Mapping[str, Estimate]]:
        """Label → `all` or domain → Spearman × 100, mean over folds."""
        return {one.label: one.figures for one in self.models}

    def table(self) -> TextTable:
        """Table 5: a line a model."""
        rows = [(one.label, figure(one.figures[ALL])) for one in self.models]
        setting = self.settings
        caption = (
            f"Spearman times 100 with the scores of {len(self.data.rows):,} pairs: mean over "
            f"{setting['folds']} folds, with 95 % bootstrap intervals ({setting['resamples']:,} "
            f"resamples, seed {setting['seed']}); leave-one-domain-out: mean over domains."
        )
        return TextTable(("model", "Spearman"), tuple(rows), caption, tuple(self._remarks()))

    def by_domain(self) -> TextTable:
        """Table 6: a line a domain, a column a model."""
        rows = tuple(
            (name, *(figure(one.figures[name]) for one in self.models))
            for name in domains_of(self.data)
        )
        caption = (
            f"Spearman times 100 by domain: mean over the pairs of the domain in each of "
            f"{self.settings['folds']} folds; leave-one-domain-out: over all pairs of a domain "
            "that nothing was learned from."
        )
        return TextTable(("domain", *(one.label for one in self.models)), rows, caption)

    def _remarks(self) -> list[str]:
        remarks = []
        if recipe := self.settings.get("recipe"):
            most = recipe["pairs"]
            remarks.append(
                f"fine-tuned: {Path(recipe['base']).name}, epochs: {recipe['epochs']}, pairs a "
                f"step: {recipe['batch']}"
                + (f", at most {most:,} training pairs a fold" if most else "")
            )
        for one in self.models:
            if one.shared is not None:
                remarks.append(
                    f"{one.label}: {one.shared:,} test pairs have a sentence that a training pair "
                    f"of their fold has too; without them {figure(one.apart)}"
                )
                first, *others = one.kept.values()
                remarks.append(
                    f"{one.label}: the model of each fold is kept: {first} and {len(others)} more "
                    "in the folder of results"
                )
        for one in self.models:
            undefined = {name: found.reason for name, found in one.figures.items() if found.reason}
            remarks += [f"{one.label}, {name}: {reason}" for name, reason in undefined.items()]
        return [*remarks, *self.data.notes]

    @property
    def tables(self) -> dict[str, TextTable]:
        """Both tables; the one by domain only where there are domains."""
        return {"table": self.table()} | (
            {"domains": self.by_domain()} if domains_of(self.data) else {}
        )

    def text(self) -> str:
        """Both tables for a screen."""
        return "\n\n".join(table.text() for table in self.tables.values())

    def write(self, folder: Path) -> None:
        """Write `results.json`, the tables, and `similarities.parquet`: a row a pair and model,
        without text: model, row (from 0), domain, score, similarity.
        """
        models = [
            {
                "label": one.label,
                "name": one.name,
                "spearman": {name: asdict(found) for name, found in one.figures.items()},
                "shared": one.shared,
                "apart": one.apart and asdict(one.apart),
                "models": dict(one.kept),
            }
            for one in self.models
        ]
        document = {"data": describe(self.data), "models": models}
        write_results(folder, document, self.settings, self.tables, libraries=_LIBRARIES,
                      command=self.command)  # fmt: skip
        rows, times = self.data.rows, len(self.models)
        columns = {
            "model": [one.label for one in self.models for _ in rows],
            "row": [*range(len(rows))] * times,
            "domain": [row.subtask for row in rows] * times,
            "score": [row.score for row in rows] * times,
            "similarity": np.concatenate([one.similarities for one in self.models]),
        }
        write_columns(folder / "similarities.parquet", columns)


def study_models(
    pairs: str | Path | EvaluationSet,
    models: Sequence[Model] = (),
    out: str | Path | None = None,
    recipe: Recipe | None = None,
    *,
    leave_one_out: bool = True,
    data_dir: str | Path | None = None,
    domain: str = DOMAIN,
    setting: Setting | None = None,
    cache: Cache | None = None,
    command: str | None = None,
) -> Study:
    """Measure models (as `firth evaluate` takes them; none: `DEFAULT_MODELS`) as they are and, if a
    recipe is given, fine-tuned on the pairs themselves: cross-validated and, with `leave_one_out`,
    without one domain at a time, where there are several.

    Every figure is a mean over the same random folds, also for models that learn nothing here (§6).
    `pairs`, `data_dir` and `domain` are those of `load_pairs`; `out` is the folder where finished
    folds are kept; `cache` holds similarities computed before; `command` is recorded.

    Raises:
        InputError: Pairs or models cannot be used.
        MissingExtraError: A library that a named model or the training needs is not installed.
        MissingStageError: A run lacks what a model needs.
    """
    setting = setting or Setting()
    data = load_pairs(pairs, data_dir, domain)
    check_scores(data)
    folds = tuple(divide(data, Scheme.RANDOM, setting.seed, setting.folds))
    if recipe is not None:
        check_recipe(recipe, data)
    found = _as_they_are(data, models, folds, setting, cache or Cache(None))
    if recipe is not None:
        schemes = [Scheme.RANDOM]
        if leave_one_out and len(domains_of(data)) > 1:
            schemes.append(Scheme.CROSS_TOPIC)
        for scheme in schemes:
            tuned = tune(data, scheme, recipe, Path(out or "."), setting.folds)
            found.append(_scores_of(data, tuned, recipe, setting))
    settings = asdict(setting) | {"recipe": None if recipe is None else vars(recipe)}
    return Study(data, tuple(found), settings, command)


def domains_of(data: EvaluationSet) -> dict[str, npt.NDArray[np.int64]]:
    """Domain → its row numbers; empty where there are no two."""
    return {name: rows for name, rows in data.subtasks.items() if name != ALL}


def _as_they_are(
    data: EvaluationSet,
    models: Sequence[Model],
    folds: Sequence[Fold],
    setting: Setting,
    cache: Cache,
) -> list[ModelScores]:
    found = []
    systems = {label_of(model): model for model in models or DEFAULT_MODELS}
    with bar("Scoring pairs", len(systems)) as shown:
        for label, model in systems.items():
            try:
                name, scored = score(system_of(model), [data], cache, shown)
            except MissingExtraError as error:
                if models:
                    raise
                note(f"left out: {error}")
                continue
            similarities = scored[0].similarities
            figures = _figures(data, similarities, folds, setting)
            found.append(ModelScores(label, name, similarities, figures))
    return found


def _scores_of(data: EvaluationSet, tuned: Tuned, recipe: Recipe, setting: Setting) -> ModelScores:
    tests, label = {fold.name: fold.test for fold in tuned.folds}, LABELS[tuned.scheme]
    if tuned.scheme is Scheme.RANDOM:
        figures = _figures(data, tuned.similarities, tuned.folds, setting)
    else:
        groups = {ALL: tests} | {name: {name: rows} for name, rows in tests.items()}
        figures = {
            name: _mean(data, tuned.similarities, parts, setting) for name, parts in groups.items()
        }
    apart = {name: rows[~tuned.shared[rows]] for name, rows in tests.items()}
    return ModelScores(
        label=label,
        name=f"{recipe.base}, fine-tuned, {label}",
        similarities=tuned.similarities,
        figures=figures,
        shared=int(tuned.shared.sum()),
        apart=_mean(data, tuned.similarities, apart, setting),
        kept={
            fold.name: f"{place_of(tuned.scheme, number)}/{MODEL}"
            for number, fold in enumerate(tuned.folds, start=1)
        },
    )


def _figures(
    data: EvaluationSet, similarities: Floats, folds: Sequence[Fold], setting: Setting
) -> dict[str, Estimate]:
    """`all` and each domain → mean over the test folds."""
    found = {ALL: _mean(data, similarities, {fold.name: fold.test for fold in folds}, setting)}
    for name, rows in domains_of(data).items():
        parts = {fold.name: np.intersect1d(fold.test, rows) for fold in folds}
        found[name] = _mean(data, similarities, parts, setting)
    return found


def _mean(
    data: EvaluationSet,
    similarities: Floats,
    parts: Mapping[str, npt.NDArray[np.int64]],
    setting: Setting,
) -> Estimate:
    return mean_over_parts(
        scores_of(data), similarities, parts, Metric.SPEARMAN, seed=setting.seed,
        resamples=setting.resamples,
    )  # fmt: skip
