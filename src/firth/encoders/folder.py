"""A pretrained model is first a folder of files: located, looked at, and recognized by its bytes.

A folder can hold pickles, name code, or make a library read or write elsewhere, and libraries obey.
So every model, from a folder or the hub, is looked at here before any library opens it.
"""

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from firth.encoders.packaged import advice, packaged, packaged_gguf
from firth.run.errors import FirthError, InputError, first_line
from firth.run.files import fingerprint_file, fingerprint_value, is_inside
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
_GROWTH, _LAYERS = 1_000, 1_000
"""A normalizer may make a text so many times as long; a network may have so many layers."""
_COUNTS_LAYERS = re.compile(r"(num|n)_.*layers?|n_layer|.*_layers")
_LENGTHS = ("max_seq_length", "model_max_length")
_NOT_LOOKED_AT = ("openvino", "checkpoints")
_LOCATION = re.compile(rb"\n\x08location\x12([\x01-\x7f])")
"""An entry of ONNX, and the length of the name that follows."""
_ARGUMENTS = re.compile(r"(model|tokenizer|processor|config)_(args|kwargs)")
_HARMLESS = {
    "add_pooling_layer", "attn_implementation", "dtype", "max_length", "model_max_length",
    "padding_side", "torch_dtype", "truncation_side",
}  # fmt: skip
"""Arguments that a model's settings may pass on to a library."""
_REACHING = {
    "backbone", "cache_dir", "custom_generate", "key_mapping", "kernel_config", "offload_folder",
    "use_kernels", "use_pretrained_backbone", "use_timm_backbone",
}  # fmt: skip
"""Settings by which transformers downloads another model, makes folders, or matches patterns."""
_CROSS_ENCODER = re.compile(r"CrossEncoder|cross_encoder\.|SequenceClassification")
_OTHER = re.compile(
    r"SparseEncoder|sparse_encoder\.|MultiVectorEncoder|multi_vector_encoder\.|ColBERT|For("
    "TokenClassification|QuestionAnswering|MultipleChoice|NextSentencePrediction"
    "|ImageClassification|AudioClassification|CTC|ObjectDetection)\\b"
)


class ModelKind(StrEnum):
    """What a model is, by its files: a sentence encoder has a pooling, a bare encoder has none."""

    STATIC = "static"
    ONNX = "onnx"
    SENTENCE_ENCODER = "sentence-encoder"
    MASKED_LM = "masked-lm"
    CAUSAL_LM = "causal-lm"
    CROSS_ENCODER = "cross-encoder"
    OTHER = "other"


@dataclass(frozen=True)
class PretrainedFiles:
    """The files of a pretrained model, which `look` has nothing against.

    The model is an absolute path, or a name on the hub. `file` is the GGUF or ONNX file with the
    weights, relative to the folder; None for safetensors.
    """

    model: str
    folder: Path
    file: str | None = None

    @classmethod
    def find(cls, name: str) -> "PretrainedFiles":
        """Locate a model and look at its files; those of the hub are downloaded if need be.

        The name is that of a folder, of a GGUF or ONNX file, of a model that an installed package
        brings, or of the hub (`owner/name`), to which a GGUF file may be added
        (`owner/name/file.gguf`).
        """
        folder, file = _locate(name)
        has_safe = _has_any(folder, *_SAFE)
        is_static = has_safe and _kind_of(folder, None) is ModelKind.STATIC
        if file is None and not is_static and not (has_safe and _has_torch()):
            file = _onnx_file(folder)
        look(folder, file)
        return cls(str(Path(name).resolve()) if os.path.exists(name) else name, folder, file)

    @cached_property
    def kind(self) -> ModelKind:
        """What the model is; no library opens it."""
        return _kind_of(self.folder, self.file)

    @property
    def reads_pairs(self) -> bool:
        """Whether it is a Transformer that can read two texts in one input."""
        kinds = (ModelKind.CROSS_ENCODER, ModelKind.MASKED_LM, ModelKind.SENTENCE_ENCODER)
        return self.kind in kinds and (self.folder / "config.json").is_file()

    @property
    def title(self) -> str:
        """The name of the folder, or of a GGUF file, for tables."""
        is_onnx_file = self.model.endswith(".onnx")
        return self.folder.resolve().name if is_onnx_file else Path(self.model).name

    @cached_property
    def files(self) -> Mapping[str, str]:
        """Path inside the folder → fingerprint, of the files that decide the model's answers.

        Weights beside an ONNX file are named in it.
        """
        found = _files(self.folder)
        if self.file:
            weights = self.folder / self.file
            said = weights.read_bytes() if weights.suffix == ".onnx" else b""
            deciding = {path for path in found if path.suffix in _SETTINGS}
            deciding |= {path for path in found if path.name.encode() in said} | {weights}
            deciding |= {path for path in _outer_weights(weights, said) if path.is_file()}
        else:
            deciding = {path for path in found if not path.name.endswith(_NOT_READ)}
        deciding = {path for path in deciding if path.name != MANIFEST}  # firth's, of a copy
        names = {path.relative_to(self.folder).as_posix(): path for path in deciding}
        return {name: fingerprint_file(names[name]) for name in sorted(names)}

    @property
    def fingerprint(self) -> str:
        """One fingerprint of all files; the place of the folder does not count."""
        return fingerprint_value(dict(self.files))

    def check(self, known: Mapping[str, str]) -> None:
        """Raise `InputError` unless `files` are the `known` ones; the message names the first."""
        for name in sorted({*known, *self.files}):
            if known.get(name) != self.files.get(name):
                problem = "has changed" if name in self.files else "is missing"
                raise InputError(
                    f"{self.folder / name} {problem}; the run was built with another model. Put "
                    "the file back, or build the run again: firth build"
                )


def _outer_weights(weights: Path, said: bytes) -> Iterator[Path]:
    """Yield the files that an ONNX file names for its weights, those in hidden folders, too."""
    for match in _LOCATION.finditer(said):
        name = said[match.end() : match.end() + match[1][0]].decode(errors="replace")
        if is_inside(name):
            yield weights.parent / name


def _locate(name: str) -> tuple[Path, str | None]:
    """Return the folder of a model, and the file that the name ends with."""
    path = Path(name)
    if os.path.isdir(name):
        return path, None
    if os.path.isfile(name) and path.suffix in (".gguf", ".onnx"):
        # `FOLDER/onnx/model.onnx` belongs to FOLDER, which has the tokenizer.
        inner = path.parent.name == "onnx" and (path.parents[1] / "tokenizer.json").is_file()
        folder = path.parents[1] if inner else path.parent
        return folder, path.relative_to(folder).as_posix()
    if (folder_of_package := packaged(name)) is not None:
        return folder_of_package, None
    if (brought := packaged_gguf(name)) is not None:
        return brought.parent, brought.name
    if path.suffix == ".gguf" and len(path.parts) == 3 and not path.is_absolute():
        return _download("/".join(path.parts[:2]), path.name), path.name
    return _download(name, "*.safetensors" if _has_torch() else "*model.onnx"), None


def _download(name: str, weights: str) -> Path:
    """Return the folder of a model of the hub, with its settings and the weights of a pattern."""
    from huggingface_hub import snapshot_download

    wanted = [weights, *(f"*{suffix}" for suffix in _SETTINGS)]
    try:
        return Path(snapshot_download(name, allow_patterns=wanted))
    except Exception as error:
        raise InputError(
            f"{name!r}: neither a folder, a model that a package brings, nor a model on the hub "
            f"({first_line(error)}). {advice(name)}"
        ) from error


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
    """Look at the files of a model before any library does; `file` has the weights of GGUF or ONNX.

    An `InputError` names all that speaks against opening it: no weights that can be opened without
    running code, pickles that a module would read, modules of other packages or outside the folder,
    settings that name code or reach elsewhere.
    """
    problems, files = [], _files(folder)
    if file is None and not any(path.suffix in (".safetensors", ".onnx") for path in files):
        problems.append("it has no .safetensors file (pickles are never opened)")
        if any(folder.glob("*.gguf")):
            problems.append("name one of its GGUF files")
    for path in files:
        shown = path.relative_to(folder).as_posix()
        if path.suffix == ".json" and path.name != "tokenizer.json":  # Its keys are words.
            problems += [f"{shown}: {problem}" for problem in _settings_problems(path)]
        elif path.name == "tokenizer.json":
            problems += [f"{shown}: {problem}" for problem in _growth(plain_json(path))]
        elif path.suffix in _PICKLES and not (file or (path.parent / _SAFE[0]).is_file()):
            problems.append(f"{shown}: a module would read it, and pickles are never opened")
    if any(path.name == "adapter_config.json" for path in files):
        problems.append("it is an adapter of a model that is elsewhere. Merge the two first")
    if problems:
        raise InputError(f"{folder.resolve()}: this model is not opened: {'; '.join(problems)}")


def _has_any(folder: Path, *names: str) -> bool:
    return any((folder / name).is_file() for name in names)


def _settings_problems(path: Path) -> Iterator[str]:
    """Yield what in a JSON file would make a library run, read or make other things."""
    value = plain_json(path)
    if path.name == MODULES:
        for module in value if isinstance(value, list) else [value]:
            known = module if isinstance(module, dict) else {}
            yield from _foreign_class(known.get("type"))
            yield from _outside(known.get("path"), "module")
    if path.name.endswith(".index.json"):
        shards = dict(_pairs(value)).get("weight_map")
        for shard in sorted(set(map(str, shards.values()))) if isinstance(shards, dict) else ():
            yield from _outside(shard, "weights")
            if not shard.endswith(".safetensors"):
                yield f"weights in {shard!r}, which is no .safetensors file"
        return
    for key, inner in _pairs(value):
        yield from _key_problems(key, inner, path.name)


def _key_problems(key: str, value: Any, file: str) -> Iterator[str]:
    """Yield what speaks against one setting, wherever it is."""
    is_text = isinstance(value, str)
    if key == "auto_map" or (key == "trust_remote_code" and value):
        yield f"it names code ({key})"
    elif key in _REACHING and value:
        yield f"{key} {value!r:.80} reaches outside the folder"
    elif _ARGUMENTS.fullmatch(key):
        for name in (set(value) if isinstance(value, dict) else {key}) - _HARMLESS:
            yield f"{key} passes {name!r:.80} on to a library"
    elif key == "method" and file.startswith("sentence_") and value != "forward":
        yield f"it calls the method {value!r:.80}"
    elif "activation_f" in key and is_text and "." in value and not value.startswith("torch.nn."):
        yield f"{key} {value:.80} is not from torch"
    elif _COUNTS_LAYERS.fullmatch(key) and isinstance(value, int) and value > _LAYERS:
        yield f"{key} is {value:,}; expected {_LAYERS:,} at most"
    elif key in _LENGTHS and not isinstance(value, int | float | None):
        yield f"{key} is {value!r:.80}; expected a number"
    elif key.endswith("attn_implementation") and "/" in str(value):
        yield f"{key} {value!r:.80} is code of the hub"
    elif key == "tokenizer_class" and is_text and "." in value:
        yield from _foreign_class(value)
    elif key == "types" and isinstance(value, dict):
        for name, kind in value.items():
            yield from _foreign_class(kind)
            yield from _outside(name, "module")


def _growth(tokenizer: object) -> Iterator[str]:
    """Yield that a normalizer makes a text much longer: a few nested ones fill any memory."""
    normalizer = tokenizer.get("normalizer") if isinstance(tokenizer, dict) else None
    sizes = [
        len(inner)
        for key, inner in _pairs(normalizer)
        if key in ("content", "prepend") and isinstance(inner, str)
    ]
    if math.prod(max(1, size) for size in sizes) > _GROWTH:
        yield f"its normalizer makes a text more than {_GROWTH:,} times as long"


def _foreign_class(name: object) -> Iterator[str]:
    if not (isinstance(name, str) and name.startswith("sentence_transformers.")):
        yield f"class {name!r:.80} is not from sentence-transformers"


def _outside(path: object, what: str) -> Iterator[str]:
    inner = PurePosixPath(path.replace("\\", "/")) if isinstance(path, str) else None
    if inner is None or inner.is_absolute() or ".." in inner.parts:
        yield f"{what} in {path!r:.80}, outside the folder"
    elif (
        len(inner.parts) > 2
        or inner.parts[:1] in {(name,) for name in _NOT_LOOKED_AT}
        or any(part.startswith(".") for part in inner.parts)
    ):
        yield f"{what} in {path!r:.80}, which is not looked at"


def _pairs(value: object) -> Iterator[tuple[str, Any]]:
    """Yield every key of a JSON value with what it names, at any depth."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield from one.items()
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _files(folder: Path) -> list[Path]:
    """Return the files of a model, those of its modules' folders included.

    Folders that are hidden, of other formats or of checkpoints belong to no module (`_outside`).
    """
    files, folders = [], [folder]
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
        return json.loads(path.read_text(encoding="utf-8"))
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
        return ModelKind.ONNX if file.endswith(".onnx") else ModelKind.CAUSAL_LM
    has_modules = (folder / MODULES).is_file()
    modules, config = modules_of(folder), json_object(folder / "config.json")
    said = json_object(folder / "config_sentence_transformers.json").get("model_type")
    named = config.get("architectures")
    architecture = str(named[0]) if isinstance(named, list) and named else ""
    types = [kind for kind, _ in modules]
    about = " ".join([str(said), *types] if has_modules else [str(said), architecture])
    if _CROSS_ENCODER.search(about):
        return ModelKind.CROSS_ENCODER
    if _OTHER.search(about):
        return ModelKind.OTHER
    if has_modules:
        names = [each.rpartition(".")[2] for each in types]
        is_static = names in (["StaticEmbedding"], ["StaticEmbedding", "Normalize"])
        return ModelKind.STATIC if is_static else ModelKind.SENTENCE_ENCODER
    if architecture.endswith(("ForCausalLM", "LMHeadModel")):
        return ModelKind.CAUSAL_LM
    if "MaskedLM" in architecture or not _has_torch():
        return ModelKind.MASKED_LM
    from transformers.models.auto import modeling_auto

    left_to_right = config.get("model_type") in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    both_ways = config.get("model_type") in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    return ModelKind.CAUSAL_LM if left_to_right and not both_ways else ModelKind.MASKED_LM


def modules_of(folder: Path) -> list[tuple[str, str]]:
    """Return class and folder of each module of a sentence-transformers model, in order."""
    modules = plain_json(folder / MODULES)
    known = [one for one in modules if isinstance(one, dict)] if isinstance(modules, list) else []
    return [(str(one.get("type")), str(one.get("path") or "")) for one in known]
