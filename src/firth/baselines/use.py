"""Universal Sentence Encoder (Cer et al. 2018), as published: for TensorFlow."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from firth.lexical.arrays import Floats
from firth.lexical.scorer import CosineScorer
from firth.run.errors import InputError, first_line

HANDLE = "https://tfhub.dev/google/universal-sentence-encoder/4"
_BATCH = 64
_FAILURES = (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError, AttributeError)


def open_tensorflow(source: str | None, student: str) -> CosineScorer:
    """The published model, run by TensorFlow.

    Args:
        source: A folder with the SavedModel, or a handle; None takes version 4 (DAN).
        student: What could be had instead, for the error message.

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
            f"({student}, a student of the multilingual model, not the model itself)"
        ) from None
    try:
        model: Any = tensorflow_hub.load(handle)
    except _FAILURES as error:
        raise InputError(
            f"{handle}: no Universal Sentence Encoder could be loaded: {first_line(error)}. "
            "Expected a folder with the SavedModel (baseline:use@FOLDER), or a connection"
        ) from error

    def encode(texts: Sequence[str]) -> Floats:
        batches = [
            np.asarray(model(list(texts[start : start + _BATCH])), dtype=np.float64)
            for start in range(0, len(texts), _BATCH)
        ]
        return np.concatenate(batches)

    return CosineScorer(f"Universal Sentence Encoder ({handle})", encode)
