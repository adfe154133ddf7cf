"""A pretrained model is first a folder of files: located, looked at, and recognized by its bytes.

A folder can hold pickles or name code, and libraries obey. So every model, from a folder or the
hub, is looked at here before any library opens it.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from firth.encoders.packaged import advice, packaged
from firth.run.errors import FirthError, InputError, first_line
from firth.run.files import cache_folder, fingerprint_once, fingerprint_value, stamp_of, write_text
from firth.run.stage import MANIFEST

T = TypeVar("T")

MODULES = "modules.json"
"""The list of the modules of a sentence-transformers model."""
_SAFE = ("model.safetensors", "model.safetensors.index.json")
_PICKLES = (".bin", ".ckpt", ".pickle", ".pkl", ".pt", ".pth")
_NOT_READ = (*_PICKLES, ".gitattributes", ".gguf", ".h5", ".md", ".msgpack", ".onnx", ".png", ".py")
"""Files that no library reads of a model that is safetensors."""
_SETTINGS = (".json", ".model", ".txt", ".jinja")
_DEPTH = 4
"""Folders below a model's folder that are looked at."""
_MEMORY, _MEMORY_A_BYTE = 4 << 30, 24
"""Bytes of memory that any model gets, and for each byte of it: four bits become two float32."""
_NOT_LOOKED_AT = ("openvino", "checkpoints")
_PLACE = re.compile(rf"(?!{'|'.join(_NOT_LOOKED_AT)})(\w[\w.-]*(/\w[\w.-]*)?)?")
"""A path of a module or of weights: in the folder, at most two deep, and not hidden."""
_ARGUMENTS = re.compile(r"(model|tokenizer|processor|config)_(args|kwargs)")
_HARMLESS = {
    "add_pooling_layer", "attn_implementation", "dtype", "max_length", "model_max_length",
    "padding_side", "torch_dtype", "truncation_side",
}  # fmt: skip
"""Arguments that a model's settings may pass on to a library."""
_CODE = {"auto_map", "backbone", "custom_generate", "kernel_config", "trust_remote_code",
         "use_kernels", "use_timm_backbone"}  # fmt: skip
"""Settings by which a library runs code of a model, or downloads other code or weights."""
_NAMES_CLASS = re.compile(r"type|tokenizer_class|.*activation_f.*")
_CLASSES = ("sentence_transformers.", "torch.nn.")
"""What the dotted name of a class begins with that a library may import."""
_CROSS_ENCODER = re.compile(r"CrossEncoder|cross_encoder\.|SequenceClassification")
_OTHER = re.compile(
    r"SparseEncoder|sparse_encoder\.|MultiVectorEncoder|multi_vector_encoder\.|ColBERT"
    r"|LMHeadModel|For(CausalLM|TokenClassification|QuestionAnswering|MultipleChoice"
    r"|NextSentencePrediction|ImageClassification|AudioClassification|CTC|ObjectDetection)\b"
)


class ModelKind(StrEnum):
    """What a model is, by its files: a sentence encoder has a pooling, a bare encoder has none."""

    STATIC = "static"
    ONNX = "onnx"
    SENTENCE_ENCODER = "sentence-encoder"
    MASKED_LM = "masked-lm"
    CROSS_ENCODER = "cross-encoder"
    OTHER = "other"


@dataclass(frozen=True)
class PretrainedFiles:
    """The files of a pretrained model, which `look` has nothing against.

    The model is an absolute path, or a name on the hub with its revision. `file` is the ONNX
    file with the weights, relative to the folder; None for safetensors.
    """

    model: str
    folder: Path
    file: str | None = None

    @classmethod
    def find(cls, name: str) -> "PretrainedFiles":
        """Locate a model and look at its files; those of the hub are downloaded once.

        The name is that of a folder, of an ONNX file, of a model that an installed package brings,
        or of the hub (`owner/name` or `owner/name@revision`).
        """
        model, folder, file = _locate(name)
        has_safe = any((folder / safe).is_file() for safe in _SAFE)
        is_static = has_safe and _kind_of(folder, None) is ModelKind.STATIC
        if file is None and not is_static and not (has_safe and _has_torch()):
            file = _onnx_file(folder)
        look(folder, file)
        return cls(model, folder, file)

    @cached_property
    def kind(self) -> ModelKind:
        """What the model is; no library opens it."""
        return _kind_of(self.folder, self.file)

    @property
    def title(self) -> str:
        """The name of the folder, for tables."""
        is_onnx_file = self.model.endswith(".onnx")
        name = self.folder.resolve().name if is_onnx_file else Path(self.model).name
        return name.partition("@")[0] or name

    @cached_property
    def stamps(self) -> tuple[object, ...]:
        """What tells the files of the folder from any others; their bytes are not read."""
        return tuple((str(path), stamp_of(path)) for path in _files(self.folder))

    @property
    def memory(self) -> int:
        """Bytes of memory that opening the model may take."""
        return _MEMORY + _MEMORY_A_BYTE * sum(
            (self.folder / name).stat().st_size for name in self.files
        )

    @property
    def files(self) -> Mapping[str, str]:
        """Path inside the folder → fingerprint, of the files that decide the model's answers.

        Weights beside an ONNX file are named in it.
        """
        paths = _deciding(self.folder, self.file, self.stamps).items()
        return {name: fingerprint_once(path) for name, path in paths if path.is_file()}

    @property
    def fingerprint(self) -> str:
        """One fingerprint of all files; the place of the folder does not count."""
        return fingerprint_value(dict(self.files))

    def check(self, recorded: Mapping[str, str]) -> None:
        """Raise `InputError` unless `files` are the recorded ones; the message names the first."""
        for name in sorted({*recorded, *self.files}):
            if recorded.get(name) != self.files.get(name):
                problem = "has changed" if name in self.files else "is missing"
                raise InputError(
                    f"{self.folder / name} {problem}; the run was built with another model. Put "
                    "the file back, or build the run again: firth build"
                )


@lru_cache(maxsize=64)
def _deciding(folder: Path, file: str | None, _: tuple[object, ...]) -> Mapping[str, Path]:
    """Return name → path of what decides a model's answers; the stamps say when to look again."""
    paths = _files(folder)
    if file:
        weights = folder / file
        content = weights.read_bytes() if weights.suffix == ".onnx" else b""
        deciding = {path for path in paths if path.suffix in _SETTINGS}
        deciding |= {path for path in paths if path.name.encode() in content} | {weights}
    else:
        deciding = {path for path in paths if not path.name.endswith(_NOT_READ)}
    names = {path.relative_to(folder).as_posix(): path for path in sorted(deciding)}
    names.pop(MANIFEST, None)  # of firth, beside a copy
    return names


def _locate(name: str) -> tuple[str, Path, str | None]:
    """Return the full name of a model, its folder, and the file that the name ends with."""
    path = Path(name)
    if os.path.isdir(name):
        return str(path.resolve()), path, None
    if os.path.isfile(name) and path.suffix == ".onnx":
        # `FOLDER/onnx/model.onnx` belongs to FOLDER, which has the tokenizer.
        inner = path.parent.name == "onnx" and (path.parents[1] / "tokenizer.json").is_file()
        folder = path.parents[1] if inner else path.parent
        return str(path.resolve()), folder, path.relative_to(folder).as_posix()
    if (folder_of_package := packaged(name)) is not None:
        return name, folder_of_package, None
    safe, onnx = ["*.safetensors"], ["*model.onnx", "*model.onnx_data"]
    model, folder = _download(name, safe if _has_torch() else onnx)
    return model, folder, None


def _download(name: str, weights: list[str]) -> tuple[str, Path]:
    """Return the name with its revision, and the folder, of a model of the hub.

    The folder has settings, and weights of some patterns. The commit that was downloaded first is
    kept: from then on the name is that commit, and no network is needed.
    """
    from huggingface_hub import snapshot_download

    repository, _, revision = name.partition("@")
    patterns = [*weights, *(f"*{suffix}" for suffix in _SETTINGS)]
    pin = cache_folder() / "hub" / fingerprint_value([name, weights])
    options: dict[str, Any] = {"revision": revision or None}
    if pin.is_file():
        options = {"revision": pin.read_text(encoding="utf-8"), "local_files_only": True}
    try:
        try:
            folder = Path(snapshot_download(repository, allow_patterns=patterns, **options))
        except Exception:
            if not options.pop("local_files_only", False):
                raise
            folder = Path(snapshot_download(repository, allow_patterns=patterns, **options))
    except Exception as error:
        raise InputError(
            f"{name!r}: neither a folder, a model that a package brings, nor a model on the hub "
            f"({first_line(error)}). {advice(name)}"
        ) from error
    pin.parent.mkdir(parents=True, exist_ok=True)
    write_text(pin, folder.name)
    return f"{repository}@{folder.name}", folder


def _has_torch() -> bool:
    return find_spec("torch") is not None and find_spec("sentence_transformers") is not None


def opened(name: str, what: str, load: Callable[[], T]) -> T:
    """Return `load()`; any error of a library becomes an `InputError`: expected was `what`."""
    try:
        return load()
    except (FirthError, MemoryError):
        raise
    except BaseException as error:
        # A panic in Rust is no `Exception`.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        problem = first_line(error)
        if "weights_only" in str(error):  # torch says how to run the code of a pickle.
            problem = "it has a pickle, and pickles are never opened"
        raise InputError(f"{name}: cannot be opened: {problem}. Expected {what}") from error


# --- Looking -----------------------------------------------------------------------------------


def look(folder: Path, file: str | None = None) -> None:
    """Look at the files of a model before any library does; `file` has the weights of ONNX.

    An `InputError` names all that speaks against opening it: no weights that can be opened without
    running code, pickles that a module would read, modules of other packages or outside the folder,
    and settings that name code.
    """
    problems, paths = list[str](), _files(folder)
    if paths and file is None and not any(p.suffix in (".safetensors", ".onnx") for p in paths):
        problems.append("it has no .safetensors file (pickles are never opened)")
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".json" and path.name != "tokenizer.json":  # Its keys are words.
            problems += [f"{name}: {problem}" for problem in _settings_problems(path)]
        elif path.suffix in _PICKLES and not (file or (path.parent / _SAFE[0]).is_file()):
            problems.append(f"{name}: a module would read it, and pickles are never opened")
    if any(path.name == "adapter_config.json" for path in paths):
        problems.append("it is an adapter of a model that is elsewhere. Merge the two first")
    if problems or not paths:
        listed = "; ".join(problems) or "it is empty"
        raise InputError(f"{folder.resolve()}: this model is not opened: {listed}")


def _settings_problems(path: Path) -> Iterator[str]:
    """Yield what in a JSON file would make a library run code, or read outside the folder."""
    value = plain_json(path)
    if path.name.endswith(".index.json"):
        shards = dict(_pairs(value)).get("weight_map")
        for shard in sorted(set(map(str, shards.values()))) if isinstance(shards, dict) else ():
            if not (_PLACE.fullmatch(shard) and shard.endswith(".safetensors")):
                yield f"weights in {shard!r:.80}, which is no .safetensors file of the folder"
        return
    is_modules = path.name == MODULES
    for key, inner in _pairs(value):
        types = inner.items() if key == "types" and isinstance(inner, dict) else ()
        classes = [kind for _, kind in types]
        if _NAMES_CLASS.fullmatch(key) and (is_modules or "." in str(inner)):
            classes.append(inner)
        for name in classes:
            if not str(name).startswith(_CLASSES):
                yield f"class {name!r:.80} is not from sentence-transformers"
        for place in [place for place, _ in types] + [inner] * (is_modules and key == "path"):
            if not _PLACE.fullmatch(str(place)):
                yield f"module in {place!r:.80}, outside the folder or not looked at"
        if key in _CODE and inner:
            yield f"{key} {inner!r:.80} runs code, or reaches outside the folder"
        elif key.endswith("attn_implementation") and "/" in str(inner):
            yield f"{key} {inner!r:.80} is code of the hub"
        elif _ARGUMENTS.fullmatch(key):
            for name in sorted((set(inner) if isinstance(inner, dict) else {key}) - _HARMLESS):
                yield f"{key} passes {name!r:.80} on to a library"
        elif key == "method" and path.name.startswith("sentence_") and inner != "forward":
            yield f"it calls the method {inner!r:.80}"


def _pairs(value: object) -> Iterator[tuple[str, Any]]:
    """Yield every key of a JSON value with what it names, at any depth."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            yield from inner.items()
            waiting += inner.values()
        elif isinstance(inner, list):
            waiting += inner


def _files(folder: Path) -> list[Path]:
    """Return the files in the folder of a model, and in the folders of its modules.

    Folders that are hidden, of other formats or of checkpoints belong to no module (`_PLACE`).
    """
    files, folders = list[Path](), [folder]
    is_model = any(folder.glob("*.json"))  # Else it may be anything, such as a whole disk.
    for depth in range(_DEPTH + 1 if is_model else 2):
        entries = [path for place in folders for path in sorted(place.iterdir())]
        files += [path for path in entries if path.is_file()]
        folders = [path for path in entries if path.is_dir() and not path.name.startswith(".")]
        if depth == 0:
            folders = [path for path in folders if path.name not in _NOT_LOOKED_AT]
    return files


def plain_json(path: Path) -> Any:
    """Return the value of a JSON file; None where it is not valid."""
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return None


def json_object(path: Path) -> Mapping[str, Any]:
    """Return the object of a JSON file; an empty one where it holds none."""
    value = plain_json(path)
    return value if isinstance(value, dict) else {}


# --- Kinds -------------------------------------------------------------------------------------


def _onnx_file(folder: Path) -> str | None:
    """Return the ONNX file of a folder; raise `InputError` where it is not clear which."""
    names = sorted(p.relative_to(folder).as_posix() for p in _files(folder) if p.suffix == ".onnx")
    usual = [name for name in ("model.onnx", "onnx/model.onnx") if name in names]
    if len(names) > 1 and not usual:
        raise InputError(f"{folder}: has several ONNX files. Name one of them: {', '.join(names)}")
    return next(iter([*usual, *names]), None)


def _kind_of(folder: Path, file: str | None) -> ModelKind:
    if file is not None:
        return ModelKind.ONNX
    has_modules = (folder / MODULES).is_file()
    modules, config = modules_of(folder), json_object(folder / "config.json")
    model_type = str(json_object(folder / "config_sentence_transformers.json").get("model_type"))
    names = config.get("architectures")
    architecture = str(names[0]) if isinstance(names, list) and names else ""
    types = [kind for kind, _ in modules]
    about = " ".join([model_type, *types] if has_modules else [model_type, architecture])
    if _CROSS_ENCODER.search(about):
        return ModelKind.CROSS_ENCODER
    if _OTHER.search(about):
        return ModelKind.OTHER
    if has_modules:
        names = [kind.rpartition(".")[2] for kind in types]
        is_static = names in (["StaticEmbedding"], ["StaticEmbedding", "Normalize"])
        return ModelKind.STATIC if is_static else ModelKind.SENTENCE_ENCODER
    return ModelKind.MASKED_LM


def modules_of(folder: Path) -> list[tuple[str, str]]:
    """Return class and folder of each module of a sentence-transformers model, in order."""
    modules = plain_json(folder / MODULES)
    entries = modules if isinstance(modules, list) else []
    return [
        (str(entry.get("type")), str(entry.get("path") or ""))
        for entry in entries
        if isinstance(entry, dict)
    ]
