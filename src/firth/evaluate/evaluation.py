"""Evaluate a model on tasks: figures with intervals, and everything needed to believe them."""

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import firth
from firth.artifacts import write_json
from firth.baselines.protocol import Scorer
from firth.errors import InputError
from firth.evaluate.load import load_set
from firth.evaluate.metrics import Floats, estimate
from firth.evaluate.models import fingerprint_model, resolve_model
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.task import find_task
from firth.progress import bar
from firth.seeds import derive_seed

SCHEMA = 1
"""Version of the JSON; it changes when a key changes its meaning or goes."""

_LIBRARIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "torch",
    "transformers",
    "sentence-transformers",
    "datasets",
    "gensim",
)


@dataclass(frozen=True)
class Result:
    """One figure. `value`, `low` and `high` (95 % interval) are × 100; None where undefined."""

    model: str
    task: str
    subtask: str
    split: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, eq=False)
class Scored:
    """A set and the similarities a model gave to its pairs, in the order of `data.pairs`."""

    data: EvaluationSet
    similarities: Floats


@dataclass(frozen=True)
class Evaluation:
    """What one model scored on some tasks.

    Attributes:
        model: What was evaluated, as named by the caller.
        name: What that is, in words.
        fingerprint: Identity of the model's files or code; None where there is none.
        results: The figures, in the order of the tasks; `all` before its subtasks.
        notes: What a reader of the figures must know.
        seed: Of the resampling.
        resamples: Bootstrap resamples behind each interval.
        command: The command line, if there was one.
        scored: The data and similarities behind the figures; not part of the JSON.
    """

    model: str
    name: str
    fingerprint: str | None
    results: tuple[Result, ...]
    notes: tuple[str, ...]
    seed: int
    resamples: int
    command: str | None = None
    scored: tuple[Scored, ...] = field(default=(), repr=False, compare=False)

    def find(
        self,
        task: str,
        metric: str | None = None,
        *,
        subtask: str = "all",
        split: str | None = None,
    ) -> Result:
        """The first figure that matches; raise `InputError` if there is none.

        `metric` None takes the task's usual one.
        """
        for result in self.results:
            if (result.task, result.subtask) == (task, subtask):
                if metric in (None, result.metric) and split in (None, result.split):
                    return result
        raise InputError(f"{self.model} has no result for {task} {subtask} {split} {metric}")

    def to_dict(self) -> dict[str, Any]:
        """The JSON document as plain values."""
        return {
            "schema": SCHEMA,
            "results": [asdict(result) for result in self.results],
            "notes": list(self.notes),
            "model": {"spec": self.model, "name": self.name, "fingerprint": self.fingerprint},
            "data": [
                {
                    "task": item.data.task.name,
                    "split": item.data.split,
                    "source": item.data.source,
                    "rows": len(item.data.rows),
                    "skipped": item.data.skipped,
                    "fingerprint": item.data.fingerprint,
                    "licence": item.data.task.licence,
                }
                for item in self.scored
            ],
            "settings": {"seed": self.seed, "resamples": self.resamples, "confidence": 0.95},
            "firth": firth.__version__,
            "libraries": _versions(),
            "command": self.command,
        }

    def to_json(self, path: str | Path) -> None:
        """Write `to_dict` to a file, atomically.

        Raises:
            InputError: The file cannot be written.
        """
        try:
            write_json(Path(path), self.to_dict())
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from error

    def table(self, *, subtasks: bool = False) -> str:
        """The figures as text for a screen, with the notes below; `subtasks` shows those too."""
        from firth.evaluate.table import tabulate

        return tabulate([self], subtasks=subtasks)


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


def _versions() -> Mapping[str, str]:
    versions = {}
    for name in _LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
