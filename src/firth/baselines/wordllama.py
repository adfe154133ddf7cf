"""WordLlama (Miller 2024): mean of static token vectors, as an installable package has them.

Llama's input embeddings, made smaller by training on labelled pairs. Only the package's two files
are read; its code is not.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer

from firth.lexical.arrays import Floats, Singles
from firth.lexical.scorer import CosineScorer
from firth.run.errors import InputError, MissingExtraError

PACKAGE = "wordllama"
VECTORS, TOKENIZER = "*.safetensors", "*tokenizer*.json"
TENSOR = "embedding.weight"


def wordllama_files(source: str | None = None) -> list[Path]:
    """Vectors and tokenizer in the folder `source`, or deeper in it, or in the installed package;
    fewer than two where they are not there or not the only ones."""
    if source is None:
        found = importlib.util.find_spec(PACKAGE)
        folder = Path(found.origin).parent if found is not None and found.origin else None
    else:
        folder = Path(source)
    if folder is None or not folder.is_dir():
        return []
    several = (sorted(folder.rglob(pattern)) for pattern in (VECTORS, TOKENIZER))
    return [files[0] for files in several if len(files) == 1]


def open_wordllama(source: str | None = None) -> CosineScorer:
    """Cosine of mean token vectors, in [-1, 1]; special tokens take no part.

    Args:
        source: Folder of the two files, such as the unpacked package; None is the installed one.

    Raises:
        MissingExtraError: The package is not installed.
        InputError: There are no such files, or not one of each, or they do not go together.
    """
    files = wordllama_files(source)
    if len(files) < 2:
        if source is None:
            raise MissingExtraError("baseline:wordllama (or baseline:wordllama@FOLDER)", PACKAGE)
        raise InputError(
            f"{source}: expected a folder with one {VECTORS} and one {TOKENIZER}, as the package "
            f"{PACKAGE} has them (pip download --no-deps {PACKAGE}, then unzip)"
        )
    try:
        tokenizer = Tokenizer.from_file(str(files[1]))
    except Exception as error:  # the library raises nothing more exact
        raise InputError(f"{files[1]}: not a tokenizer: {error}") from error
    try:
        with safe_open(files[0], framework="numpy") as tensors:
            vectors: Singles = tensors.get_tensor(TENSOR).astype(np.float32)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{files[0]}: expected the tensor {TENSOR}: {error}") from error
    if vectors.ndim != 2 or len(vectors) < tokenizer.get_vocab_size():
        size = tokenizer.get_vocab_size()
        raise InputError(f"{files[0]}: shape {vectors.shape} for the {size:,} tokens of {files[1]}")
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def encode(texts: Sequence[str]) -> Floats:
        """Vectors (n, d); zero for a text without a token."""
        found = np.zeros((len(texts), vectors.shape[1]))
        tokens = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        for row, one in enumerate(tokens):
            if one.ids:
                found[row] = vectors[one.ids].mean(axis=0)
        return found

    return CosineScorer(
        f"WordLlama, mean of {vectors.shape[1]}-d token vectors (supervised: it learned from "
        "labelled pairs)",
        encode,
    )
