r"""A static Surrogate without the library around it: the same vectors, several times as fast.

Most of the time of `SentenceTransformer.encode` goes into splitting text. Of ASCII text Python's
own `\w+` finds the same words, and a dictionary knows the pieces of each; all other text goes
through the tokenizer.
"""

import json
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer
from torch.nn import functional

from firth.lexical.arrays import Singles
from firth.run.errors import InputError
from firth.run.pretrained import open_encoder
from firth.surrogate.start import word_tokenizer

_WORD = re.compile(r"\w+", re.ASCII)
_TEXTS = 4_096
"""Encoded at once."""
_KNOWN = 1 << 20
"""Words whose pieces are kept."""


class _Pieces(dict[str, tuple[int, ...]]):
    """Lowercased word → numbers of its pieces."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def __missing__(self, word: str) -> tuple[int, ...]:
        found = tuple(self._tokenizer.encode(word, add_special_tokens=False).ids)
        if len(self) < _KNOWN:
            self[word] = found
        return found


class StaticEncoder:
    """Vectors of a static Surrogate.

    Args:
        module: Its only module, with the tokenizer that firth gave it.
    """

    def __init__(self, module: StaticEmbedding) -> None:
        self._weight = module.embedding.weight.detach()
        self._tokenizer, self._pieces = module.tokenizer, _Pieces(module.tokenizer)

    @classmethod
    def open(cls, folder: str | Path) -> "StaticEncoder":
        """That of the Surrogate in a folder.

        Raises:
            InputError: It cannot be opened, or is no static one.
        """
        model = open_encoder(str(folder))
        module: Any = model[0]
        static = isinstance(module, StaticEmbedding) and len(model) == 1
        if static and _reads(module.tokenizer) == _reads(word_tokenizer([])):
            return cls(module)
        raise InputError(f"{folder}: no static Surrogate; expected one that firth distilled")

    def encode(self, texts: Sequence[str]) -> Singles:
        """Vectors of `texts`, (n, d), as `SentenceTransformer(folder).encode` gives them."""
        found = np.empty((len(texts), self._weight.shape[1]), np.float32)
        for start in range(0, len(texts), _TEXTS):
            some = texts[start : start + _TEXTS]
            numbers = [self._numbers(text) for text in some]
            flat = torch.tensor(list(chain.from_iterable(numbers)), dtype=torch.long)
            offsets = torch.tensor([0, *map(len, numbers)]).cumsum(0)[:-1]
            vectors = functional.embedding_bag(flat, self._weight, offsets, mode="mean")
            found[start : start + _TEXTS] = vectors.numpy()
        return found

    def _numbers(self, text: str) -> Sequence[int]:
        if not text.isascii():
            ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
            return ids
        return [*chain.from_iterable(map(self._pieces.__getitem__, _WORD.findall(text.lower())))]


def _reads(tokenizer: Tokenizer) -> list[Any]:
    """How a tokenizer splits text, whatever its vocabulary."""
    settings = json.loads(tokenizer.to_str())
    model = {k: v for k, v in settings["model"].items() if k != "vocab"}
    return [settings["normalizer"], settings["pre_tokenizer"], model]
