"""From what a user types to something that compares sentences, and to what identifies it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.artifacts import Manifest, fingerprint_code, fingerprint_file, fingerprint_value
from firth.baselines.protocol import Scorer, TextPair
from firth.baselines.registry import PREFIX, identify_baseline, open_baseline
from firth.errors import InputError, MissingStageError
from firth.evaluate.metrics import Floats
from firth.origin import READS
from firth.progress import without_foreign_bars
from firth.reach import hub_in_reach
from firth.run import CONFIG, Run

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_MODULES, _HF_CONFIG = "modules.json", "config.json"
_ST_CONFIG = "config_sentence_transformers.json"
_ORGANISATION = "sentence-transformers"
"""Where sentence-transformers looks for a bare name on the hub."""
_PATIENCE = 10.0
"""Seconds to wait for an answer of the hub."""


class OriginScorer:
    """Origin similarity over a run; raise `MissingStageError` if a stage of it is not built."""

    def __init__(self, run: str | Path) -> None:
        from firth.origin.origin import Origin

        self.name = f"Origin of {run}"
        self._origin: Any = Origin.open(run)

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Origin similarities of `pairs`, shape (n,)."""
        return np.asarray(self._origin.similarities(pairs), dtype=np.float64)


class EncoderScorer:
    """Cosine of the two sentence vectors of a sentence-transformers model, in [-1, 1].

    Each distinct text is encoded once. A text whose vector is zero (no known token) has similarity
    0 with everything.

    Args:
        model: The encoder.
        name: What it is, for people.
        batch: Texts encoded together.
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


def resolve_model(spec: str | Path) -> Scorer:
    """Open what `spec` names.

    Args:
        spec: `baseline:NAME[+OPTION…][@SOURCE]`; the folder of a run (Origin); a folder that
            sentence-transformers opens, such as `RUN/surrogate`; or a model's name on the hub.

    Raises:
        InputError: It is none of these, or cannot be loaded.
        MissingStageError: It is a run, or a run's surrogate, that is not built.
    """
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
    return EncoderScorer(_encoder(text), text)


def _encoder(name: str) -> "SentenceTransformer":
    """A sentence encoder by folder or hub name: all that this package opens come from here."""
    folder = Path(name)
    if folder.exists():
        _refuse_other_kinds(folder)
    from firth.encoders import pretrained_encoder

    try:
        with without_foreign_bars():
            return pretrained_encoder(name)
    except InputError as error:
        if folder.exists():
            raise
        reach = "" if hub_in_reach() else " (the hub cannot be reached)"
        raise InputError(
            f"{name}: no such folder, and no model of this name could be loaded{reach}: {error}. "
            f"Expected a run, an encoder's folder or hub name, or {PREFIX}NAME"
        ) from error


def _refuse_other_kinds(folder: Path) -> None:
    """Refuse what sentence-transformers would turn into an encoder that it never was."""
    about, config = (_values(folder / name) for name in (_ST_CONFIG, _HF_CONFIG))
    kind = about.get("model_type")
    classifies = str(config.get("architectures", "")).count("ForSequenceClassification") > 0
    if kind is None and classifies and not (folder / _MODULES).is_file():
        kind = "CrossEncoder"
    if kind not in (None, "SentenceTransformer"):
        raise InputError(
            f"{folder}: a {kind}, not an encoder of single sentences: averaging its token vectors "
            "would score a model that nobody trained. Expected a SentenceTransformer"
        )


def _values(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # absent, or broken: opening it says what is wrong
        return {}
    return found if isinstance(found, dict) else {}


def fingerprint_model(spec: str | Path) -> str | None:
    """What identifies the model behind `spec` whatever it is called; None where that is unknown.

    A baseline by its code and the bytes of what it reads, a run by all that its Origin reads, any
    other folder by the paths and bytes of its files, a hub name by the commit it stands for.
    """
    text, folder = str(spec), Path(spec)
    if text.startswith(PREFIX):
        identity = identify_baseline(text)
        code = fingerprint_code("baselines", "words")
        return None if identity is None else fingerprint_value([identity, code])
    if (folder / CONFIG).is_file():
        return _identity(Run.open(folder))
    if folder.is_dir():
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return fingerprint_value(
            [[path.relative_to(folder).as_posix(), fingerprint_file(path)] for path in files]
        )
    return _fingerprint_snapshot(text)


def _identity(run: Run) -> str:
    """Of Origin over a run: the stages it reads, their sections and its own, the seed, its code."""
    config = run.config
    stages = READS[config.origin.method]
    manifests = {stage.name: Manifest.read(run.path / stage.name) for stage in stages}
    sections = {name: getattr(config, name, None) for name in ("origin", *manifests)}
    return fingerprint_value(
        [
            {name: manifest.digest for name, manifest in manifests.items() if manifest},
            {name: one.model_dump(mode="json") for name, one in sections.items() if one},
            config.seed,
            fingerprint_code("fit", "origin", "words"),
        ]
    )


def _fingerprint_snapshot(name: str) -> str | None:
    """What identifies the files behind a hub name: the commit it stands for now.

    Asked of the hub where it can be reached; else the commit in the local copy, which is what
    would be opened then. None where neither is known.
    """
    try:
        import huggingface_hub
        from huggingface_hub import constants
    except ImportError:
        return None
    repository = name if "/" in name else f"{_ORGANISATION}/{name}"
    commit: str | None = None
    if not constants.HF_HUB_OFFLINE and hub_in_reach():
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
