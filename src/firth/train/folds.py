"""Cross-validation: a model that did not learn from a row answers it; the folds are a loop."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from firth.encoders.transformer import open_sentence_transformer
from firth.evaluation.bootstrap import bootstrap_seed, estimate
from firth.evaluation.metrics import Metric, metric_sample
from firth.evaluation.sets import ALL, EvaluationSet
from firth.run.console import table
from firth.run.errors import InputError
from firth.run.files import read_json, write_json
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH
from firth.text.arrays import Floats, Ints
from firth.train.finetune import (
    DEV,
    Parts,
    Recipe,
    chosen_rows,
    divided,
    figure_rows,
    fit,
    joined,
    load_splits,
    similarities,
    write_finetuned,
)
from firth.train.students import REPORT, TrainedFolder, shown_name

FOLDS = 10


class CrossValidated(TrainedFolder):
    """Figures of models on rows that they did not learn from; the report holds their cosines."""


def cross_validate(
    encoder: str | Path,
    data: str | Path,
    out: str | Path,
    *,
    folds: int | None = None,
    leave_out: str | None = None,
    data_dir: str | Path | None = None,
    objective: str | None = None,
    epochs: int | None = None,
    learning_rate: float | None = None,
    seed: int = 13,
    force: bool = False,
) -> CrossValidated:
    """Fine-tune once for each fold, and measure on the rows that were held out.

    Args:
        encoder: Folder or hub name of an encoder.
        data: File or set; all its splits are joined.
        out: Folder of the report; the models are not kept.
        folds: Parts of equal size, each with the same share of every subset. By default 10.
        leave_out: Leave out one value of this column of a file at a time instead.
        data_dir: Folder with the evaluation sets.
        objective: As in `firth.train.finetune.finetune`, as are the arguments below.
        epochs: Passes over the rows.
        learning_rate: Peak of Adam's rate.
        seed: Decides folds, dev rows and training.
        force: Replace another result in `out`.

    Raises:
        InputError: Data or encoder cannot be used, or the folds cannot be made.
    """
    columns = {"subset": leave_out} if leave_out else None
    whole = joined(load_splits(data, data_dir, columns).values(), ALL)
    recipe = Recipe.of(whole, objective, epochs, learning_rate, seed)
    tests = whole.subsets if leave_out else make_folds(whole, folds or FOLDS, seed)
    if not tests:
        raise InputError(f"{data}: all values of {leave_out} are equal, so none can be left out")
    parts = {name: parts_of_fold(whole, rows, name, seed) for name, rows in tests.items()}
    for one in parts.values():
        one.check(recipe)
    scheme = f"one {leave_out} left out at a time" if leave_out else f"{len(tests)} folds"
    settings = {"recipe": asdict(recipe), "data": whole.fingerprint, "scheme": scheme}

    def fill(workspace: Path) -> Mapping[str, Any]:
        n, before = len(whole.rows), similarities(open_sentence_transformer(str(encoder)), whole)
        after, learned = np.empty(len(before)), {}
        for number, (name, part) in enumerate(parts.items()):
            model, drawn = open_sentence_transformer(str(encoder)), derive_seed(seed, "fold", name)
            scratch = workspace / SCRATCH / str(number)
            found = fit(model, part, recipe, drawn, scratch, f"Fine-tuning, {name}")
            # The rows of a set are sorted by their content, and so are those of a part of it.
            places = np.concatenate([tests[name] + side * n for side in range(len(before) // n)])
            after[places] = similarities(model, chosen_rows(whole, tests[name]))
            sizes = {which: len(one.rows) for which, one in part.named.items()}
            learned[name] = {**sizes, "step": found["step"], "steps": found["steps"]}
        figures = {
            f"{metric}, {scope}": _figures(metric, whole, groups, before, after, seed)
            for metric in whole.metrics
            for scope, groups in (
                ("mean of folds", list(tests.values())), ("all rows", [np.arange(n)])
            )
        }  # fmt: skip
        head = f"{recipe.kind}, objective {recipe.objective}, {n:,} rows, {scheme}"
        report = {
            "encoder": shown_name(encoder),
            "recipe": settings["recipe"],
            "folds": learned,
            "figures": figures,
            "cosines": {"start": before.tolist(), "fine-tuned": after.tolist()},
            "lines": [f"{shown_name(encoder)}: {head}", table(figure_rows(figures))],
        }
        write_json(workspace / REPORT, report)
        return {"encoder": report["encoder"], "figures": figures}

    reused = write_finetuned(encoder, out, fill, settings, force)
    return CrossValidated(Path(out), read_json(Path(out) / REPORT), reused)


def make_folds(data: EvaluationSet, folds: int, seed: int) -> dict[str, Ints]:
    """Return the test rows of random folds of equal size, with the same share of every subset.

    Raises:
        InputError: There are fewer rows than folds.
    """
    n = len(data.rows)
    if not 2 <= folds <= n:
        raise InputError(f"{data.id}: {n} rows cannot make {folds} folds")
    fold_of = np.empty(n, np.int64)
    dealt = 0
    for name, rows in (data.subsets or {ALL: np.arange(n)}).items():
        rng = np.random.default_rng(derive_seed(seed, "folds", data.name, name))
        # The next subset continues where this one stops, so that sizes differ by one at most.
        fold_of[rng.permutation(rows)] = (np.arange(len(rows)) + dealt) % folds
        dealt += len(rows)
    return {f"fold {k + 1}": np.flatnonzero(fold_of == k) for k in range(folds)}


def parts_of_fold(whole: EvaluationSet, rows: Ints, name: str, seed: int) -> Parts:
    """Return the parts of a fold; a tenth of the rows to learn from is drawn for dev."""
    test = chosen_rows(whole, rows, name)
    others = chosen_rows(whole, np.setdiff1d(np.arange(len(whole.rows)), rows)).without(test)
    learned, dev = divided(others, derive_seed(seed, "finetune", name, DEV), DEV)
    return Parts(learned if dev is None else learned.without(dev), dev, test)


def _figures(
    metric: Metric,
    whole: EvaluationSet,
    groups: list[Ints],
    before: Floats,
    after: Floats,
    seed: int,
) -> dict[str, Any]:
    """Return the mean over groups of rows: start, fine-tuned, difference."""

    def measured(*systems: Floats) -> dict[str, Any]:
        samples = [
            metric_sample(
                metric,
                [(x[rows], y[rows]) for x, y in map(whole.columns, systems)],
                bootstrap_seed(seed, whole.name, metric.value, number),
                difference=len(systems) > 1,
            )
            for number, rows in enumerate(groups)
        ]
        return asdict(estimate(samples))

    one, two = measured(before), measured(after)
    return {"start": one, "fine-tuned": two, "difference": measured(after, before)}
