"""Cross-validation: every row is answered by a model that did not learn from it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.evaluate.figures import Fold, Scheme, divide
from firth.evaluate.metrics import (
    Difference,
    Estimate,
    Floats,
    Metric,
    Part,
    mean_difference,
    mean_estimate,
)
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.task import Kind as Shape
from firth.finetune.data import (
    divided,
    divided_by_groups,
    examples_of,
    immeasurable,
    in_order,
    joined,
    problems_of_train,
)
from firth.finetune.finetune import COMMAND, LIBRARIES, refuse
from firth.finetune.recipe import Kind, Objective, Recipe, recipe_of
from firth.finetune.report import REPORT, START, TUNED, Reported
from firth.finetune.sets import DEV, TRAIN, Places, read_sets, usual_sets
from firth.finetune.start import Start
from firth.run.files import write_atomically, write_json
from firth.run.results import claim_folder, write_folder
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH

PREDICTIONS = "predictions.parquet"
FOLDS = 10
OVER_FOLDS, OVERALL = "mean of folds", "all rows"


@dataclass(frozen=True)
class CrossValidated(Reported):
    """What models answered on rows that they did not learn from.

    Attributes:
        path: Folder with `report.json` and `predictions.parquet` (texts, `score`, `group`, `fold`,
            and the similarities `start` and `fine_tuned`; of triplets both of each).
        report: `kind`, `objective`, `start`, `settings`, `data`, `scheme` (`10-fold`, or what was
            left out in turn), `folds` (each `name`, `train`, `dev`, `test` (rows), `dev_groups`
            (that dev is made of; empty where rows were drawn), `left_out`, `shared` (test rows of
            which a text stands in a row that was learned from), `step` of `steps`, and metric →
            `start` and `fine-tuned`, × 100), and `figures`: metric → `mean of folds` and `all rows`
            → `start`, `fine-tuned`, `difference`, × 100 with 95 % intervals (rows are resampled
            within folds, or all together).
        reused: Whether it was already there.
    """

    def text(self) -> str:
        """The figures for a screen."""
        return _text(self.report)


def cross_validate(
    kind: str | Kind,
    start: str | Path,
    out: str | Path,
    *,
    data: Sequence[str | Path] = (),
    folds: int = FOLDS,
    by: str | None = None,
    run: str | Path | Run | None = None,
    data_dir: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    score_range: tuple[float, float] | None = None,
    share: float = 0.1,
    objective: str | Objective | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    learning_rate: float | None = None,
    patience: int | None = None,
    parts: int = 1,
    seed: int = 13,
    limit: int | None = None,
    resamples: int = 1_000,
    force: bool = False,
) -> CrossValidated:
    """Fine-tune once for each fold, and measure on what was kept from it.

    Args:
        kind: `sts`, `pairs` or `triplets`.
        start: As of `firth.finetune.finetune.finetune`, as are the arguments not named here.
        out: Folder of predictions and report; the models are not kept.
        data: Sets or files; all their splits are taken together.
        folds: Parts that the rows are dealt into, each with the same share of every group.
        by: Leave one group out in turn instead: a file's column, or `subtask` of a known set.
        share: Of a fold's training rows, drawn to choose the best weights; 0 keeps the last. With
            `by` whole groups are drawn until they have that share, so that dev asks what test
            asks: how what was learned holds for groups that nothing was learned from.
        seed: Of folds and training.

    Raises:
        InputError: Everything that is wrong, before training begins: as for `finetune`, and folds
            that cannot be made or measured.
    """
    recipe = recipe_of(kind, objective, epochs=epochs, batch=batch, learning_rate=learning_rate,
                       patience=patience, parts=parts)  # fmt: skip
    claim_folder(Path(out), COMMAND)
    found = recipe.problems()
    if recipe.kind is Kind.NLI:
        found.append("kind: got nli, which is not cross-validated; expected sts, pairs or triplets")
    if not 0 <= share <= 0.4:
        found.append(f"share: got {share:g}; expected 0 to 0.4")
    refuse(found)
    opened = Start(start, run)
    places = Places(data_dir, columns or {}, by, score_range)
    names = usual_sets(recipe.kind, data)
    sets = [one for name in names for one in read_sets(name, recipe.kind, places).values()]
    whole = in_order(joined(sets, "all"))
    rows = divide(whole, Scheme.CROSS_TOPIC if by else Scheme.RANDOM, seed, folds)
    divided = [_part(whole, fold, share, by, limit, seed) for fold in rows]
    refuse([problem for part in divided for problem in part.problems(recipe, share)])
    opened.open(seed)  # refused before anything is trained
    scheme = f"without one {by} in turn" if by else f"{folds}-fold"
    config = {
        "start": [opened.shown, opened.identity()],
        "recipe": recipe.shown(),
        "data": [whole.fingerprint, whole.question],
        "scheme": scheme,
        "share": share,
        "seed": seed,
        "limit": limit,
        "resamples": resamples,
    }

    def build(workspace: Path) -> str:
        return _build(workspace, opened, whole, divided, recipe, scheme, seed, limit, resamples)

    outcome = write_folder(Path(out), command=COMMAND, inputs={}, config=config, build=build,
                           libraries=LIBRARIES, replace=force)  # fmt: skip
    return CrossValidated.open(out, outcome.reused)


@dataclass(frozen=True, eq=False)
class _Part:
    """A fold: what is learned from, what chooses, what measures."""

    fold: Fold
    train: EvaluationSet
    dev: EvaluationSet | None
    dev_groups: list[str]
    test: EvaluationSet
    left_out: int
    shared: int

    def problems(self, recipe: Recipe, share: float) -> list[str]:
        """Why it cannot be learned, chosen or measured, a line each."""
        found = problems_of_train(self.train, recipe.kind, recipe.chosen)
        if share and self.dev is None:
            found.append(
                "one group is left to learn from, and none to choose the best weights by. Have "
                "three groups or more, or keep the last weights (--share 0)"
            )
        for part, place in ((self.dev, "that choose"), (self.test, "that are held out")):
            if part is not None and (why := immeasurable(part)):
                found.append(f"{why} in the rows {place}")
        return [f"{self.fold.name}: {problem}" for problem in found]


def _part(
    whole: EvaluationSet, fold: Fold, share: float, by: str | None, limit: int | None, seed: int
) -> _Part:
    def of(rows: npt.NDArray[np.int64], name: str) -> EvaluationSet:
        return replace(whole.only(rows), split=name)

    test, train = of(fold.test, fold.name), of(fold.train, TRAIN)
    dev: EvaluationSet | None = None
    before = len(train.rows)
    train = replace(train.without(test), notes=(), excluded=())
    left_out = before - len(train.rows)
    if share:
        drawn = derive_seed(seed, "finetune", fold.name, DEV)
        train, dev = (divided_by_groups if by else divided)(train, share, drawn, DEV)
    if dev is not None:
        train = replace(train.without(dev), notes=(), excluded=())
    train = replace(train.sampled(limit, seed), notes=())
    shared = int(test.sharing(train).sum())
    groups = sorted({row.subtask for row in dev.rows}) if by and dev else []
    return _Part(fold, train, dev, groups, test, left_out, shared)


def _build(
    workspace: Path, start: Start, whole: EvaluationSet, parts: Sequence[_Part], recipe: Recipe,
    scheme: str, seed: int, limit: int | None, resamples: int,
) -> str:  # fmt: skip
    from firth.evaluate.models import EncoderScorer
    from firth.finetune.train import fit

    before = EncoderScorer(start.open(seed), "").similarities(whole.pairs)
    after = np.full(len(before), np.nan)
    rows = len(whole.rows)
    told = []
    for number, part in enumerate(parts, start=1):
        model = start.open(seed)
        learned = fit(
            model, examples_of(part.train, recipe.kind, recipe.chosen), part.dev, recipe,
            derive_seed(seed, "finetune", part.fold.name), workspace / SCRATCH / f"fold-{number}",
            f"Fine-tuning, {part.fold.name} ({number} of {len(parts)})", start.random,
        )  # fmt: skip
        found = EncoderScorer(model, "").similarities(part.test.pairs)
        for side in range(len(found) // len(part.fold.test)):
            size = len(part.fold.test)
            after[part.fold.test + side * rows] = found[side * size : (side + 1) * size]
        told.append((part, learned))
    assert np.isfinite(after).all()
    each = [part.fold.test for part in parts]
    metrics = whole.task.metrics
    columns = [whole.columns(one) for one in (after, before)]
    report: dict[str, Any] = {
        "kind": recipe.kind.value,
        "objective": recipe.chosen.value,
        "start": start.shown,
        "settings": recipe.shown() | {"seed": seed, "limit": limit, "resamples": resamples},
        "data": {"name": whole.task.name, "rows": rows, "fingerprint": whole.fingerprint},
        "scheme": scheme,
        "folds": [
            {"name": part.fold.name, "train": len(part.train.rows),
             "dev": 0 if part.dev is None else len(part.dev.rows), "dev_groups": part.dev_groups,
             "test": len(part.test.rows), "left_out": part.left_out, "shared": part.shared,
             "step": learned.step, "steps": learned.steps, "rate": learned.rate}
            | {metric.value: {name: _on(metric, one, part.fold.test)
                              for name, one in zip((TUNED, START), columns, strict=True)}
               for metric in metrics}
            for part, learned in told
        ],
        "figures": {metric.value: _figures(metric, columns, each, seed, resamples)
                    for metric in metrics},
    }  # fmt: skip
    _write_predictions(workspace / PREDICTIONS, whole, parts, before, after)
    write_json(workspace / REPORT, report)
    return _text(report)


def _on(metric: Metric, columns: tuple[Floats, Floats], rows: npt.NDArray[np.int64]) -> Any:
    x, y = (column[rows] for column in columns)
    return mean_estimate(metric, [Part([(x, y)], 0)], 0).value


def _figures(
    metric: Metric, systems: Sequence[tuple[Floats, Floats]],
    folds: Sequence[npt.NDArray[np.int64]], seed: int, resamples: int,
) -> dict[str, Any]:  # fmt: skip
    """Of the fine-tuned and the start: the mean over folds, and over all rows together."""
    every = np.arange(len(systems[0][0]))
    found = {}
    for name, parts in ((OVER_FOLDS, folds), (OVERALL, [every])):
        drawn = [
            Part([(x[rows], y[rows]) for x, y in systems],
                 derive_seed(seed, "bootstrap", name, metric.value, number))
            for number, rows in enumerate(parts)
        ]  # fmt: skip
        tuned, start = (
            mean_estimate(metric, [replace(one, systems=[one.systems[which]]) for one in drawn],
                          resamples)
            for which in (0, 1)
        )  # fmt: skip
        ahead = mean_difference(metric, drawn, resamples)
        found[name] = {START: asdict(start), TUNED: asdict(tuned), "difference": asdict(ahead)}
    return found


def _write_predictions(
    path: Path, whole: EvaluationSet, parts: Sequence[_Part], before: Floats, after: Floats
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = whole.rows
    fold_of = np.empty(len(rows), np.int64)
    for number, part in enumerate(parts):
        fold_of[part.fold.test] = number
    triplets = whole.task.kind is Shape.TRIPLETS
    texts = ("anchor", "positive", "negative") if triplets else ("sentence1", "sentence2")
    columns: dict[str, Any] = {
        name: [row.texts[place] for row in rows] for place, name in enumerate(texts)
    }
    if not triplets:
        columns["score"] = [row.score for row in rows]
    columns["group"] = [row.subtask for row in rows]
    columns["fold"] = [parts[number].fold.name for number in fold_of.tolist()]
    for name, found in (("start", before), ("fine_tuned", after)):
        if triplets:
            columns |= {f"{name}_positive": found[: len(rows)],
                        f"{name}_negative": found[len(rows) :]}  # fmt: skip
        else:
            columns[name] = found
    with write_atomically(path) as partial:
        pq.write_table(pa.table(columns), partial)


def _text(report: Mapping[str, Any]) -> str:
    data = report["data"]
    lines = [
        f"{report['start']}: {report['kind']}, {report['objective']}; {data['name']}, "
        f"{data['rows']:,} rows, {report['scheme']}"
    ]
    if limit := report["settings"]["limit"]:
        lines[0] += f", learned from at most {limit:,} a fold"
    rows = [["", "", START, TUNED, "difference"]]
    metrics = [metric.value for metric in Metric if metric in report["figures"]]
    for metric in metrics:
        for name, one in sorted(report["figures"][metric].items(), reverse=True):
            shown = [str(Estimate(**one[which])) for which in (START, TUNED)]
            ahead = Difference(**one["difference"])
            rows.append([metric, name, *shown, str(Estimate(**asdict(ahead)))])
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines += [
        "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    metric = metrics[0]
    lines.append(f"{metric} by fold: " + ", ".join(
        f"{one['name']} {one[metric][TUNED]:.1f}" if one[metric][TUNED] is not None
        else f"{one['name']} undefined" for one in report["folds"]
    ))  # fmt: skip
    shared = sum(one["shared"] for one in report["folds"])
    if shared:
        lines.append(f"({shared:,} of {data['rows']:,} rows share a text with a row that the model "
                     "learned from; whole pairs of texts none)")  # fmt: skip
    if any(one["dev_groups"] for one in report["folds"]):
        lines.append("(the best weights were chosen by groups that nothing was learned from)")
    if left_out := sum(one["left_out"] for one in report["folds"]):
        lines.append(f"({left_out:,} rows were not learned from in a fold whose held-out rows have "
                     "the same texts)")  # fmt: skip
    return "\n".join(lines)
