"""Evaluation: tasks, metrics with confidence intervals, and results that can be believed.

The function is `firth.evaluate.evaluate.evaluate`, or `from firth import evaluate`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from firth.artifacts import Stage

if TYPE_CHECKING:
    from firth.baselines.protocol import Scorer
    from firth.evaluate.comparison import compare
    from firth.evaluate.models import resolve_model
    from firth.evaluate.results import Comparison, Evaluation, Result, tabulate
    from firth.evaluate.task import TASKS, Task

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
    name="evaluation",
    code=("words", "coherence", "generation", "baselines", "fit", "origin", "evaluate"),
    command="firth run FILE.yaml --run",
    libraries=("scikit-learn", "scipy", "sentence-transformers"),
)

_HOMES = {
    "Scorer": "firth.baselines.protocol",
    "compare": "firth.evaluate.comparison",
    "resolve_model": "firth.evaluate.models",
    "TASKS": "firth.evaluate.task",
    "Task": "firth.evaluate.task",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "firth.evaluate.results")), name)
