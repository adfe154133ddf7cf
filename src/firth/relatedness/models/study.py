"""Figures of models on scored pairs: means over folds (Table 5), and by domain (Table 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.evaluate.aggregate import Fold, Scheme, divide, mean_over_parts
from firth.evaluate.cache import Cache
from firth.evaluate.metrics import Estimate, Floats, Metric
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.score import score, system_of
from firth.evaluate.task import ALL
from firth.relatedness.features.measure import check_scores
from firth.relatedness.models.report import Answers, Study
from firth.relatedness.models.tune import FOLDS, Recipe, Tuned, check_recipe, tune
from firth.relatedness.scored import DOMAIN, load_pairs
from firth.run.errors import MissingExtraError
from firth.run.progress import bar, note

DEFAULT_MODELS = ("baseline:dice", "baseline:tfidf", "baseline:glove", "baseline:glove+max")
"""What is measured when nothing is named; those that are not installed are left out."""


@dataclass(frozen=True)
class Setting:
    """How figures are made.

    Attributes:
        folds: How many random folds.
        seed: Of folds and resampling.
        resamples: Bootstrap resamples of each interval.
    """

    folds: int = FOLDS
    seed: int = 13
    resamples: int = 1_000


def study_models(
    pairs: "str | Path | EvaluationSet",
    models: Sequence[str] = (),
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
    """Measure models as they are and, if a recipe is given, fine-tuned on the pairs themselves.

    Every figure is a mean over the same random folds, also for models that learn nothing here
    (§6).

    Args:
        pairs: A file of scored pairs, the name of an evaluation set, or loaded pairs.
        models: As `firth evaluate` takes them; none takes `DEFAULT_MODELS`.
        out: Folder of the results; needed to fine-tune, where finished folds are kept.
        recipe: How to fine-tune; None does not.
        leave_one_out: Fine-tune without one domain at a time too, where there are several.
        data_dir: Folder of evaluation sets, for a name.
        domain: Column of the file that names a pair's domain.
        setting: Folds, seed, resamples.
        cache: Similarities of models computed before.
        command: The command line, for the record.

    Raises:
        InputError: Pairs or models cannot be used.
        MissingExtraError: A library that a named model or the training needs is not installed.
        MissingStageError: A run lacks what a model needs.
    """
    setting = setting or Setting()
    data = load_pairs(pairs, data_dir, domain) if isinstance(pairs, str | Path) else pairs
    check_scores(data)
    folds = tuple(divide(data, Scheme.RANDOM, setting.seed, setting.folds))
    if recipe is not None:
        check_recipe(recipe, data)
    answers = _as_they_are(data, models, cache or Cache(None))
    tuned: list[Tuned] = []
    if recipe is not None:
        schemes = [Scheme.RANDOM]
        if leave_one_out and len(domains_of(data)) > 1:
            schemes.append(Scheme.CROSS_TOPIC)
        folder = Path(out or ".")
        (folder / "folds").mkdir(parents=True, exist_ok=True)
        tuned = [tune(data, scheme, recipe, folder, setting.folds) for scheme in schemes]
    systems = [
        *((one, _figures(data, one.similarities, folds, setting)) for one in answers),
        *((_answers(recipe, one), _tuned_figures(data, one, setting)) for one in tuned if recipe),
    ]
    return Study(
        data=data,
        answers=tuple(one for one, _ in systems),
        figures={one.label: figures for one, figures in systems},
        apart={one.label: _apart(data, one, setting) for one in tuned},
        shared={one.label: int(one.shared.sum()) for one in tuned},
        settings={
            "folds": setting.folds,
            "seed": setting.seed,
            "resamples": setting.resamples,
            "recipe": None if recipe is None else vars(recipe),
        },
        command=command,
    )


def domains_of(data: EvaluationSet) -> Mapping[str, npt.NDArray[np.int64]]:
    """Domain → its row numbers; empty where there are no two."""
    return {name: rows for name, rows in data.subtasks.items() if name != ALL}


def _as_they_are(data: EvaluationSet, models: Sequence[str], cache: Cache) -> list[Answers]:
    found = []
    names = list(dict.fromkeys(models or DEFAULT_MODELS))
    with bar("Scoring pairs", len(names)) as shown:
        for model in names:
            try:
                name, scored = score(system_of(model), [data], cache, shown)
            except MissingExtraError as error:
                if models:
                    raise
                note(f"left out: {error}")
                continue
            found.append(Answers(model, name, scored[0].similarities))
    return found


def _answers(recipe: Recipe, tuned: Tuned) -> Answers:
    return Answers(tuned.label, f"{recipe.base}, fine-tuned, {tuned.label}", tuned.similarities)


def _figures(
    data: EvaluationSet, similarities: Floats, folds: Sequence[Fold], setting: Setting
) -> dict[str, Estimate]:
    """`all` and each domain → mean over the test folds."""
    found = {ALL: _mean(data, similarities, {fold.name: fold.test for fold in folds}, setting)}
    for name, rows in domains_of(data).items():
        parts = {fold.name: np.intersect1d(fold.test, rows) for fold in folds}
        found[name] = _mean(data, similarities, parts, setting)
    return found


def _tuned_figures(data: EvaluationSet, tuned: Tuned, setting: Setting) -> dict[str, Estimate]:
    if tuned.scheme is Scheme.RANDOM:
        return _figures(data, tuned.similarities, tuned.folds, setting)
    parts = {fold.name: fold.test for fold in tuned.folds}
    found = {ALL: _mean(data, tuned.similarities, parts, setting)}
    for name, rows in parts.items():
        found[name] = _mean(data, tuned.similarities, {name: rows}, setting)
    return found


def _apart(data: EvaluationSet, tuned: Tuned, setting: Setting) -> Estimate:
    """The mean over folds of the test pairs none of whose sentences was learned from."""
    parts = {fold.name: fold.test[~tuned.shared[fold.test]] for fold in tuned.folds}
    return _mean(data, tuned.similarities, parts, setting)


def _mean(
    data: EvaluationSet,
    similarities: Floats,
    parts: Mapping[str, npt.NDArray[np.int64]],
    setting: Setting,
) -> Estimate:
    scores = np.array([row.score for row in data.rows], dtype=np.float64)
    return mean_over_parts(
        scores,
        similarities,
        parts,
        Metric.SPEARMAN,
        seed=setting.seed,
        resamples=setting.resamples,
    )
