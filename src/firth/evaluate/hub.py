"""Evaluation sets from the hub, through `datasets` (the extra `hub`)."""

import importlib.util
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from firth.evaluate.rows import Row
from firth.evaluate.task import Task
from firth.evaluate.tsv import COLUMNS, row_of
from firth.run.errors import InputError, MissingExtraError
from firth.run.hub import hub_is_reachable


def read_hub(task: Task, split: str) -> tuple[list[Row], tuple[str, ...]]:
    """Load a split by name: the good rows, and a line for each row left out.

    Raises:
        InputError: The hub does not offer the split, or cannot be reached.
        MissingExtraError: `datasets` is not installed.
    """
    home = task.hub
    if home is None:
        raise InputError(f"the hub has no {task.title}")
    if split not in home.splits:
        raise InputError(f"{home.name} on the hub has no split {split}")
    if not _installed("datasets"):
        raise MissingExtraError(f"{task.title} from the hub", "hub")
    if not hub_is_reachable():
        raise InputError(
            f"{home.name}: the hub cannot be reached (HF_HUB_OFFLINE=1 uses what is cached)"
        )
    import datasets

    try:
        records = datasets.load_dataset(home.name, home.config, split=home.splits[split])
    except (OSError, ValueError, RuntimeError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{home.name} on the hub: {first}") from error
    return rows_of(records, task)


def rows_of(records: Iterable[Mapping[str, Any]], task: Task) -> tuple[list[Row], tuple[str, ...]]:
    """Convert hub records into rows, with the checks that local files get.

    Raises:
        InputError: A needed column is missing.
    """
    assert task.hub is not None
    names = {name: task.hub.columns.get(name, name) for name in (*COLUMNS[task.kind], "subtask")}
    rows, broken = [], []
    for number, record in enumerate(records):
        if missing := [names[name] for name in COLUMNS[task.kind] if names[name] not in record]:
            raise InputError(
                f"{task.hub.name} on the hub: no column {', '.join(missing)}; "
                f"got {', '.join(record)}"
            )
        cells = {ours: _text(record.get(theirs)) for ours, theirs in names.items()}
        try:
            rows.append(row_of(cells, task))
        except ValueError as error:
            broken.append(f"{task.hub.name}, row {number}: {error}")
    return rows, tuple(broken)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _installed(name: str) -> bool:
    """Whether a library could be imported, without importing it, which takes a second."""
    if name in sys.modules:
        return sys.modules[name] is not None
    return importlib.util.find_spec(name) is not None
