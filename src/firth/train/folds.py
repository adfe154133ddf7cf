"""Cross-validation: a model that did not learn from a row answers it; the folds are a loop."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from firth.encoders.transformer import open_sentence_transformer
from firth.evaluate.bootstrap import Estimate, bootstrap_seed
from firth.evaluate.metrics import Metric, Part, measure_mean, measure_mean_difference
from firth.evaluate.sets import FOLDS, EvaluationSet, Fold, leave_one_subset_out, make_folds
from firth.run.console import table
from firth.run.errors import InputError
from firth.run.files import write_json, write_text
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH
from firth.text.arrays import Floats
from firth.train.finetune import (
    DEV,
    Parts,
    Recipe,
    check_rows,
    divided,
    fit,
    joined,
    load_splits,
    similarities,
)
from firth.train.students import REPORT, TrainedFolder, shown_name

PREDICTIONS = "predictions.jsonl"
MEAN, OVERALL = "mean of folds", "all rows"


class CrossValidated(TrainedFolder):
    """Figures of models on rows that they did not learn from, and their predictions."""

    def text(self) -> str:
        """Return the figures for a screen."""
        report = self.report
        head = (
            f"{report['encoder']}: {report['data_kind']}, {report['settings']['recipe']['objective']}; "
            f"{report['data']['name']}, {report['data']['rows']:,} rows, {report['scheme']}"
        )
        rows = [["", "start", "fine-tuned", "difference"]]
        for metric, by_scope in report["figures"].items():
            for scope, one in by_scope.items():
                values = {name: Estimate(**value) for name, value in one.items()}
                shown = [str(values["start"]), str(values["fine-tuned"])]
                rows.append([f"{metric}, {scope}", *shown, values["difference"].signed])
        return f"{head}\n{table(rows)}"


def cross_validate(
    encoder: str | Path,
    data: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    folds: int | None = None,
    leave_out: str | None = None,
    data_dir: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    objective: str | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    learning_rate: float | None = None,
    patience: int | None = None,
    limit: int | None = None,
    seed: int = 13,
    force: bool = False,
) -> CrossValidated:
    """Fine-tune once for each fold, and measure on the rows that were held out.

    Args:
        encoder: Folder or hub name of an encoder.
        data: Files or sets; all their splits are joined.
        out: Folder of report and predictions; the models are not kept.
        folds: Parts of equal size, each with the same share of every subset. By default 10.
        leave_out: Leave out one value of this column at a time instead.
        data_dir: Folder with the evaluation sets.
        columns: Names in the files of columns without usual names.
        objective: As in `firth.train.finetune.finetune`, as are the arguments below.
        epochs: Passes over the rows.
        batch: Rows in a step.
        learning_rate: Peak of Adam's rate.
        patience: Looks at dev without a gain after which training stops.
        limit: Random rows to learn from in each fold.
        seed: Decides folds, dev rows and training.
        force: Replace another result in `out`.

    Raises:
        InputError: Data or encoder cannot be used, or the folds cannot be made.
    """
    named = {**(columns or {}), **({"subset": leave_out} if leave_out else {})}
    names = [data] if isinstance(data, str | Path) else list(data)
    sets = [one for name in names for one in load_splits(name, data_dir, named).values()]
    if not sets:
        raise InputError("data: got no file or set to learn from.")
    whole = joined(sets, "all")
    recipe = Recipe.of(
        whole, objective, epochs, batch, learning_rate=learning_rate, patience=patience
    )
    chosen = leave_one_subset_out(whole) if leave_out else make_folds(whole, seed, folds or FOLDS)
    parts = [_parts(whole, fold, limit, seed) for fold in chosen]
    for fold, one in zip(chosen, parts, strict=True):
        try:
            check_rows(one, recipe)
        except InputError as error:
            raise InputError(f"{fold.name}: {error}") from error
    scheme = f"leaving out one {leave_out} at a time" if leave_out else f"{len(chosen)} folds"
    settings = {
        "recipe": asdict(recipe),
        "data": whole.fingerprint,
        "scheme": scheme,
        "seed": seed,
        "limit": limit,
    }

    def fill(workspace: Path) -> Mapping[str, Any]:
        return _fill(workspace, str(encoder), whole, chosen, parts, recipe, settings)

    return CrossValidated.build(encoder, out, fill, settings, force)


def _parts(whole: EvaluationSet, fold: Fold, limit: int | None, seed: int) -> Parts:
    """Return the rows of a fold; a tenth of those to learn from is drawn for dev."""
    test, learned = whole.only(fold.test), whole.only(fold.train).without(whole.only(fold.test))
    learned, dev = divided(learned, derive_seed(seed, "finetune", fold.name, DEV), DEV)
    learned = learned if dev is None else learned.without(dev)
    return Parts(learned if limit is None else learned.sampled(limit, seed), dev, test)


def _fill(
    workspace: Path,
    encoder: str,
    whole: EvaluationSet,
    folds: Sequence[Fold],
    parts: Sequence[Parts],
    recipe: Recipe,
    settings: Mapping[str, Any],
) -> Mapping[str, Any]:
    rows, seed = len(whole.rows), settings["seed"]
    before = similarities(open_sentence_transformer(encoder), whole)
    after = np.full(len(before), np.nan)
    fold_of = np.empty(rows, dtype=object)
    learned = []
    for number, (fold, part) in enumerate(zip(folds, parts, strict=True), start=1):
        model = open_sentence_transformer(encoder)
        title = f"Fine-tuning, {fold.name} ({number} of {len(folds)})"
        drawn = derive_seed(seed, "finetune", fold.name)
        scratch = workspace / SCRATCH / f"fold-{number}"
        found = fit(model, part.train, part.dev, recipe, drawn, scratch, title)
        assert part.test is not None
        answers = similarities(model, part.test)
        for side in range(len(answers) // len(fold.test)):
            size = len(fold.test)
            after[fold.test + side * rows] = answers[side * size : (side + 1) * size]
        fold_of[fold.test] = fold.name
        sizes = {name: len(one.rows) for name, one in part.named.items()}
        learned.append({"name": fold.name, **sizes, "step": found["step"], "steps": found["steps"]})
    report = {
        "encoder": shown_name(encoder),
        "data_kind": recipe.kind,
        "settings": dict(settings),
        "data": {"name": whole.name, "rows": rows},
        "scheme": settings["scheme"],
        "folds": learned,
        "figures": {
            metric.value: _figures(metric, whole, folds, before, after, seed)
            for metric in whole.metrics
        },
    }
    _write_predictions(workspace / PREDICTIONS, whole, fold_of.tolist(), before, after)
    write_json(workspace / REPORT, report)
    return {"encoder": report["encoder"], "figures": report["figures"]}


def _figures(
    metric: Metric,
    whole: EvaluationSet,
    folds: Sequence[Fold],
    before: Floats,
    after: Floats,
    seed: int,
) -> dict[str, Any]:
    """Return the mean over folds and the figure of all rows: start, fine-tuned, difference."""
    systems = [whole.columns(after), whole.columns(before)]
    found = {}
    every = np.arange(len(whole.rows))
    for scope, groups in ((MEAN, [fold.test for fold in folds]), (OVERALL, [every])):
        parts = [
            Part(
                [(x[rows], y[rows]) for x, y in systems],
                bootstrap_seed(seed, scope, metric.value, number),
            )
            for number, rows in enumerate(groups)
        ]
        tuned, start = (
            measure_mean(metric, [Part([one.systems[which]], one.seed) for one in parts])
            for which in (0, 1)
        )
        difference = measure_mean_difference(metric, parts)
        found[scope] = {
            "start": asdict(start),
            "fine-tuned": asdict(tuned),
            "difference": asdict(difference),
        }
    return found


def _write_predictions(
    path: Path, whole: EvaluationSet, folds: Sequence[str], before: Floats, after: Floats
) -> None:
    """Write a line for each row: texts, score, subset, fold, and the cosines of both models."""
    n = len(whole.rows)
    names = ("anchor", "positive", "negative") if whole.triplets else ("sentence1", "sentence2")
    lines = []
    for number, row in enumerate(whole.rows):
        line: dict[str, Any] = dict(zip(names, row.texts, strict=True))
        if not whole.triplets:
            line["score"] = row.score
        line |= {"subset": row.subset, "fold": folds[number]}
        for name, cosines in (("start", before), ("fine_tuned", after)):
            both = cosines[number::n].tolist()
            line[name] = both if whole.triplets else both[0]
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    write_text(path, "".join(lines))
