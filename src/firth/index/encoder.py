"""Texts in, unit vectors out: static models with NumPy alone, all others by sentence-transformers.

A static model is a table of token vectors, and a text is their mean. Importing torch for that would
take longer than a search does.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.lexical.arrays import Singles
from firth.run.errors import InputError
from firth.run.files import read_json
from firth.run.model_files import PretrainedFiles, looked_at
from firth.run.pretrained import open_encoder

Vectors = Singles

_STATIC = ("StaticEmbedding", "Normalize")
_TABLES = ("embedding.weight", "embeddings")
_BATCH = 64
_LONGEST = 1 << 20
"""Tokens whose vectors are gathered at once: 2 GiB of 512 dimensions at most, usually far less."""


class TextEncoder(ABC):
    """Gives texts vectors of length 1; a text of which nothing is known has the zero vector.

    Attributes:
        name: Folder or hub name of the model.
        dimensions: Of each vector.
    """

    name: str
    dimensions: int

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, float32, shape (n, dimensions)."""

    @staticmethod
    def open(name: str | Path) -> "TextEncoder":
        """Open a sentence encoder by folder or hub name.

        Raises:
            InputError: There is none, it is refused by `firth.run.model_files.look`, or it cannot
                be loaded.
        """
        folder = looked_at(str(name))
        if table := _static_table(folder):
            return _Static(str(name), folder, table)
        return _Model(str(name))

    def __reduce__(self) -> tuple[Any, ...]:
        """It travels as its name, and what its files are known by: who gets it opens its own."""
        return _opened_again, (self.name, PretrainedFiles.find(self.name).fingerprint)


def _opened_again(name: str, fingerprint: str) -> TextEncoder:
    if PretrainedFiles.find(name).fingerprint != fingerprint:
        raise InputError(f"{name}: another model here than where the work was begun")
    return TextEncoder.open(name)


class _Static(TextEncoder):
    """The mean of token vectors, as sentence-transformers' `StaticEmbedding` has it."""

    def __init__(self, name: str, folder: Path, table: str) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self.name = name
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._table: npt.NDArray[Any] = load_file(folder / "model.safetensors")[table]
        self.dimensions = self._table.shape[1]

    def encode(self, texts: Sequence[str]) -> Vectors:
        found = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        tokens = [encoded.ids for encoded in found]
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, ids in enumerate(tokens):
            # A long text's vectors are many; row by row only one text's are gathered at a time.
            for start in range(0, len(ids), _LONGEST):
                vectors[row] += self._table[ids[start : start + _LONGEST]].sum(
                    axis=0, dtype=np.float32
                )
        return to_unit(vectors)


class _Model(TextEncoder):
    def __init__(self, name: str) -> None:
        self.name = name
        self._model = open_encoder(name, None).eval()
        self.dimensions = int(self._model.get_embedding_dimension() or 0)

    def encode(self, texts: Sequence[str]) -> Vectors:
        if not len(texts):
            return np.zeros((0, self.dimensions), np.float32)
        found = self._model.encode(list(texts), batch_size=_BATCH, show_progress_bar=False)
        return to_unit(np.asarray(found, np.float32))


def to_unit(vectors: Vectors) -> Vectors:
    """Rows scaled to length 1, in place; rows of zeros stay."""
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return vectors


def _static_table(folder: Path) -> str | None:
    """The name of a static model's table of vectors; None for every other kind of model."""
    if not (folder / "modules.json").is_file():
        return None
    modules = read_json(folder / "modules.json")
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules]
    here = modules[0].get("path", "") == "" and (folder / "tokenizer.json").is_file()
    if kinds[:1] != [_STATIC[0]] or not {*kinds} <= {*_STATIC} or not here:
        return None
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", framework="np") as weights:
        names = [*weights.keys()]
    return names[0] if len(names) == 1 and names[0] in _TABLES else None
