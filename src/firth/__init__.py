"""Sentence similarity from unlabelled documents, with the contexts each score comes from.

    >>> from firth import Corpus, Origin, distill, evaluate, harvest

- `Corpus.build(inputs, run)`, `Corpus.open(run)`: documents in; sentences and their contexts out.
- `Origin.open(run)`: similarity of two sentences, and the contexts it comes from.
- `harvest(run)`: pairs of corpus sentences with their Origin similarity.
- `distill(run)`: a sentence-transformers model that learns from them.
- `evaluate(model, tasks)`: a model's similarities against people's, with intervals.

What stands between `Corpus.build` and `Origin.open` is built by `firth.pipeline.bring_up_to_date`,
or on the command line. Everything heavy loads when it is first used.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Corpus", "Origin", "__version__", "distill", "evaluate", "harvest"]

if TYPE_CHECKING:
    from firth.corpus.corpus import Corpus
    from firth.evaluate.evaluate import evaluate
    from firth.harvest.harvest import harvest
    from firth.origin.origin import Origin
    from firth.surrogate.distill import distill


def _lazily(module: str, name: str) -> property:
    def get(_: ModuleType) -> Any:
        return getattr(import_module(module), name)

    # Importing the package firth.harvest assigns it to the attribute `harvest` of this module,
    # where users expect the function of that name; the property keeps the function in place.
    return property(get, lambda *_: None)


class _Firth(ModuleType):
    Corpus = _lazily("firth.corpus.corpus", "Corpus")
    Origin = _lazily("firth.origin.origin", "Origin")
    harvest = _lazily("firth.harvest.harvest", "harvest")
    distill = _lazily("firth.surrogate.distill", "distill")
    evaluate = _lazily("firth.evaluate.evaluate", "evaluate")


sys.modules[__name__].__class__ = _Firth
