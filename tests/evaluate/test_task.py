"""The registry says nothing that contradicts itself."""

import pytest

from firth.evaluate.metrics import Metric
from firth.evaluate.task import TASKS, Kind, Task, find_task
from firth.run.errors import InputError


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_each_task_is_consistent(task: Task) -> None:
    """Subtasks add up to their split, defaults and hub splits exist, metrics fit the kind."""
    for split in task.splits.values():
        counted = sum(split.subtasks.values()) + sum(n for n, _ in split.absent.values())
        assert counted in (0, split.rows)
    assert task.default
    assert set(task.default) <= set(task.splits)
    assert task.hub is None or set(task.hub.splits) <= set(task.splits)
    assert task.score_range[0] < task.score_range[1]
    assert (Metric.ACCURACY in task.metrics) == (task.kind is Kind.TRIPLETS)


def test_every_task_of_the_command_line_is_there() -> None:
    """The names that the command line promises."""
    promised = (
        "sts12 sts13 sts14 sts15 sts16 sts-b sick-r str-2021 afs wiki-sections lee "
        "sts13-smt cbos-20"
    )
    assert " ".join(TASKS) == promised


def test_parts_are_tasks() -> None:
    """A task put together from others names tasks and splits that exist, and is derived."""
    for task in TASKS.values():
        for name in (name for names in task.parts for name in names):
            assert find_task(name)[1] in find_task(name)[0].splits
        assert not task.parts or task.derived


def test_tasks_may_name_a_split() -> None:
    """`NAME:SPLIT`; wrong names list the right ones."""
    assert find_task("sts-b:dev") == (TASKS["sts-b"], "dev")
    assert find_task("sts-b") == (TASKS["sts-b"], None)
    with pytest.raises(InputError, match="wiki-sections"):
        find_task("sts-c")
    with pytest.raises(InputError, match="train, dev, test"):
        find_task("sts-b:validation")
