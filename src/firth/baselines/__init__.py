"""Baselines: plain ways to compare two sentences, behind the one protocol of everything scored."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firth.baselines.protocol import Scorer
    from firth.baselines.registry import BASELINES, open_baseline
    from firth.baselines.trained import TRAINED, train_baseline

_HOMES = {
    "BASELINES": "firth.baselines.registry",
    "Scorer": "firth.baselines.protocol",
    "TRAINED": "firth.baselines.trained",
    "open_baseline": "firth.baselines.registry",
    "train_baseline": "firth.baselines.trained",
}

__all__ = ["BASELINES", "TRAINED", "Scorer", "open_baseline", "train_baseline"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
