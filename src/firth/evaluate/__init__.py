"""Evaluation: tasks, metrics with confidence intervals, and results that can be believed.

The function is `firth.evaluate.evaluate.evaluate`, or `from firth import evaluate`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from firth.run.stage import Stage

if TYPE_CHECKING:
    from firth.evaluate.comparison import Comparison, compare
    from firth.evaluate.evaluation import Evaluation, Result
    from firth.evaluate.models import resolve_model
    from firth.evaluate.table import tabulate
    from firth.evaluate.task import TASKS, Task
    from firth.lexical.scorer import Scorer

EVALUATION = Stage(
    "evaluation",
    "firth run CONFIG --run",
    libraries=("scikit-learn", "scipy", "sentence-transformers"),
)

_HOMES = {
    "Comparison": "firth.evaluate.comparison",
    "Evaluation": "firth.evaluate.evaluation",
    "Result": "firth.evaluate.evaluation",
    "Scorer": "firth.lexical.scorer",
    "TASKS": "firth.evaluate.task",
    "Task": "firth.evaluate.task",
    "compare": "firth.evaluate.comparison",
    "resolve_model": "firth.evaluate.models",
    "tabulate": "firth.evaluate.table",
}

__all__ = [
    "EVALUATION",
    "TASKS",
    "Comparison",
    "Evaluation",
    "Result",
    "Scorer",
    "Task",
    "compare",
    "resolve_model",
    "tabulate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
