"""Pearson of scorers on the sets of Table I that can be had."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from firth.evaluate.evaluate import evaluate
from firth.evaluate.load import load_set
from firth.evaluate.results import Result
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.task import find_task
from firth.lexical.scorer import Scorer
from firth.run.errors import FirthError, InputError

Key = tuple[str, str]
"""(task, subtask)."""

_WITH_SMT = {"sts13": "sts13-smt"}
"""Table I counts SMT, which the task `sts13` leaves out."""


@dataclass(frozen=True)
class Available:
    """Which of some sets can be had.

    Attributes:
        keys: Those that can.
        missing: The others, with reasons.
        loaded: Task of the keys → the task whose rows are evaluated, where it is another one.
    """

    keys: tuple[Key, ...]
    missing: tuple[str, ...]
    loaded: Mapping[str, str] = field(default_factory=dict)

    @property
    def tasks(self) -> list[str]:
        """The tasks they belong to."""
        return list(dict.fromkeys(task for task, _ in self.keys))


def available(wanted: Sequence[Key], data_dir: str | Path | None) -> Available:
    """Look for the sets of `wanted`.

    Raises:
        InputError: None of them can be had; the message says where each was looked for.
    """
    keys, missing, reasons = [], [], []
    loaded: dict[str, str] = {}
    for task in dict.fromkeys(task for task, _ in wanted):
        try:
            data = _load(task, data_dir)
        except FirthError as error:
            missing.append(f"missing: {task} (no source has it)")
            reasons.append(str(error))
            continue
        loaded[task] = data.task.name
        here = [(task, subtask) for name, subtask in wanted if name == task]
        keys += [key for key in here if key[1] in data.subtasks]
        if lacking := [subtask for _, subtask in here if subtask not in data.subtasks]:
            missing.append(
                f"missing: {', '.join(lacking)} of {task}, not in {Path(data.source).name}"
            )
    if not keys:
        raise InputError("no set of the table can be had:\n" + "\n".join(reasons))
    return Available(tuple(keys), tuple(missing), loaded)


def pearson(
    scorer: Scorer, sets: Available, data_dir: str | Path | None, seed: int
) -> dict[Key, Result]:
    """Pearson (%) on each set, with its interval."""
    names = {task: sets.loaded.get(task, task) for task in sets.tasks}
    found = evaluate(scorer, list(names.values()), data_dir, seed=seed)
    return {(task, sub): found.find(names[task], "pearson", subtask=sub) for task, sub in sets.keys}


def _load(task: str, data_dir: str | Path | None) -> EvaluationSet:
    """The task with SMT where that can be had, or as it is."""
    if task in _WITH_SMT:
        with suppress(FirthError):
            return load_set(find_task(_WITH_SMT[task])[0], data_dir)
    return load_set(find_task(task)[0], data_dir)
