"""What an evaluation finds, as data: figures, differences, their JSON and their plain table."""

import importlib.metadata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import firth
from firth.evaluate.figures import Aggregate
from firth.evaluate.leakage import Leakage
from firth.evaluate.load import LeftOut
from firth.evaluate.metrics import CONFIDENCE, Difference, Estimate
from firth.evaluate.rows import Scored
from firth.evaluate.task import ALL
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.table import table

SCHEMA = 2
"""Version of the JSON; it changes when a key changes its meaning or goes."""

_LIBRARIES = "numpy scipy scikit-learn torch transformers sentence-transformers datasets gensim"


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


@dataclass(frozen=True)
class Evaluation:
    """What one model scored on some tasks: figures in their order, `all` before its subtasks.

    Attributes:
        model: What was evaluated, as named by the caller; `name` says what that is.
        fingerprint: Identity of the model's files or code; None where there is none.
        scored: The data and similarities behind the figures; not part of the JSON.
        leakage: What the model's training text shares with the sets, one entry a run it learned
            from; None where its training text is unknown or was not looked at.
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
    leakage: tuple[Leakage, ...] | None = field(default=None, repr=False)

    def find(
        self, task: str, metric: str | None = None, *, subtask: str = ALL, split: str | None = None
    ) -> Result:
        """The first figure that matches; raise `InputError` if there is none.

        `metric` None takes the task's usual one.
        """
        for result in self.results:
            found = (result.task, result.subtask) == (task, subtask)
            if found and metric in (None, result.metric) and split in (None, result.split):
                return result
        raise InputError(f"{self.model} has no result for {task} {subtask} {split} {metric}")

    def to_dict(self) -> dict[str, Any]:
        """The JSON document as plain values."""
        return document([self], command=self.command)

    def to_json(self, path: str | Path) -> None:
        """Write `to_dict` to a file, atomically; raise `InputError` if that cannot be done."""
        write_document(Path(path), self.to_dict())

    def table(self, *, subtasks: bool = False) -> str:
        """The figures as text for a screen, with the notes below; `subtasks` shows those too."""
        return tabulate([self], subtasks=subtasks)


@dataclass(frozen=True)
class Comparison:
    """A difference on one figure; `str()` says it in words. Averages over sets have no split."""

    first: str
    second: str
    task: str
    subtask: str
    split: str
    metric: str
    difference: Difference

    def __str__(self) -> str:
        """`sts-b test spearman: A beats B by 1.3 [0.4, 2.2]`."""
        subtask = "" if self.subtask == ALL else self.subtask
        verdict = self.difference.sentence(self.first, self.second)
        names = filter(None, (self.task, self.split, subtask, self.metric))
        return f"{' '.join(names)}: {verdict}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values: the names, and `value`, `low`, `high`, `n` of first minus second."""
        values = asdict(self)
        difference: dict[str, Any] = values.pop("difference")
        return values | difference


@dataclass(frozen=True)
class GroupResult:
    """One figure of a group of models that differ in their seed only, all × 100.

    `mean`, `deviation` (n − 1: how much the seed of the training matters), `lowest` and `highest`
    are over the models' figures, None if one of them is undefined. `low` and `high` are the 95 %
    interval of the *mean* over bootstrap resamples, all models measured on the same ones: how much
    the choice of pairs matters.
    """

    group: str
    models: tuple[str, ...]
    task: str
    subtask: str
    split: str
    metric: str
    mean: float | None
    deviation: float | None
    lowest: float | None
    highest: float | None
    low: float | None
    high: float | None
    n: int

    def __str__(self) -> str:
        """`cbos (5 models) sts-b test spearman: 63.1 [60.2, 65.8], seeds ± 0.4 (62.6 to 63.5)`."""
        subtask = "" if self.subtask == ALL else f" {self.subtask}"
        what = f"{self.group} ({len(self.models)} models) {self.task} {self.split}{subtask}"
        if self.mean is None or self.low is None or self.high is None:
            return f"{what} {self.metric}: undefined"
        return (
            f"{what} {self.metric}: {self.mean:.1f} [{self.low:.1f}, {self.high:.1f}], "
            f"seeds ± {self.deviation:.1f} ({self.lowest:.1f} to {self.highest:.1f})"
        )


def document(
    evaluations: Sequence[Evaluation],
    groups: Sequence[GroupResult] = (),
    differences: Sequence[Comparison] = (),
    left_out: Sequence[LeftOut] = (),
    command: str | None = None,
) -> dict[str, Any]:
    """The JSON of an evaluation as plain values: one schema for one model or many.

    All `evaluations` have one seed and one number of resamples.
    """
    every = [item.data for one in evaluations for item in one.scored]
    sets = {(one.task.name, one.split, one.fingerprint): one for one in every}
    models = [
        {"spec": one.model, "name": one.name, "fingerprint": one.fingerprint,
         "leakage": one.leakage and [found.to_dict() for found in one.leakage]}
        for one in evaluations
    ]  # fmt: skip
    data = [
        {"task": one.task.name, "split": one.split, "source": one.source, "rows": len(one.rows),
         "skipped": one.skipped, "without": [asdict(gone) for gone in one.excluded],
         "fingerprint": one.fingerprint, "licence": one.task.licence}
        for one in sets.values()
    ]  # fmt: skip
    return {
        "schema": SCHEMA,
        "results": [asdict(result) for one in evaluations for result in one.results],
        "notes": list(dict.fromkeys(note for one in evaluations for note in one.notes)),
        "models": models,
        "data": data,
        "groups": [asdict(group) for group in groups],
        "differences": [difference.to_dict() for difference in differences],
        "left_out": [
            {"kind": item.kind, "name": item.name, "reason": item.reason} for item in left_out
        ],
        "settings": settings_of(evaluations[0].seed, evaluations[0].resamples),
        "firth": firth.__version__,
        "libraries": versions(_LIBRARIES.split()),
        "command": command,
    }


def settings_of(seed: int, resamples: int) -> dict[str, Any]:
    """What decides the intervals, as the JSON has it."""
    return {"seed": seed, "resamples": resamples, "confidence": CONFIDENCE}


def versions(libraries: Sequence[str]) -> dict[str, str]:
    """Distribution → version, of those that are installed."""
    found = {}
    for name in libraries:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def write_document(path: Path, value: object) -> None:
    """Write plain values as JSON, atomically; raise `InputError` where that cannot be done."""
    try:
        write_json(path, value)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error


def tabulate(evaluations: Sequence[Evaluation], *, subtasks: bool = False) -> str:
    """The figures of models, × 100 with 95 % intervals, a line each, a column a model; their notes.

    Without `subtasks` those of `all` and of aggregates alone; `-` where a model has no such figure.
    """
    columns = [
        {(r.task, r.split, r.subtask, r.metric, r.n): r for r in one.results} for one in evaluations
    ]
    keys = dict.fromkeys(key for column in columns for key in column)
    whole = {how.value for how in Aggregate}
    shown = [key for key in keys if subtasks or key[2] in whole]
    rows = [["task", "split", "subtask", "metric", "n", *(one.model for one in evaluations)]]
    for key in shown:
        found = [column.get(key) for column in columns]
        cells = [str(Estimate(r.value, r.low, r.high, r.n)) if r else "-" for r in found]
        rows.append([*map(str, key), *cells])
    if all(key[2] == ALL for key in shown) and not subtasks:
        rows = [[*row[:2], *row[3:]] for row in rows]
    notes = dict.fromkeys(note for one in evaluations for note in one.notes)
    shown_rows = table(rows, keys=len(rows[0]) - len(evaluations))
    return "\n".join([shown_rows, *(f"({note})" for note in notes)])
