"""Learn sentence similarity from your own documents, and see why two sentences match.

    >>> import firth
    >>> model = firth.build("documents/", "speeches")  # doctest: +SKIP
    >>> model.similarity("A ship sailed.", "A boat left.")  # doctest: +SKIP

- `build(documents, run)` learns from documents and returns a `Model`; `load(run)` opens one.
- `differences(a, b)` says what two texts differ in that matters.
- `match(left, right)` says which texts of two lists match, at a rate of false matches.
- `calibrate(texts, encoder=...)` gives the thresholds of any encoder among some texts.
- `open_scorer(name)` opens what scores pairs of texts: a run, an encoder, or a baseline.
- `evaluate(scorers, tasks)` measures the correlation with human ratings, with intervals.
- `compare_models(scorers, run)` compares models on a run's held-out documents, without labels.
- `FirthError` is the class of all errors that a caller can correct; `InputError` those of inputs.
- `finetune` and `cross_validate` train encoders (extra `torch`).

Each of them is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firth.evaluation.compare import compare_models
    from firth.evaluation.evaluate import evaluate
    from firth.model import Model, build, load, open_scorer
    from firth.plain import calibrate, match
    from firth.run.errors import FirthError, InputError
    from firth.text.differences import differences
    from firth.train.finetune import finetune
    from firth.train.folds import cross_validate

__version__ = "0.1.0"
__all__ = [
    "FirthError", "InputError", "Model", "__version__", "build", "calibrate",
    "compare_models", "cross_validate", "differences", "evaluate", "finetune", "load",
    "match", "open_scorer",
]  # fmt: skip

_HOMES = {
    "firth.model": ("Model", "build", "load", "open_scorer"),
    "firth.plain": ("calibrate", "match"),
    "firth.run.errors": ("FirthError", "InputError"),
    "firth.evaluation.compare": ("compare_models",),
    "firth.evaluation.evaluate": ("evaluate",),
    "firth.text.differences": ("differences",),
    "firth.train.finetune": ("finetune",),
    "firth.train.folds": ("cross_validate",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'firth' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
