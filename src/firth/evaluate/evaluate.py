"""Evaluate models on tasks: every pair scored once, every figure with its interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from firth.baselines.dice import Dice
from firth.corpus import CORPUS
from firth.corpus.settings import LIMITS
from firth.corpus.statistics import fit_idf_on_run
from firth.evaluate import EVALUATION
from firth.evaluate.cache import Cache
from firth.evaluate.comparison import compare, group_results
from firth.evaluate.figures import Aggregate, Bootstrap, Key
from firth.evaluate.leakage import Leakage, find_leakage, training_of, training_runs
from firth.evaluate.load import LeftOut, find_named, select_sets
from firth.evaluate.metrics import Estimate, Floats
from firth.evaluate.models import (
    Model,
    OriginScorer,
    System,
    is_all,
    label_of,
    resolve_model,
    score,
    select_systems,
)
from firth.evaluate.report import Report
from firth.evaluate.results import Evaluation, Result, tabulate
from firth.evaluate.rows import EvaluationSet, Scored
from firth.evaluate.settings import EvaluateConfig
from firth.evaluate.task import ALL
from firth.lexical.scorer import Scorer, TextPair
from firth.lexical.tfidf import TfIdf
from firth.origin.origin import Origin
from firth.run.errors import FirthError, InputError
from firth.run.files import write_text
from firth.run.progress import bar
from firth.run.run import Run
from firth.run.stage import Outcome
from firth.surrogate import SURROGATE

DECONTAMINATED = "decontaminated"
"""The subtask that holds every row of which the training text has no text."""


def evaluate(
    model: Model,
    tasks: Sequence[str],
    data_dir: str | Path | None = None,
    *,
    split: str | None = None,
    without: Sequence[str] = (),
    pairs: int | None = None,
    resamples: int = 1_000,
    seed: int = 13,
    command: str | None = None,
    cache: Cache | str | Path | None = None,
    leakage: bool = True,
    aggregates: Sequence[Aggregate] = (),
    columns: Mapping[str, str] | None = None,
) -> Evaluation:
    """Score every pair of some tasks with a model, and compare with the human scores.

    Args:
        model: What `resolve_model` takes (a run, an encoder's folder or name, `baseline:NAME`), or
            any object with `name` and `similarities(pairs)`.
        tasks: Names from `TASKS`, or files of one's own, each optionally with a split: `sts12`,
            `sts-b:dev`, `my_pairs.tsv`; or `all`.
        data_dir: Folder with the evaluation sets; None, or a set it lacks, goes to the hub.
        split: Split of all tasks that name none; None takes each task's default.
        without: Names as in `tasks`, of the default split where none is named: rows whose texts
            stand in a row of these sets are left out of all tasks, before `pairs` are taken.
        pairs: Take so many random rows of each set, at least 2; None takes all.
        resamples: Bootstrap resamples behind each interval.
        seed: Of the resampling and of random rows: equal seeds give equal figures.
        command: The command line, to be kept in the JSON.
        cache: Folder of similarities and figures computed before; None computes everything.
        leakage: Look for the evaluation texts in the corpus of the runs that the model learned
            from, where it has any.
        aggregates: Further figures of each set that has parts, under the aggregate's name as
            subtask: `mean` of the subtasks, and so on.
        columns: Of one's own files that are not called as usual: ours → theirs (`read_own`).

    Returns:
        One figure for each task, split, metric, and `all` or subtask.

    Raises:
        InputError: An unknown task, split or model; data that cannot be found; a task of which no
            row is left; `pairs` or `resamples` too small; similarities of the wrong shape.
        MissingStageError: The model is a run that is not built far enough.

    Example:
        >>> from firth import evaluate
        >>> evaluation = evaluate("baseline:dice", ["lee"])
        >>> evaluation.find("lee", "pearson").n
        1225
    """
    if is_all(model):
        raise InputError(f"{model}: stands for several models; expected one")
    report = evaluate_models(
        [model], tasks, data_dir, split=split, without=without, pairs=pairs, resamples=resamples,
        seed=seed, command=command, cache=cache, leakage=leakage, aggregates=aggregates,
        columns=columns,
    )  # fmt: skip
    return report.evaluations[0]


def evaluate_models(
    models: Sequence[Model],
    tasks: Sequence[str],
    data_dir: str | Path | None = None,
    *,
    groups: Mapping[str, Sequence[Model]] | None = None,
    against: str | None = None,
    split: str | None = None,
    without: Sequence[str] = (),
    pairs: int | None = None,
    resamples: int = 1_000,
    seed: int = 13,
    command: str | None = None,
    cache: Cache | str | Path | None = None,
    leakage: bool = True,
    aggregates: Sequence[Aggregate] = (),
    columns: Mapping[str, str] | None = None,
) -> Report:
    """Evaluate several models on the same tasks.

    With the task `all`, sets that cannot be found are left out; so are the baselines of
    `baseline:all` that cannot be opened.

    Args:
        models: As `evaluate` takes them, and `baseline:all`, `baseline:all@RUN`: several each.
        tasks: As for `evaluate`, as are the arguments not named here.
        groups: Name → models that differ in their seed only, evaluated too, and summed up as one.
        against: The model (as named among `models`) to which all others are compared in pairs.

    Raises:
        InputError: As for `evaluate`; two different objects of one name; a group of fewer than two
            models, or of models that one name stands for; `against` is not among the models.
        MissingStageError: As for `evaluate`.
    """
    if resamples < 1:
        raise InputError(f"resamples: got {resamples}; expected at least 1")
    if pairs is not None and pairs < 2:
        raise InputError(f"pairs: got {pairs}; expected at least 2, or None for all")
    groups = {name: list(members) for name, members in (groups or {}).items()}
    members = [(name, model) for name, group in groups.items() for model in group]
    for name, model in members:
        if is_all(model):
            raise InputError(
                f"group {name}: {model} stands for several models, and a group is of models that "
                "differ in their seed only. Name each of them"
            )
    found, left_out = select_sets(tasks, data_dir, split, without, columns)
    sets = [one.sampled(pairs, seed) for one in found]
    systems, missing = select_systems([*models, *(model for _, model in members)])
    labels = {system.label for system in systems}
    if against is not None and against not in labels:
        raise InputError(f"--against {against}: not among the models: {', '.join(labels)}")
    left_out += missing
    bootstrap = Bootstrap(seed, resamples, Cache.open(cache))
    evaluations = []
    with bar("Evaluating", total=len(sets) * len(systems)) as progress:
        for system in systems:
            try:
                name, scored = score(system, sets, bootstrap.cache, progress)
            except FirthError as error:
                if not system.optional:
                    raise
                left_out.append(LeftOut.because("model", system.label, error))
            else:
                one = _measured(system, name, scored, bootstrap, aggregates)
                evaluations.append(replace(one, command=command))
    if leakage:
        evaluations = [_with_leakage(one, sets, bootstrap.cache) for one in evaluations]
    by_label = {one.model: one for one in evaluations}
    return Report(
        evaluations=tuple(evaluations),
        groups=tuple(
            result
            for name, group in groups.items()
            for result in group_results(name, [by_label[label_of(m)] for m in group],
                                        bootstrap.cache)
        ),
        differences=tuple(
            difference
            for one in evaluations
            if against is not None and one.model != against
            for difference in compare(one, by_label[against], cache=bootstrap.cache)
        ),
        left_out=tuple(left_out),
        command=command,
    )  # fmt: skip


def _measured(
    system: System, name: str, scored: Sequence[Scored], bootstrap: Bootstrap,
    aggregates: Sequence[Aggregate],
) -> Evaluation:  # fmt: skip
    results, notes = [], []
    if name != system.label:
        notes.append(f"{system.label}: {name}")
    for item in scored:
        of_set = item.sample.name
        figures = bootstrap.figures([item.sample]) | bootstrap.aggregates(item, aggregates)
        results += _results(system.label, item, figures)
        notes += [f"{of_set}: {text}" for text in item.data.notes]
        notes += [
            f"{of_set} {group}: {metric} is undefined: {figure.reason}"
            for (group, metric), figure in figures.items()
            if figure.reason
        ]
    return Evaluation(
        system.label, name, system.fingerprint, tuple(results), tuple(dict.fromkeys(notes)),
        bootstrap.seed, bootstrap.resamples, scored=tuple(scored),
    )  # fmt: skip


def _results(model: str, item: Scored, figures: Mapping[Key, Estimate]) -> list[Result]:
    task, split = item.data.task.name, item.data.split
    return [
        Result(model, task, group, split, metric.value, one.value, one.low, one.high, one.n)
        for (group, metric), one in figures.items()
    ]


def _with_leakage(found: Evaluation, sets: Sequence[EvaluationSet], cache: Cache) -> Evaluation:
    """An evaluation with what the corpora of the runs that its model names share with the sets."""
    runs = [run for run in training_runs(found.model) if Run.open(run).has(CORPUS)]
    return with_leaks(found, [find_leakage(training_of(run), sets, cache) for run in runs], cache)


def with_leaks(found: Evaluation, leaks: Sequence[Leakage], cache: Cache) -> Evaluation:
    """An evaluation with what its model's training texts share with the sets.

    A set that is touched gets its figures once more without the rows in question, as the subtask
    `decontaminated`, and a note that says what difference they make.
    """
    if not leaks:
        return found
    results = list(found.results)
    notes = [text for leak in leaks for text in leak.notes()]
    for item in found.scored:
        name = item.data.task.name, item.data.split
        touched = [one for leak in leaks for one in leak.sets if (one.task, one.split) == name]
        rows = {row for one in touched for row in one.touched}
        rest = _decontaminated(found, item, rows, cache) if rows else []
        results += rest
        notes += [_remark(found, one, len(rows)) for one in rest[:1]]
    return replace(
        found, results=tuple(results), leakage=tuple(leaks), notes=(*found.notes, *notes)
    )


def _decontaminated(found: Evaluation, item: Scored, rows: set[int], cache: Cache) -> list[Result]:
    """The figures of a set, rows left out; none if no row is left."""
    sample = item.sample
    kept = np.flatnonzero(~np.isin(sample.rows, list(rows)))
    if not len(kept):
        return []
    rest = replace(
        sample,
        x=sample.x[kept],
        y=sample.y[kept],
        subtask=("",) * len(kept),
        rows=sample.rows[kept],
        units=None if sample.units is None else sample.units[kept],
    )
    figures = Bootstrap(found.seed, found.resamples, cache).figures([rest])
    named = {(DECONTAMINATED, metric): figure for (_, metric), figure in figures.items()}
    return _results(found.model, item, named)


def _remark(found: Evaluation, one: Result, rows: int) -> str:
    whole = found.find(one.task, one.metric, split=one.split)
    shown = "that row" if rows == 1 else f"those {rows:,} rows"
    if whole.value is None or one.value is None:
        return f"{one.task} {one.split}: nothing to measure without {shown}"
    return (
        f"{found.model}: {one.task} {one.split} {one.metric} is {one.value:.1f} without "
        f"{shown}, {whole.value:.1f} with all"
    )


@dataclass(frozen=True)
class _Labelled:
    """A scorer under a name that does not depend on where the run lies."""

    name: str
    scorer: Scorer

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        return self.scorer.similarities(pairs)


def build_evaluation(run: Run) -> Outcome:
    """Evaluate what the run has built on the tasks of its configuration.

    Writes `results.json` and `table.txt`: Dice, tf-idf, Origin and Surrogate side by side.

    Raises:
        InputError: A task is unknown or its data cannot be found; before anything is scored.
    """
    config, seed = run.config.evaluate, run.config.seed
    sets = [find_named(name).load(config.data_dir) for name in config.tasks]

    def build(handed: Run, workspace: Path) -> Mapping[str, Any]:
        scorers: dict[str, Scorer] = {
            "Dice": Dice(),
            "tf-idf": TfIdf(fit_idf_on_run(run.path)),
            "Origin": OriginScorer(handed),
            "Surrogate": resolve_model(handed.folder(SURROGATE)),
        }
        found = [
            evaluate(_Labelled(name, scorer), config.tasks, config.data_dir,
                     resamples=config.resamples, seed=seed)
            for name, scorer in scorers.items()
        ]  # fmt: skip
        training = replace(training_of(run.path), source="the corpus of this run")
        leaks, nothing = [find_leakage(training, sets)], Cache(None)
        found = [one if one.model == "Dice" else with_leaks(one, leaks, nothing) for one in found]
        Report(tuple(found)).to_json(workspace / "results.json")
        write_text(workspace / "table.txt", tabulate(found) + "\n")
        return {
            one.model: {
                f"{result.task} {result.split} {result.metric}": result.value
                for result in one.results
                if result.subtask == ALL
            }
            for one in found
        }

    own = [f"evaluate.{name}" for name in EvaluateConfig.model_fields if name != "data_dir"]
    return run.build(
        EVALUATION,
        build,
        reads=[*Origin.reads(run), SURROGATE],
        settings=[*dict.fromkeys([*Origin.settings(run), *LIMITS, "seed", *own])],
        places=["evaluate.data_dir"],
        inputs={f"data/{data.task.name}:{data.split}": data.fingerprint for data in sets},
    )
