"""TF-IDF screening: the chunks of the corpus that share words with a sentence (§3.3)."""

import importlib
from typing import TYPE_CHECKING, Any

from firth.artifacts import Stage

if TYPE_CHECKING:
    from firth.retrieve.build import build_index as build_index
    from firth.retrieve.index import ChunkIndex as ChunkIndex
    from firth.retrieve.index import Screened as Screened

RETRIEVE = Stage(
    name="retrieve",
    code=("retrieve", "words"),
    command="firth corpus build INPUT... --run",
    libraries=("numpy", "scikit-learn"),
)

_HOME = {"ChunkIndex": "index", "Screened": "index", "build_index": "build"}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"firth.retrieve.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
