"""Universal Sentence Encoder (Cer et al. 2018): the original, or a student that says it is one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.lexical.cosine import CosineScorer
from firth.run.errors import InputError
from firth.run.hub import hub_is_reachable

HANDLE = "https://tfhub.dev/google/universal-sentence-encoder/4"
STUDENT = "sentence-transformers/distiluse-base-multilingual-cased-v2"
_BATCH = 64
_FAILURES = (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError, AttributeError)


def open_tensorflow(source: str | None = None) -> CosineScorer:
    """The published model, run by TensorFlow.

    Args:
        source: A folder with the SavedModel, or a handle; None takes version 4 (DAN).

    Raises:
        InputError: tensorflow-hub is not installed, or the model cannot be loaded.
    """
    handle = source or HANDLE
    try:
        import tensorflow_hub
    except ImportError:
        raise InputError(
            "baseline:use: the model is published for TensorFlow only, and tensorflow-hub is not "
            "installed: pip install tensorflow tensorflow-hub. Without it: baseline:use+distilled "
            f"({STUDENT}, a student of the multilingual model, not the model itself)"
        ) from None
    try:
        model: Any = tensorflow_hub.load(handle)
    except _FAILURES as error:
        raise InputError(
            f"{handle}: no Universal Sentence Encoder could be loaded: {_first(error)}. Expected a "
            "folder with the SavedModel (baseline:use@FOLDER), or a connection"
        ) from error

    def encode(texts: Sequence[str]) -> npt.NDArray[np.float64]:
        batches = [
            np.asarray(model(list(texts[start : start + _BATCH])), dtype=np.float64)
            for start in range(0, len(texts), _BATCH)
        ]
        return np.concatenate(batches)

    return CosineScorer(f"Universal Sentence Encoder ({handle})", encode)


def open_distilled(source: str | None = None) -> CosineScorer:
    """A student of multilingual USE (Reimers & Gurevych 2020), by folder or hub name.

    Raises:
        InputError: It cannot be loaded.
    """
    from safetensors import SafetensorError
    from sentence_transformers import SentenceTransformer

    name = source or STUDENT
    offline = Path(name).is_dir() or not hub_is_reachable()
    try:
        model = SentenceTransformer(
            name, local_files_only=offline, model_kwargs={"use_safetensors": True}
        )
    except (*_FAILURES, SafetensorError) as error:
        raise InputError(
            f"{name}: could not be loaded: {_first(error)}. Expected a folder or a hub name that "
            "sentence-transformers opens"
        ) from error
    model.eval()

    def encode(texts: Sequence[str]) -> npt.NDArray[np.float64]:
        found = model.encode(list(texts), show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(found, dtype=np.float64)

    return CosineScorer(f"{name}, a student of the Universal Sentence Encoder", encode)


def _first(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
