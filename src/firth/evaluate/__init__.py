"""Evaluation: tasks, metrics with confidence intervals, and results that can be believed.

The function is `firth.evaluate.evaluate.evaluate`, or `from firth import evaluate`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from firth.run.stage import Stage

if TYPE_CHECKING:
    from firth.evaluate.comparison import compare
    from firth.evaluate.models import resolve_model
    from firth.evaluate.results import Comparison, Evaluation, Result, tabulate
    from firth.evaluate.task import TASKS, Task
    from firth.lexical.scorer import Scorer

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

EVALUATION = Stage(
    "evaluation",
    "firth run CONFIG --run",
    libraries=("scikit-learn", "scipy", "sentence-transformers"),
)

_HOMES = {
    "Scorer": "firth.lexical.scorer",
    "compare": "firth.evaluate.comparison",
    "resolve_model": "firth.evaluate.models",
    "TASKS": "firth.evaluate.task",
    "Task": "firth.evaluate.task",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "firth.evaluate.results")), name)
