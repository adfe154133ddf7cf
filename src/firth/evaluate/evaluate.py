"""Evaluate a model on tasks: every pair scored once, every figure with its interval."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from firth.baselines.protocol import Scorer
from firth.errors import InputError
from firth.evaluate.evaluation import Evaluation, Result, Scored
from firth.evaluate.load import load_set
from firth.evaluate.metrics import Floats, estimate
from firth.evaluate.models import fingerprint_model, resolve_model
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.task import find_task
from firth.progress import bar
from firth.seeds import derive_seed


def evaluate(
    model: str | Path | Scorer,
    tasks: Sequence[str],
    data_dir: str | Path | None = None,
    *,
    split: str | None = None,
    resamples: int = 1_000,
    seed: int = 13,
    command: str | None = None,
) -> Evaluation:
    """Score every pair of some tasks with a model, and compare with the human scores.

    Args:
        model: What `resolve_model` takes (a run, an encoder's folder or name, `baseline:NAME`), or
            any object with `name` and `similarities(pairs)`.
        tasks: Names from `TASKS`, each optionally with a split: `sts12`, `sts-b:dev`.
        data_dir: Folder with the evaluation sets; None, or a set it lacks, goes to the hub.
        split: Split of all tasks that name none; None takes each task's default.
        resamples: Bootstrap resamples behind each interval.
        seed: Of the resampling: equal seeds give equal intervals.
        command: The command line, to be kept in the JSON.

    Returns:
        One figure for each task, split, metric, and `all` or subtask.

    Raises:
        InputError: An unknown task, split or model; data that cannot be found; similarities of the
            wrong shape.
        MissingStageError: The model is a run that is not built far enough.

    Example:
        >>> from firth import evaluate
        >>> evaluation = evaluate("baseline:dice", ["lee"])
        >>> evaluation.find("lee", "pearson").n
        1225
    """
    if isinstance(tasks, str) or not tasks:
        raise InputError(
            f"tasks: got {tasks!r}; expected a list of names, such as ['sts-b', 'lee']"
        )
    if resamples < 1:
        raise InputError(f"resamples: got {resamples}; expected at least 1")
    wanted = [(task, named or split) for task, named in map(find_task, dict.fromkeys(tasks))]
    for task, chosen in wanted:
        if chosen:
            task.check_split(chosen)
    sets = [load_set(task, data_dir, chosen) for task, chosen in wanted]
    if isinstance(model, str | Path):
        scorer, label, fingerprint = resolve_model(model), str(model), fingerprint_model(model)
    else:
        scorer, label, fingerprint = model, model.name, None
    scored = []
    with bar("Evaluating", total=len(sets)) as progress:
        for data in sets:
            scored.append(Scored(data, _similarities(scorer, data)))
            progress.advance(status=data.task.name)
    results, notes = [], []
    if scorer.name != label:
        notes.append(f"{label}: {scorer.name}")
    for item in scored:
        notes += [f"{item.data.task.name} {item.data.split}: {text}" for text in item.data.notes]
        figures, undefined = _results(label, item, seed, resamples)
        results += figures
        notes += undefined
    return Evaluation(
        model=label,
        name=scorer.name,
        fingerprint=fingerprint,
        results=tuple(results),
        notes=tuple(dict.fromkeys(notes)),
        seed=seed,
        resamples=resamples,
        command=command,
        scored=tuple(scored),
    )


def bootstrap_seed(seed: int, *names: str) -> int:
    """Seed of the resamples of one figure, named by task, split, subtask and metric.

    The model is not among the names: all models are measured on the same resamples.
    """
    return derive_seed(seed, "bootstrap", *names)


def _similarities(scorer: Scorer, data: EvaluationSet) -> Floats:
    pairs = data.pairs
    found = np.asarray(scorer.similarities(pairs), dtype=np.float64)
    if found.shape != (len(pairs),):
        raise InputError(
            f"{scorer.name} gave similarities of shape {found.shape} for {len(pairs)} pairs of "
            f"{data.task.name}; expected ({len(pairs)},)"
        )
    return found


def _results(label: str, item: Scored, seed: int, resamples: int) -> tuple[list[Result], list[str]]:
    data = item.data
    task, split = data.task.name, data.split
    x, y = data.columns(item.similarities)
    results, notes = [], []
    for subtask, rows in data.subtasks.items():
        for metric in data.task.metrics:
            figure = estimate(
                metric,
                x[rows],
                y[rows],
                seed=bootstrap_seed(seed, task, split, subtask, metric),
                resamples=resamples,
                units=None if data.units is None else data.units[rows],
            )
            value, low, high = figure.value, figure.low, figure.high
            results.append(
                Result(label, task, subtask, split, metric.value, value, low, high, figure.n)
            )
            if figure.reason:
                notes.append(f"{task} {split} {subtask}: {metric} is undefined: {figure.reason}")
    return results, notes
