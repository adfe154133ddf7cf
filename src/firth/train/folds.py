"""Cross-validation: a model that did not learn from a row answers it; the folds are a loop."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from firth.encoders.transformer import open_sentence_transformer
from firth.evaluation.files import read_pair_file
from firth.evaluation.sets import ALL, EvaluationSet, load_set, make_folds, set_of_file
from firth.run.console import table
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.settings import derive_seed
from firth.run.stage import SCRATCH
from firth.text.types import Ints
from firth.train.finetune import (
    DEV,
    TEST,
    TRAIN,
    Parts,
    check,
    chosen_rows,
    divided,
    figure_rows,
    figures_of,
    fit,
    recipe_for,
    similarities,
    write_finetuned,
)
from firth.train.students import REPORT, TrainedFolder, shown_name

FOLDS = 10


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
    seed: int = 13,
    force: bool = False,
) -> TrainedFolder:
    """Fine-tune once for each fold, and measure on the rows that were held out.

    Args:
        encoder: Folder or hub name of an encoder.
        data: File or set; all its splits are joined.
        out: Folder of the report; the models are not kept.
        folds: Random parts of equal size. By default 10.
        leave_out: Leave out one value of this column of a file at a time instead.

    The other arguments are those of `firth.train.finetune.finetune`.

    Raises:
        InputError: Data or encoder cannot be used, or the folds cannot be made.
    """
    base, _, split = (str(data), "", "") if Path(data).is_file() else str(data).partition(":")
    if Path(base).is_file():
        joined = set_of_file(read_pair_file(base, leave_out), split or ALL)
    else:
        joined = load_set(f"{base}:{split or ALL}", data_dir)
    recipe = recipe_for(joined, objective, epochs, None, seed)
    tests = joined.subsets if leave_out else make_folds(joined, folds or FOLDS, seed)
    if not tests:
        raise InputError(f"{data}: all values of {leave_out} are equal, so none can be left out")
    parts = {name: parts_of_fold(joined, rows, name, seed) for name, rows in tests.items()}
    for fold in parts.values():
        check(fold, recipe)
    scheme = f"one {leave_out} left out at a time" if leave_out else f"{len(tests)} folds"
    settings = {"recipe": asdict(recipe), "data": joined.fingerprint, "scheme": scheme}

    def fill(workspace: Path) -> Mapping[str, Any]:
        n, before = len(joined.rows), similarities(open_sentence_transformer(str(encoder)), joined)
        after, learned = np.empty(len(before)), {}
        for number, (name, part) in enumerate(parts.items()):
            model, drawn = open_sentence_transformer(str(encoder)), derive_seed(seed, "fold", name)
            scratch = workspace / SCRATCH / str(number)
            result = fit(model, part, recipe, drawn, scratch, f"Fine-tuning, {name}")
            # The rows of a set are sorted by their content, and so are those of a part of it.
            places = np.concatenate([tests[name] + side * n for side in range(len(before) // n)])
            after[places] = similarities(model, chosen_rows(joined, tests[name]))
            sizes = {which: len(data.rows) for which, data in part.items()}
            learned[name] = {**sizes, "step": result["step"], "steps": result["steps"]}
        scopes = {"mean of folds": list(tests.values()), "all rows": [np.arange(n)]}
        figures = {
            f"{metric}, {scope}": figure
            for scope, groups in scopes.items()
            for metric, figure in figures_of(joined, groups, before, after, seed).items()
        }
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

    return TrainedFolder.open(out, write_finetuned(encoder, out, fill, settings, force))


def parts_of_fold(joined: EvaluationSet, rows: Ints, name: str, seed: int) -> Parts:
    """Return the parts of a fold; a tenth of the rows to learn from is drawn for dev."""
    test = chosen_rows(joined, rows, name)
    rest = chosen_rows(joined, np.setdiff1d(np.arange(len(joined.rows)), rows)).without(test)
    if drawn := divided(rest, derive_seed(seed, "finetune", name, DEV), DEV):
        learned, dev = drawn
        return {TRAIN: learned.without(dev), DEV: dev, TEST: test}
    return {TRAIN: rest, TEST: test}
