"""From what a user types to something that compares sentences, what identifies it, what it says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.baselines.registry import BASELINES, identify_baseline, open_baseline
from firth.baselines.spec import PREFIX
from firth.evaluate.cache import Cache
from firth.evaluate.load import EVERYTHING, LeftOut
from firth.evaluate.metrics import Floats
from firth.evaluate.results import versions
from firth.evaluate.rows import EvaluationSet, Scored
from firth.lexical.scorer import Scorer, TextPair
from firth.origin.origin import Origin
from firth.run.code import fingerprint_code
from firth.run.errors import FirthError, InputError, MissingStageError
from firth.run.files import fingerprint_file, fingerprint_value
from firth.run.hub import hub_is_reachable
from firth.run.model_kind import ModelKind
from firth.run.progress import Bar
from firth.run.run import CONFIG, Run
from firth.surrogate.cross_scorer import CrossScorer

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

ALL_BASELINES = PREFIX + EVERYTHING
Named = str | Path | Run
"""What `resolve_model` takes."""
Model = Named | Scorer
"""What an evaluation takes: what `resolve_model` takes, or an object that compares pairs."""

_LIBRARIES = "numpy scipy scikit-learn torch transformers tokenizers sentence-transformers gensim"
_MODULES, _HF_CONFIG = "modules.json", "config.json"
_ST_CONFIG = "config_sentence_transformers.json"
_ORGANISATION = "sentence-transformers"
"""Where sentence-transformers looks for a bare name on the hub."""
_PATIENCE = 10.0
"""Seconds to wait for an answer of the hub."""


class OriginScorer:
    """Origin similarity over a run; raise `MissingStageError` if a stage of it is not built."""

    def __init__(self, run: str | Path | Run) -> None:
        self._origin = Origin.open(run)
        where = run.path if isinstance(run, Run) else run
        self.name = f"Origin of {where} ({self._origin.name})"

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Origin similarities of `pairs`, shape (n,)."""
        return np.asarray(self._origin.similarities(pairs), dtype=np.float64)


class EncoderScorer:
    """Cosine of the two sentence vectors of a sentence-transformers model, in [-1, 1].

    Each distinct text is encoded once, `batch` at a time. A text whose vector is zero (no known
    token) has similarity 0 with everything. `name` is for people.
    """

    def __init__(self, model: "SentenceTransformer", name: str, batch: int = 64) -> None:
        self.name = name
        self.model = model.eval()
        self._batch = batch

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Cosines of `pairs`, shape (n,)."""
        index = {text: i for i, text in enumerate(dict.fromkeys(t for pair in pairs for t in pair))}
        if not index:
            return np.empty(0, dtype=np.float64)
        encoded = self.model.encode(
            list(index), batch_size=self._batch, show_progress_bar=False, convert_to_numpy=True
        )
        vectors = np.asarray(encoded, dtype=np.float64)
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        left, right = ([index[pair[side]] for pair in pairs] for side in (0, 1))
        cosines: Floats = np.einsum("nd,nd->n", vectors[left], vectors[right])
        return np.clip(cosines, -1.0, 1.0)


def resolve_model(spec: Named) -> Scorer:
    """Open what `spec` names.

    Args:
        spec: `baseline:NAME[+OPTION…][@SOURCE]`; a run, or its folder (Origin); a folder that
            sentence-transformers opens, such as `RUN/surrogate`, as sentence encoder or
            cross-encoder; or a model's name on the hub.

    Raises:
        InputError: It is none of these, is refused (a pickle, code, a language model, a sparse
            encoder, a classifier of something else), or cannot be loaded.
        MissingStageError: It is a run, or a run's surrogate, that is not built.
    """
    if isinstance(spec, Run):
        return OriginScorer(spec)
    text = str(spec)
    if text.startswith(PREFIX):
        return open_baseline(text)
    folder = Path(spec)
    if (folder / CONFIG).is_file():
        return OriginScorer(folder)
    if folder.exists():
        if not any((folder / name).is_file() for name in (_MODULES, _HF_CONFIG)):
            raise InputError(
                f"{text}: neither a run (no {CONFIG}) nor an encoder (no {_MODULES}). "
                f"Expected one of these folders, a model's hub name, or {PREFIX}NAME"
            )
    elif (folder.parent / CONFIG).is_file() and folder.name == "surrogate":
        raise MissingStageError(
            str(folder.parent), "surrogate", f"firth distill --run {folder.parent}"
        )
    elif folder.is_absolute() or text.startswith((".", "~")) or text.count("/") > 1:
        raise InputError(f"{text}: no such folder")
    from firth.run.pretrained import kind_of, open_encoder

    try:
        if kind_of(text) is ModelKind.CROSS_ENCODER:
            return CrossScorer.open(text)
        return EncoderScorer(open_encoder(text, device=None), text)
    except InputError as error:
        if folder.exists():
            raise
        raise InputError(f"{error}. Or, of firth: a run, or {PREFIX}NAME") from error


def fingerprint_model(spec: Named) -> str | None:
    """What identifies the model behind `spec` whatever it is called; None where that is unknown.

    A baseline by its code and the bytes of what it reads, a run by all that its Origin reads, any
    other folder by the paths and bytes of its files, a hub name by the commit it stands for.
    """
    if isinstance(spec, Run):
        return Origin.identity(spec)
    text, folder = str(spec), Path(spec)
    if text.startswith(PREFIX):
        identity = identify_baseline(text)
        code = fingerprint_code("firth.baselines.registry")
        return None if identity is None else fingerprint_value([identity, code])
    if (folder / CONFIG).is_file():
        return Origin.identity(Run.open(folder))
    if folder.is_dir():
        if not any((folder / name).is_file() for name in (_MODULES, _HF_CONFIG)):
            return None  # no model, and perhaps all of a disk
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return fingerprint_value(
            [[path.relative_to(folder).as_posix(), fingerprint_file(path)] for path in files]
        )
    return _fingerprint_snapshot(text)


def _fingerprint_snapshot(name: str) -> str | None:
    """The commit that a hub name stands for: by the hub where it can be reached, else that of the
    local copy, which is what would be opened then; None where neither is known."""
    import huggingface_hub
    from huggingface_hub import constants

    repository = name if "/" in name else f"{_ORGANISATION}/{name}"
    commit: str | None = None
    if not constants.HF_HUB_OFFLINE and hub_is_reachable():
        try:
            commit = huggingface_hub.model_info(repository, timeout=_PATIENCE).sha
        except Exception:  # noqa: BLE001
            # Its HTTP library, and so its errors, differ between versions. Nothing is lost: without
            # an identity the model is scored anew, and what is wrong comes up when it is opened.
            return None
    else:
        for file in (_MODULES, _ST_CONFIG, _HF_CONFIG):
            try:
                path = huggingface_hub.try_to_load_from_cache(repository, file)
            except ValueError:  # not a name the hub could have
                return None
            if isinstance(path, str):
                commit = path.replace("\\", "/").split("/snapshots/")[-1].split("/")[0]
                break
    return fingerprint_value([repository, commit]) if commit else None


@dataclass(frozen=True)
class System:
    """A model under evaluation, called `label`, not opened before it is needed.

    `fingerprint` identifies it whatever it is called (None: it cannot be cached); an `optional` one
    is left out, with the reason, where `open` fails.
    """

    label: str
    fingerprint: str | None
    open: Callable[[], Scorer]
    optional: bool = False


def label_of(model: Model) -> str:
    """What a model is called."""
    if isinstance(model, Run):
        return str(model.path)
    return str(model) if isinstance(model, str | Path) else model.name


def system_of(model: Model, *, optional: bool = False) -> System:
    """The system behind a model.

    Raises:
        InputError: No such baseline, a run that cannot be read, or an object that is no scorer.
    """
    if isinstance(model, Named):
        label, known = label_of(model), fingerprint_model(model)
        return System(label, known, lambda: resolve_model(model), optional)
    if not (hasattr(model, "name") and hasattr(model, "similarities")):
        kind = type(model).__name__
        raise InputError(
            f"model: got an object of type {kind}; expected the folder or name of a model, or an "
            "object with `name` and `similarities(pairs)`"
        )
    return System(model.name, None, lambda: model, optional)


def select_systems(models: Sequence[Model]) -> tuple[list[System], list[LeftOut]]:
    """The systems behind some models, none opened yet, and what `baseline:all` leaves out.

    `baseline:all` is every baseline that needs nothing after `@`, and `baseline:all@RUN` those and
    the ones that the run serves: its idf, and what was trained in `RUN/baselines`.

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
            if system.label in systems and not isinstance(model, Named):
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
    """What a system is in words, and its similarities; opened only if the cache lacks something.

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
    pairs = data.pairs

    def ask() -> Floats:
        model = scorer()
        found = np.asarray(model.similarities(pairs), dtype=np.float64)
        if found.shape != (len(pairs),):
            raise InputError(
                f"{model.name} gave similarities of shape {found.shape} for {len(pairs)} pairs of "
                f"{data.task.name}; expected ({len(pairs)},)"
            )
        return found

    def restore(known: Any) -> Floats:
        if known.dtype != np.float64 or known.shape != (len(pairs),):
            raise ValueError(f"{known.dtype} {known.shape}")
        found: Floats = known
        return found

    if system.fingerprint is None:
        return ask()
    key = fingerprint_value([system.fingerprint, data.question, data.task.kind, *_scoring()])
    return cache.recall("similarities", key, ask, np.asarray, restore)


@once
def _scoring() -> tuple[str, ...]:
    """What else decides similarities: firth's code, and the libraries under it."""
    installed = versions(_LIBRARIES.split())
    return (fingerprint_code(__name__), *(f"{name} {found}" for name, found in installed.items()))
