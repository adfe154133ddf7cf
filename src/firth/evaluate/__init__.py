"""Evaluation: tasks, metrics with confidence intervals, and results that can be believed."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firth.baselines.protocol import Scorer
    from firth.evaluate.compare import Comparison, compare
    from firth.evaluate.evaluation import Evaluation, Result, evaluate
    from firth.evaluate.models import resolve_model
    from firth.evaluate.table import tabulate
    from firth.evaluate.task import TASKS, Task

__all__ = [
    "TASKS",
    "Comparison",
    "Evaluation",
    "Result",
    "Scorer",
    "Task",
    "compare",
    "evaluate",
    "resolve_model",
    "tabulate",
]

_HOMES = {
    "TASKS": "firth.evaluate.task",
    "Task": "firth.evaluate.task",
    "Comparison": "firth.evaluate.compare",
    "compare": "firth.evaluate.compare",
    "Evaluation": "firth.evaluate.evaluation",
    "Result": "firth.evaluate.evaluation",
    "evaluate": "firth.evaluate.evaluation",
    "Scorer": "firth.baselines.protocol",
    "resolve_model": "firth.evaluate.models",
    "tabulate": "firth.evaluate.table",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
