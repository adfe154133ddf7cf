"""The discriminative context model p(y=1 | c_<, s, c_>) (§3.2.1)."""

import importlib
from typing import TYPE_CHECKING, Any

from firth.artifacts import Stage

if TYPE_CHECKING:
    from firth.coherence.build import train_coherence as train_coherence
    from firth.coherence.coherence import Coherence as Coherence

COHERENCE = Stage(
    name="coherence",
    code=("coherence", "training"),
    command="firth train coherence --run",
    libraries=("numpy", "tokenizers", "torch"),
)

_HOME = {"Coherence": "coherence", "train_coherence": "build"}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"firth.coherence.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
