"""The three conditional likelihoods of a sentence and its context (§3.2.2): two backends."""

import importlib
from typing import TYPE_CHECKING, Any

from firth.artifacts import Stage

if TYPE_CHECKING:
    from firth.generation.build import train_generator as train_generator
    from firth.generation.causal_lm import CausalLM as CausalLM
    from firth.generation.open import open_generator as open_generator
    from firth.generation.seq2seq import Seq2Seq as Seq2Seq

GENERATOR = Stage(
    name="generator",
    code=("generation", "training", "seeds"),
    command="firth train generator --run",
    libraries=("torch", "transformers", "tokenizers"),
)

_HOME = {
    "CausalLM": "causal_lm",
    "Seq2Seq": "seq2seq",
    "open_generator": "open",
    "train_generator": "build",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"firth.generation.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
