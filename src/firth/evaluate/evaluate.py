"""Evaluate models on tasks: every pair scored once, every figure with its interval."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from firth.evaluate.aggregate import Aggregate
from firth.evaluate.aggregated import aggregates_of
from firth.evaluate.cache import Cache
from firth.evaluate.comparison import compare
from firth.evaluate.evaluation import Evaluation, Result
from firth.evaluate.figures import figures_of
from firth.evaluate.groups import group_results
from firth.evaluate.report import Report
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.sample import sample_of
from firth.evaluate.scoring import System, score, system_of
from firth.evaluate.selection import LeftOut, one_line, select_sets, select_systems
from firth.evaluate.unseen import with_leakage
from firth.lexical.scorer import Scorer
from firth.run.errors import FirthError, InputError
from firth.run.progress import Bar, bar

Model = str | Path | Scorer


def evaluate(
    model: Model,
    tasks: Sequence[str],
    data_dir: str | Path | None = None,
    *,
    split: str | None = None,
    pairs: int | None = None,
    resamples: int = 1_000,
    seed: int = 13,
    command: str | None = None,
    cache: Cache | str | Path | None = None,
    leakage: bool = True,
    aggregates: Sequence[Aggregate] = (),
) -> Evaluation:
    """Score every pair of some tasks with a model, and compare with the human scores.

    Args:
        model: What `resolve_model` takes (a run, an encoder's folder or name, `baseline:NAME`), or
            any object with `name` and `similarities(pairs)`.
        tasks: Names from `TASKS`, each optionally with a split: `sts12`, `sts-b:dev`; or `all`.
        data_dir: Folder with the evaluation sets; None, or a set it lacks, goes to the hub.
        split: Split of all tasks that name none; None takes each task's default.
        pairs: Take so many random rows of each set, at least 2; None takes all.
        resamples: Bootstrap resamples behind each interval.
        seed: Of the resampling and of random rows: equal seeds give equal figures.
        command: The command line, to be kept in the JSON.
        cache: Folder of similarities and figures computed before; None computes everything.
        leakage: Look for the evaluation texts in the corpus of the runs that the model learned
            from, where it has any.
        aggregates: Further figures of each set that has parts, under the aggregate's name as
            subtask: `mean` of the subtasks, and so on.

    Returns:
        One figure for each task, split, metric, and `all` or subtask.

    Raises:
        InputError: An unknown task, split or model; data that cannot be found; `pairs` or
            `resamples` too small; similarities of the wrong shape.
        MissingStageError: The model is a run that is not built far enough.

    Example:
        >>> from firth import evaluate
        >>> evaluation = evaluate("baseline:dice", ["lee"])
        >>> evaluation.find("lee", "pearson").n
        1225
    """
    _check(resamples, pairs)
    sets = [one.sampled(pairs, seed) for one in select_sets(tasks, data_dir, split)[0]]
    system = system_of(model)
    with bar("Evaluating", total=len(sets)) as progress:
        found = _measure(
            system, sets, seed, resamples, _opened(cache), command, progress, aggregates
        )
    return with_leakage(found, sets, _opened(cache)) if leakage else found


def evaluate_models(
    models: Sequence[Model],
    tasks: Sequence[str],
    data_dir: str | Path | None = None,
    *,
    groups: Mapping[str, Sequence[Model]] | None = None,
    against: str | None = None,
    split: str | None = None,
    pairs: int | None = None,
    resamples: int = 1_000,
    seed: int = 13,
    command: str | None = None,
    cache: Cache | str | Path | None = None,
    leakage: bool = True,
    aggregates: Sequence[Aggregate] = (),
) -> Report:
    """Evaluate several models on the same tasks.

    Args:
        models: As for `evaluate`; `baseline:all` and `baseline:all@RUN` take every baseline there
            is, leaving out those that cannot be opened.
        tasks: As for `evaluate`; with `all`, sets that cannot be found are left out.
        data_dir: As for `evaluate`.
        groups: Name → models that differ in their seed only, evaluated too, and summed up as one.
        against: The model (as named among `models`) to which all others are compared in pairs.
        split: As for `evaluate`.
        pairs: As for `evaluate`.
        resamples: As for `evaluate`.
        seed: As for `evaluate`.
        command: As for `evaluate`.
        cache: As for `evaluate`.
        leakage: As for `evaluate`.
        aggregates: As for `evaluate`.

    Returns:
        The evaluations in the order of `models`, with what was left out and why.

    Raises:
        InputError: As for `evaluate`; two different objects of one name; a group of fewer than two
            models; `against` is not among the models.
        MissingStageError: As for `evaluate`.
    """
    _check(resamples, pairs)
    found, left_out = select_sets(tasks, data_dir, split)
    sets = [one.sampled(pairs, seed) for one in found]
    groups = {name: list(members) for name, members in (groups or {}).items()}
    systems, missing = select_systems([*models, *(m for group in groups.values() for m in group)])
    labels = {system.label for system in systems}
    if against is not None and against not in labels:
        raise InputError(f"--against {against}: not among the models: {', '.join(labels)}")
    left_out += missing
    kept = _opened(cache)
    evaluations = []
    with bar("Evaluating", total=len(sets) * len(systems)) as progress:
        for system in systems:
            try:
                evaluations.append(
                    _measure(system, sets, seed, resamples, kept, command, progress, aggregates)
                )
            except FirthError as error:
                if not system.optional:
                    raise
                left_out.append(LeftOut("model", system.label, one_line(error)))
    if leakage:
        evaluations = [with_leakage(one, sets, kept) for one in evaluations]
    by_label = {one.model: one for one in evaluations}
    differences = [
        difference
        for one in evaluations
        if against is not None and one.model != against
        for difference in compare(one, by_label[against], cache=kept)
    ]
    summed = [
        result
        for name, members in groups.items()
        for result in group_results(name, [by_label[_label(m)] for m in members], kept)
    ]
    return Report(
        evaluations=tuple(evaluations),
        groups=tuple(summed),
        differences=tuple(differences),
        left_out=tuple(left_out),
        command=command,
    )


def _measure(
    system: System,
    sets: Sequence[EvaluationSet],
    seed: int,
    resamples: int,
    cache: Cache,
    command: str | None,
    progress: Bar,
    aggregates: Sequence[Aggregate],
) -> Evaluation:
    name, scored = score(system, sets, cache, progress)
    results, notes = [], []
    if name != system.label:
        notes.append(f"{system.label}: {name}")
    for item in scored:
        task, split = item.data.task.name, item.data.split
        notes += [f"{task} {split}: {text}" for text in item.data.notes]
        figures = figures_of(sample_of(item), seed, resamples, cache)
        figures |= aggregates_of(item, aggregates, seed, resamples, cache)
        for (group, metric), figure in figures.items():
            value, low, high = figure.value, figure.low, figure.high
            results.append(
                Result(system.label, task, group, split, metric.value, value, low, high, figure.n)
            )
            if figure.reason:
                notes.append(f"{task} {split} {group}: {metric} is undefined: {figure.reason}")
    return Evaluation(
        model=system.label,
        name=name,
        fingerprint=system.fingerprint,
        results=tuple(results),
        notes=tuple(dict.fromkeys(notes)),
        seed=seed,
        resamples=resamples,
        command=command,
        scored=tuple(scored),
    )


def _check(resamples: int, pairs: int | None) -> None:
    if resamples < 1:
        raise InputError(f"resamples: got {resamples}; expected at least 1")
    if pairs is not None and pairs < 2:
        raise InputError(f"pairs: got {pairs}; expected at least 2, or None for all")


def _opened(cache: Cache | str | Path | None) -> Cache:
    return cache if isinstance(cache, Cache) else Cache(cache)


def _label(model: Model) -> str:
    return str(model) if isinstance(model, str | Path) else model.name
