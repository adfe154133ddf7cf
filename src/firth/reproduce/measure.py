"""Pearson of scorers on the sets of Table I that can be had."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from firth.baselines.protocol import Scorer
from firth.errors import FirthError, InputError
from firth.evaluate.evaluate import evaluate
from firth.evaluate.evaluation import Result
from firth.evaluate.load import load_set
from firth.evaluate.task import find_task

Key = tuple[str, str]
"""(task, subtask)."""


@dataclass(frozen=True)
class Available:
    """Which of some sets can be had.

    Attributes:
        keys: Those that can.
        missing: The others, with reasons.
    """

    keys: tuple[Key, ...]
    missing: tuple[str, ...]

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
    for task in dict.fromkeys(task for task, _ in wanted):
        try:
            data = load_set(find_task(task)[0], data_dir)
        except FirthError as error:
            missing.append(f"missing: {task} (no source has it)")
            reasons.append(str(error))
            continue
        here = [(task, subtask) for name, subtask in wanted if name == task]
        keys += [key for key in here if key[1] in data.subtasks]
        if lacking := [subtask for _, subtask in here if subtask not in data.subtasks]:
            missing.append(
                f"missing: {', '.join(lacking)} of {task}, not in {Path(data.source).name}"
            )
    if not keys:
        raise InputError("no set of the table can be had:\n" + "\n".join(reasons))
    return Available(tuple(keys), tuple(missing))


def pearson(
    scorer: Scorer, sets: Available, data_dir: str | Path | None, seed: int
) -> dict[Key, Result]:
    """Pearson (%) on each set, with its interval."""
    found = evaluate(scorer, sets.tasks, data_dir, seed=seed)
    return {(task, sub): found.find(task, "pearson", subtask=sub) for task, sub in sets.keys}
