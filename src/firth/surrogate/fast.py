r"""A static Surrogate without the library around it: the same vectors, several times as fast.

Most of the time of `SentenceTransformer.encode` goes into splitting text. Of plain text (ASCII,
Latin-1 and the punctuation of books) Python's own regular expressions find the same words, and a
dictionary knows the pieces of each; all other text is split by the tokenizer.
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

from firth.lexical.arrays import Ints, Singles
from firth.run.errors import InputError
from firth.run.pretrained import open_encoder
from firth.surrogate.start import word_tokenizer

_WORD = re.compile(r"\w+")
_PLAIN = re.compile("[\x00-\xff\u2010-\u2027\u2030-\u203e\u20ac\u2122]*")
"""Text in which the tokenizer's regular expression, of another library, finds the same words."""
_TEXTS = 4_096
"""Encoded at once."""
_KNOWN = 1 << 20
"""Words whose pieces are kept."""


class _Words(dict[str, int]):
    """Lowercased word → the number of its only piece, or, from `size` on, of its pieces.

    Attributes:
        size: Pieces of the tokenizer.
        spelled: The pieces of word `size` + n.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer, self.size = tokenizer, tokenizer.get_vocab_size()
        self.spelled: list[list[int]] = []

    def __missing__(self, word: str) -> int:
        pieces = self._tokenizer.encode(word, add_special_tokens=False).ids
        if len(pieces) == 1:
            number: int = pieces[0]
        else:
            number = self.size + len(self.spelled)
            self.spelled.append(pieces)
        self[word] = number
        return number

    def forget(self) -> None:
        """Know no word any more."""
        self.clear()
        self.spelled.clear()

    def pieces(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Pieces of all words, (m,), and where those of each word begin, (n + 1,)."""
        several = numbers >= self.size
        counts = np.ones(len(numbers), np.int64)
        if several.any():
            found = [self.spelled[n] for n in (numbers[several] - self.size).tolist()]
            counts[several] = [len(each) for each in found]
            numbers = np.repeat(numbers, counts)
            numbers[np.repeat(several, counts)] = [*chain.from_iterable(found)]
        return numbers, np.concatenate(([0], np.cumsum(counts)))


class StaticEncoder:
    """Vectors of a static Surrogate.

    Args:
        module: Its only module, with the tokenizer that firth gave it.
    """

    def __init__(self, module: StaticEmbedding) -> None:
        self._weight = module.embedding.weight.detach()
        self._tokenizer, self._words = module.tokenizer, _Words(module.tokenizer)

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
            found[start : start + _TEXTS] = self._block(texts[start : start + _TEXTS])
        return found

    def _block(self, texts: Sequence[str]) -> Singles:
        if len(self._words) > _KNOWN:
            self._words.forget()
        known, numbers, bounds = self._words.__getitem__, [], [0]
        for text in texts:  # lists of each text's words, all held, would keep the collector busy
            numbers += map(known, self._split(text))
            bounds.append(len(numbers))
        pieces, begins = self._words.pieces(np.array(numbers, np.int64))
        offsets = torch.from_numpy(begins[bounds[:-1]])
        bag = functional.embedding_bag(torch.from_numpy(pieces), self._weight, offsets, mode="mean")
        vectors: Singles = bag.numpy()
        return vectors

    def _split(self, text: str) -> list[str]:
        """Its words, lowercased."""
        if text.isascii() or _PLAIN.fullmatch(text):
            return _WORD.findall(text.lower())
        lowered = self._tokenizer.normalizer.normalize_str(text)
        return [word for word, _ in self._tokenizer.pre_tokenizer.pre_tokenize_str(lowered)]


def _reads(tokenizer: Tokenizer) -> list[Any]:
    """How a tokenizer splits text, whatever its vocabulary."""
    settings = json.loads(tokenizer.to_str())
    model = {k: v for k, v in settings["model"].items() if k != "vocab"}
    return [settings["normalizer"], settings["pre_tokenizer"], model]
