"""Pretrained sentence encoders by folder or hub name."""

from pathlib import Path

import torch
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer

from firth.errors import InputError
from firth.reach import hub_in_reach

_FAILURES = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    RuntimeError,
    ImportError,
    AttributeError,
    SafetensorError,
)


def pretrained_encoder(base: str) -> SentenceTransformer:
    """An encoder by folder or hub name, in float32.

    A sentence-transformers model is used as it is, with its own pooling; any other encoder gets
    mean pooling of its last layer. Pickled weights and remote code are refused.

    Raises:
        InputError: It cannot be loaded.
    """
    options = {"dtype": torch.float32, "use_safetensors": True}
    local = Path(base).is_dir() or not hub_in_reach()
    try:
        return SentenceTransformer(base, model_kwargs=options, local_files_only=local, device="cpu")
    except _FAILURES as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"cannot load an encoder from {base!r}: {first}. "
            "Expected the folder or hub name of an encoder, such as roberta-base"
        ) from error
