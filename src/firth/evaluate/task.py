"""Every evaluation set there is, by the name that `--task` takes."""

from collections.abc import Mapping

from firth.evaluate.definition import ALL, Kind, Task
from firth.evaluate.other_sets import AFS, LEE, STR_2021, WIKI_SECTIONS
from firth.evaluate.sts import DERIVED_STS_TASKS, STS_TASKS
from firth.run.errors import InputError

__all__ = ["ALL", "LEE", "TASKS", "Kind", "Task", "find_task"]

TASKS: Mapping[str, Task] = {
    task.name: task for task in (*STS_TASKS, STR_2021, AFS, WIKI_SECTIONS, LEE, *DERIVED_STS_TASKS)
}
"""Every task, by the name that `--task` takes."""


def find_task(name: str) -> tuple[Task, str | None]:
    """The task called `NAME` or `NAME:SPLIT`, and the split if one is named.

    Raises:
        InputError: No such task, or it has no such split.
    """
    base, colon, split = name.partition(":")
    if base not in TASKS:
        raise InputError(f"{name}: no such task. Known: {', '.join(TASKS)}")
    task = TASKS[base]
    return task, task.check_split(split) if colon else None
