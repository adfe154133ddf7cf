r"""A static Surrogate without the libraries around it: the same vectors, several times as fast.

Neither torch nor sentence-transformers is imported, so that it starts at once in little memory.
Most of the time of `SentenceTransformer.encode` goes into splitting text. Of plain text (ASCII,
Latin-1 and the punctuation of books) the same words are found byte by byte, and a dictionary knows
the pieces of each; all other text is split by the tokenizer.
"""

import json
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from scipy import sparse
from tokenizers import Tokenizer

from firth.lexical.arrays import Ints, Singles
from firth.run.errors import InputError
from firth.run.files import read_json
from firth.run.model_files import look
from firth.surrogate.tokens import word_tokenizer

_PLAIN = re.compile("[\x00-\xff\u2010-\u2027\u2030-\u203e\u20ac\u2122]*")
"""Text whose words are in Latin-1: what else it may have stands between them."""
_BYTES = bytes(ord(c.lower()) if re.match(r"\w", c) else ord(" ") for c in map(chr, range(256)))
"""Latin-1, lowercased, and a space for all that is no part of a word."""
_TEXTS = 4_096
"""Encoded at once."""
_KNOWN = 1 << 20
"""Words whose pieces are kept."""


class _Words(dict[str | bytes, int]):
    """Lowercased word → the number of its only piece, or, from `size` on, of its pieces.

    Words of plain text are bytes, in Latin-1.

    Attributes:
        size: Pieces of the tokenizer.
        spelled: The pieces of word `size` + n.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer, self.size = tokenizer, tokenizer.get_vocab_size()
        self.spelled: list[list[int]] = []

    def __missing__(self, word: str | bytes) -> int:
        text = word.decode("latin-1") if isinstance(word, bytes) else word
        pieces = self._tokenizer.encode(text, add_special_tokens=False).ids
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
        table: A row a piece.
        tokenizer: That which firth gave it.
    """

    def __init__(self, table: Singles, tokenizer: Tokenizer) -> None:
        self._table, self._tokenizer = table, tokenizer
        self._words = _Words(tokenizer)

    @classmethod
    def open(cls, folder: str | Path) -> "StaticEncoder":
        """That of the Surrogate in a folder.

        Raises:
            InputError: It cannot be opened, or is no static one.
        """
        folder = Path(folder)
        modules, words = folder / "modules.json", folder / "tokenizer.json"
        kinds = [str(one.get("type")) for one in read_json(modules)] if modules.is_file() else []
        if len(kinds) == 1 and kinds[0].endswith(".StaticEmbedding") and words.is_file():
            look(folder)
            tokenizer = Tokenizer.from_file(str(words))
            if _reads(tokenizer) == _reads(word_tokenizer([])):
                return cls(load_file(folder / "model.safetensors")["embedding.weight"], tokenizer)
        raise InputError(f"{folder}: no static Surrogate; expected one that firth distilled")

    def encode(self, texts: Sequence[str]) -> Singles:
        """Vectors of `texts`, (n, d), as `SentenceTransformer(folder).encode` gives them."""
        found = np.empty((len(texts), self._table.shape[1]), np.float32)
        for start in range(0, len(texts), _TEXTS):
            found[start : start + _TEXTS] = self._block(texts[start : start + _TEXTS])
        return found

    def _block(self, texts: Sequence[str]) -> Singles:
        if len(self._words) > _KNOWN:
            self._words.forget()
        known, bounds = self._words.__getitem__, [0]
        numbers: list[int] = []
        for text in texts:  # lists of each text's words, all held, would keep the collector busy
            numbers += map(known, self._split(text))
            bounds.append(len(numbers))
        pieces, begins = self._words.pieces(np.array(numbers, np.int64))
        begins = begins[bounds]
        counts = np.maximum(np.diff(begins), 1).astype(np.float32)
        shape = (len(texts), len(self._table))
        has = sparse.csr_matrix((np.ones(len(pieces), np.float32), pieces, begins), shape=shape)
        vectors: Singles = (has @ self._table) / counts[:, None]
        return vectors

    def _split(self, text: str) -> list[bytes] | list[str]:
        """Its words, lowercased."""
        if text.isascii() or _PLAIN.fullmatch(text):
            return plain_words(text)
        lowered = self._tokenizer.normalizer.normalize_str(text)
        return [word for word, _ in self._tokenizer.pre_tokenizer.pre_tokenize_str(lowered)]


def plain_words(text: str) -> list[bytes]:
    """The words of plain text, lowercased, in Latin-1."""
    return text.encode("latin-1", "replace").translate(_BYTES).split()


def _reads(tokenizer: Tokenizer) -> list[Any]:
    """How a tokenizer splits text, whatever its vocabulary."""
    settings = json.loads(tokenizer.to_str())
    model = {k: v for k, v in settings["model"].items() if k != "vocab"}
    return [settings["normalizer"], settings["pre_tokenizer"], model]
