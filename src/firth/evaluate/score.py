"""Ask models for their similarities, unless the cache knows what this very model answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path

import numpy as np

from firth.baselines.registry import BASELINES
from firth.baselines.spec import PREFIX
from firth.evaluate.cache import Cache
from firth.evaluate.load import EVERYTHING, LeftOut
from firth.evaluate.metrics import Floats
from firth.evaluate.models import fingerprint_model, resolve_model
from firth.evaluate.results import Scored, versions
from firth.evaluate.rows import EvaluationSet
from firth.lexical.scorer import Scorer
from firth.run.code import fingerprint_code
from firth.run.errors import FirthError, InputError
from firth.run.files import fingerprint_value
from firth.run.progress import Bar
from firth.run.run import CONFIG

ALL_BASELINES = PREFIX + EVERYTHING
Model = str | Path | Scorer
"""What an evaluation takes: what `resolve_model` takes, or an object that compares pairs."""

_LIBRARIES = "numpy scipy scikit-learn torch transformers tokenizers sentence-transformers gensim"


@dataclass(frozen=True)
class System:
    """A model under evaluation, not opened before it is needed.

    Attributes:
        label: What the caller calls it.
        fingerprint: What identifies it whatever it is called; None: it cannot be cached.
        optional: Whether it is left out, with the reason, where `open` fails.
    """

    label: str
    fingerprint: str | None
    open: Callable[[], Scorer]
    optional: bool = False


def label_of(model: Model) -> str:
    """What a model is called."""
    return str(model) if isinstance(model, str | Path) else model.name


def system_of(model: Model, *, optional: bool = False) -> System:
    """The system behind a model.

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


def select_systems(models: Sequence[Model]) -> tuple[list[System], list[LeftOut]]:
    """The systems behind some models, none opened yet, and what `baseline:all` leaves out.

    Args:
        models: `baseline:all` is every baseline that needs nothing after `@`, and
            `baseline:all@RUN` those and the ones that the run serves: its idf, and what was
            trained in `RUN/baselines`.

    Raises:
        InputError: No model, no such baseline, or `RUN` is not a run.
    """
    systems: dict[str, System] = {}
    left_out: list[LeftOut] = []
    for model in models:
        if is_all(model):
            found, missing = _all_baselines(str(model).partition("@")[2])
        else:
            found, missing = [system_of(model)], []
        for system in found:
            if system.label in systems and not isinstance(model, str | Path):
                raise InputError(f"{system.label}: two models of this name; give each its own")
            systems.setdefault(system.label, system)
        left_out += missing
    if not systems:
        raise InputError("no model given; expected a run, an encoder or baseline:NAME")
    return list(systems.values()), left_out


def is_all(model: Model) -> bool:
    """Whether a model is `baseline:all` or `baseline:all@RUN`, which stand for several."""
    return isinstance(model, str) and model.partition("@")[0] == ALL_BASELINES


def _all_baselines(run: str) -> tuple[list[System], list[LeftOut]]:
    if run and not (Path(run) / CONFIG).is_file():
        raise InputError(f"{ALL_BASELINES}@{run}: {run} is not a run (it has no {CONFIG})")
    found, left_out = [], []
    for name, baseline in BASELINES.items():
        specs = [] if baseline.required else [PREFIX + name]
        if run and baseline.source == "RUN":
            specs.append(f"{PREFIX}{name}@{run}")
        if not specs:
            reason = f"needs {PREFIX}{name}@{baseline.source}"
            left_out.append(LeftOut("model", PREFIX + name, reason))
        for spec in specs:
            try:
                found.append(system_of(spec, optional=True))
            except FirthError as error:
                left_out.append(LeftOut.because("model", spec, error))
    return found, left_out


def score(
    system: System, sets: Sequence[EvaluationSet], cache: Cache, progress: Bar
) -> tuple[str, list[Scored]]:
    """The similarities of all pairs of some sets, and what the system is in words.

    The system is opened only if the cache lacks something.

    Raises:
        InputError: The system cannot be opened, or gives similarities of the wrong shape.
        MissingStageError: It is a run that is not built far enough.
    """
    scorer = once(system.open)
    scored = []
    for data in sets:
        scored.append(Scored(data, _similarities(system, data, cache, scorer)))
        progress.advance(status=f"{system.label} {data.task.name}")
    if system.fingerprint is None:
        return scorer().name, scored
    key = fingerprint_value([system.fingerprint, system.label, *_scoring()])
    return cache.recall("names", key, lambda: scorer().name, str, str), scored


def _similarities(
    system: System, data: EvaluationSet, cache: Cache, scorer: Callable[[], Scorer]
) -> Floats:
    key = fingerprint_value([system.fingerprint, data.question, data.task.kind, *_scoring()])
    pairs = data.pairs
    if system.fingerprint is not None:
        known = cache.floats("similarities", key, (len(pairs),))
        if known is not None:
            return known
    model = scorer()
    found = np.asarray(model.similarities(pairs), dtype=np.float64)
    if found.shape != (len(pairs),):
        raise InputError(
            f"{model.name} gave similarities of shape {found.shape} for {len(pairs)} pairs of "
            f"{data.task.name}; expected ({len(pairs)},)"
        )
    if system.fingerprint is not None:
        cache.keep_floats("similarities", key, found)
    return found


@once
def _scoring() -> tuple[str, ...]:
    """What else decides similarities: firth's code, and the libraries under it."""
    installed = versions(_LIBRARIES.split())
    return (fingerprint_code(__name__), *(f"{name} {found}" for name, found in installed.items()))
