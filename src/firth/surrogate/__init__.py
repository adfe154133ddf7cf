"""Surrogate: a Siamese encoder that learns Origin's scores and answers in milliseconds (§3.4)."""

import importlib
from typing import TYPE_CHECKING, Any

from firth.artifacts import Stage

if TYPE_CHECKING:
    from firth.surrogate.calibration import LabelMap as LabelMap
    from firth.surrogate.distill import Distilled as Distilled
    from firth.surrogate.distill import build_surrogate as build_surrogate
    from firth.surrogate.start import start_model as start_model

SURROGATE = Stage(
    name="surrogate",
    code=(
        "baselines/bag",
        "baselines/idf",
        "baselines/sentences",
        "baselines/stem",
        "baselines/word_bag",
        "corpus",
        "encoders",
        "surrogate",
        "training",
        "words",
    ),
    command="firth distill --run",
    libraries=("sentence-transformers", "snowballstemmer", "tokenizers", "torch", "transformers"),
)

_HOME = {
    "Distilled": "distill",
    "LabelMap": "calibration",
    "build_surrogate": "distill",
    "start_model": "start",
}


def __getattr__(name: str) -> Any:
    # `distill` is left out: it is also the name of the module that holds it.
    if name in _HOME:
        return getattr(importlib.import_module(f"firth.surrogate.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
