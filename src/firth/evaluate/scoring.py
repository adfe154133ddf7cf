"""Ask a model for its similarities, unless the cache knows what this very model answers."""

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from firth.evaluate.cache import Cache
from firth.evaluate.evaluation import Scored
from firth.evaluate.metrics import Floats
from firth.evaluate.models import fingerprint_model, resolve_model
from firth.evaluate.rows import EvaluationSet
from firth.lexical.scorer import Scorer
from firth.run.code import fingerprint_code
from firth.run.errors import InputError
from firth.run.files import fingerprint_value
from firth.run.progress import Bar

SIMILARITIES, NAMES = "similarities", "names"

_CODE = (
    "words",
    "contexts",
    "corpus",
    "retrieve",
    "coherence",
    "generation",
    "origin",
    "baselines",
    "evaluate/models",
    "evaluate/scoring",
)
_LIBRARIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "torch",
    "transformers",
    "tokenizers",
    "sentence-transformers",
    "gensim",
)


@dataclass(frozen=True)
class System:
    """A model under evaluation, not opened before it is needed.

    Attributes:
        label: What the caller calls it.
        fingerprint: What identifies it whatever it is called; None: it cannot be cached.
        open: Opens it.
        optional: Whether it is left out, with the reason, where it cannot be opened.
    """

    label: str
    fingerprint: str | None
    open: Callable[[], Scorer]
    optional: bool = False


def system_of(model: str | Path | Scorer, *, optional: bool = False) -> System:
    """The system behind what `firth.evaluate.evaluate.evaluate` takes.

    Raises:
        InputError: No such baseline, a run that cannot be read, or an object that is no scorer.
    """
    if isinstance(model, str | Path):
        return System(str(model), fingerprint_model(model), lambda: resolve_model(model), optional)
    if not (hasattr(model, "name") and hasattr(model, "similarities")):
        kind = type(model).__name__
        raise InputError(
            f"model: got an object of type {kind}; expected the folder or name of a model, or an "
            "object with `name` and `similarities(pairs)`"
        )
    return System(model.name, None, lambda: model, optional)


def score(
    system: System, sets: Sequence[EvaluationSet], cache: Cache, progress: Bar
) -> tuple[str, list[Scored]]:
    """The similarities of all pairs of some sets, and what the system is in words.

    The system is opened only if the cache lacks something.

    Raises:
        InputError: The system cannot be opened, or gives similarities of the wrong shape.
        MissingStageError: It is a run that is not built far enough.
    """
    opened: list[Scorer] = []

    def scorer() -> Scorer:
        if not opened:
            opened.append(system.open())
        return opened[0]

    scored = []
    for data in sets:
        scored.append(Scored(data, _similarities(system, data, cache, scorer)))
        progress.advance(status=f"{system.label} {data.task.name}")
    if system.fingerprint is None:
        return scorer().name, scored
    key = fingerprint_value([system.fingerprint, system.label, *_scoring()])
    name = cache.value(NAMES, key)
    if name is None:
        name = scorer().name
        cache.keep_value(NAMES, key, name)
    return str(name), scored


def _similarities(
    system: System, data: EvaluationSet, cache: Cache, scorer: Callable[[], Scorer]
) -> Floats:
    key = fingerprint_value([system.fingerprint, data.question, data.task.kind, *_scoring()])
    if system.fingerprint is not None:
        known = cache.floats(SIMILARITIES, key)
        if known is not None:
            return known
    pairs, model = data.pairs, scorer()
    found = np.asarray(model.similarities(pairs), dtype=np.float64)
    if found.shape != (len(pairs),):
        raise InputError(
            f"{model.name} gave similarities of shape {found.shape} for {len(pairs)} pairs of "
            f"{data.task.name}; expected ({len(pairs)},)"
        )
    if system.fingerprint is not None:
        cache.keep_floats(SIMILARITIES, key, found)
    return found


@cache
def _scoring() -> tuple[str, ...]:
    """What else decides similarities: firth's code, and the libraries under it."""
    versions = []
    for name in _LIBRARIES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return (fingerprint_code(*_CODE), *versions)
