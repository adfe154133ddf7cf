"""A pretrained model is first a folder of files: found, looked at, and known again by its bytes.

A folder can hold pickles, or name code of its own; libraries run either. So every model, of a hub
or of a folder, is looked at here before any library opens it (`firth.run.pretrained`).
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

from firth.run.errors import InputError, MissingExtraError, first_line
from firth.run.files import fingerprint_file, fingerprint_value
from firth.run.hub import hub_is_reachable
from firth.run.model_kind import MODULES, plain_json
from firth.run.stage import MANIFEST, handed

LIBRARY_FAILURES = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    RuntimeError,
    ImportError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    EOFError,
    struct.error,
)
"""What libraries raise on files that are not what their names say."""
_WEIGHTS = ".safetensors"
_KEPT = (_WEIGHTS, ".json", ".model", ".txt", ".jinja")
_OTHER_FORMATS = ("onnx/*", "openvino/*", "*.bin", "*.h5", "*.msgpack", "*.ot", "*.pt")
_OWN = "sentence_transformers."
_PICKLED = "pytorch_model.bin"
"""What modules of sentence-transformers read where they have no weights as safetensors."""
_DEPTH = 4
"""Folders below a model's own that are looked at: a module, its routes, and those of a route."""
_SKIPPED = ("onnx", "openvino", "checkpoints")


@dataclass(frozen=True)
class PretrainedFiles:
    """The files that decide what a pretrained model answers.

    Attributes:
        model: Absolute path of its folder, or its name on the hub.
        gguf_file: The GGUF file inside it, if the weights come as one.
        files: Path inside the folder → fingerprint of the file's bytes.
    """

    model: str
    gguf_file: str | None
    files: Mapping[str, str]

    @classmethod
    def find(cls, model: str, gguf_file: str | None = None) -> "PretrainedFiles":
        """Find and fingerprint the files of a model; from the hub they are downloaded if need be.

        Raises:
            InputError: There is no such model, or it is refused by `look`.
        """
        folder = looked_at(model, gguf_file)
        deciding = {path for path in _files(folder) if path.suffix in _KEPT}
        if gguf_file is not None:
            deciding = {p for p in deciding if p.suffix != _WEIGHTS} | {folder / gguf_file}
        files = {
            path.relative_to(folder).as_posix(): fingerprint_file(path) for path in sorted(deciding)
        }
        return cls(str(Path(model).resolve()) if Path(model).is_dir() else model, gguf_file, files)

    @property
    def fingerprint(self) -> str:
        """One fingerprint of all files."""
        return fingerprint_value(dict(self.files))

    def check(self) -> None:
        """Raise `InputError` if a file is gone or has other bytes than it had."""
        folder = find_model(self.model, self.gguf_file)
        for name, known in self.files.items():
            path = folder / name
            if not path.is_file() or fingerprint_file(path) != known:
                found = "has other bytes than it had" if path.is_file() else "is gone"
                raise InputError(
                    f"{path} {found}: the model is not the one that this run was built with. "
                    "Put it back, or build the stage again with the new one: firth train"
                )


def find_model(model: str, gguf_file: str | None = None) -> Path:
    """Where the files of a model lie; those of the hub are downloaded where they are not.

    Raises:
        InputError: There is no such folder, and no such model on the hub.
    """
    try:
        if Path(model).is_dir():
            return Path(model)
    except OSError:
        pass
    from huggingface_hub import snapshot_download

    wanted = [f"*{ending}" for ending in _KEPT if not (gguf_file and ending == _WEIGHTS)]
    if gguf_file:
        wanted.append(gguf_file)
    expected = "Expected a folder, or the name of a model on the hub"
    offline = not hub_is_reachable()
    try:
        return Path(
            snapshot_download(
                model,
                allow_patterns=wanted,
                ignore_patterns=list(_OTHER_FORMATS),
                local_files_only=offline,
            )
        )
    except LIBRARY_FAILURES as error:
        reach = f" on the hub ({first_line(error)})"
        if offline:
            reach = " in the hub's cache, and the hub cannot be reached"
        raise InputError(f"{model!r}: neither a folder nor a model{reach}. {expected}") from error


def look(folder: Path, gguf_file: str | None = None) -> None:
    """Look at a model's files before any library does.

    Raises:
        InputError: With everything that speaks against opening it: no weights as safetensors (or
            as the GGUF file named), modules that are not sentence-transformers' own or lie outside
            the folder, settings that name code.
        MissingExtraError: A GGUF file needs the package gguf.
    """
    if (folder / MANIFEST).is_file():
        handed(folder, "the command that made it")
    if gguf_file is not None and find_spec("gguf") is None:
        raise MissingExtraError(f"the GGUF file {gguf_file}", "gguf")
    problems = []
    if gguf_file is not None and not (folder / gguf_file).is_file():
        problems.append(f"no {gguf_file} in it; GGUF files in it: {_gguf_files(folder) or 'none'}")
    elif gguf_file is None and not any(p.suffix == _WEIGHTS for p in _files(folder)):
        hint = f". Set gguf_file to one of its GGUF files: {found}" if (
            found := _gguf_files(folder)
        ) else ""  # fmt: skip
        problems.append(f"no .safetensors file in it (pickled weights are never opened){hint}")
    for path in _files(folder):
        if path.suffix == ".json" and path.name != "tokenizer.json":
            problems += [
                f"{path.relative_to(folder)}: {problem}" for problem in _problems_in(path, folder)
            ]
        # In the model's own folder `use_safetensors` decides.
        bare = path.parent != folder and not path.with_name(f"model{_WEIGHTS}").is_file()
        if bare and path.name == _PICKLED:
            problems.append(f"{path.relative_to(folder)}: pickled weights are never opened")
    if any(path.name == "adapter_config.json" for path in _files(folder)):
        problems.append("an adapter, whose base model lies elsewhere. Merge the two first")
    if problems:
        raise InputError(f"{folder.resolve()}: this model is not opened: {'; '.join(problems)}")


def looked_at(model: str, gguf_file: str | None = None) -> Path:
    """Where the files of a model lie, once `look` has nothing against them."""
    folder = find_model(model, gguf_file)
    look(folder, gguf_file)
    return folder


def _problems_in(path: Path, folder: Path) -> Iterator[str]:
    """What in a JSON file of a model's settings would have a library run or read other things."""
    value = plain_json(path)
    if path.name == MODULES:
        modules = value if isinstance(value, list) else [value]
        for module in modules:
            if not isinstance(module, dict):
                yield "not a list of modules"
                continue
            yield from _foreign_class(module.get("type"))
            yield from _outside(module.get("path"))
    if path.name.endswith(f"{_WEIGHTS}.index.json"):
        shards = value.get("weight_map") if isinstance(value, dict) else None
        for shard in sorted({str(each) for each in shards.values()} if isinstance(shards, dict)
                            else ()):  # fmt: skip
            if not shard.endswith(_WEIGHTS):
                yield f"weights in {shard!r}: not a {_WEIGHTS} file"
            yield from _outside(shard, "weights")
    for key, inner in _pairs(value):
        if key == "auto_map" or (key == "trust_remote_code" and inner):
            yield f"names code of its own ({key})"
        elif key in (
            "activation_function",
            "activation_fn",
            "sbert_ce_default_activation_function",
        ):
            if isinstance(inner, str) and "." in inner and not inner.startswith("torch.nn."):
                yield f"{key} {inner}: not torch's own"
        elif key in ("attn_implementation", "_attn_implementation") and "/" in str(inner):
            yield f"{key} {inner}: code of the hub"
        elif key == "tokenizer_class" and isinstance(inner, str) and "." in inner:
            yield from _foreign_class(inner)
        elif key == "types" and path.name in ("router_config.json", "config.json"):
            for name, kind in inner.items() if isinstance(inner, dict) else ():
                yield from _foreign_class(kind)
                yield from _outside(name)


def _foreign_class(name: object) -> Iterator[str]:
    if not (isinstance(name, str) and name.startswith(_OWN)):
        yield f"module {name!r} is not sentence-transformers' own"


def _outside(path: object, what: str = "module") -> Iterator[str]:
    found = PurePosixPath(path.replace("\\", "/")) if isinstance(path, str) else None
    if found is None or found.is_absolute() or ".." in found.parts:
        yield f"{what} in {path!r}, outside the folder"
    elif len(found.parts) > 2 or found.parts[:1] in {(name,) for name in _SKIPPED}:
        yield f"{what} in {path!r}, where none belongs"


def _pairs(value: object) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from _pairs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _pairs(inner)


def _files(folder: Path) -> list[Path]:
    """The files of a model: those of its folder and of its modules' folders, which may hold more.

    Hidden folders, and those of other formats and of checkpoints, are no modules' (`look`).
    """
    found, places = [], [folder]
    is_model = any(folder.glob("*.json"))  # else it may be anything, such as all of a disk
    for depth in range(_DEPTH + 1 if is_model else 2):
        entries = [path for place in places for path in sorted(place.iterdir())]
        found += [path for path in entries if path.is_file()]
        places = [path for path in entries if path.is_dir() and not path.name.startswith(".")]
        if depth == 0:
            places = [path for path in places if path.name not in _SKIPPED]
    return found


def _gguf_files(folder: Path) -> str:
    return ", ".join(sorted(file.name for file in folder.glob("*.gguf")))
