"""The one loader of models that firth did not just make: looked at first, then opened, known again.

A folder can hold pickles, or name code of its own; libraries run either. So every model, of a hub
or of a folder, is first a folder of files that is looked at, and only then given to a library.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

from firth.run.errors import InputError, MissingExtraError
from firth.run.files import fingerprint_file, fingerprint_value
from firth.run.hub import hub_is_reachable
from firth.run.model_kind import MODULES, WITHOUT_VECTORS, ModelKind, kind_in, plain_json
from firth.run.quiet import quiet_libraries
from firth.run.section import Pooling
from firth.run.stage import MANIFEST, handed

if TYPE_CHECKING:
    import torch
    from sentence_transformers import CrossEncoder, SentenceTransformer
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

T = TypeVar("T")
_WEIGHTS = ".safetensors"
_KEPT = (_WEIGHTS, ".json", ".model", ".txt", ".jinja")
_OTHER_FORMATS = ("onnx/*", "openvino/*", "*.bin", "*.h5", "*.msgpack", "*.ot", "*.pt")
_OWN = "sentence_transformers."
_PICKLED = "pytorch_model.bin"
"""What modules of sentence-transformers read where they have no weights as safetensors."""
_DEPTH = 4
"""Folders below a model's own that are looked at: a module, its routes, and those of a route."""
_SKIPPED = ("onnx", "openvino", "checkpoints")
# What libraries raise on files that are not what their names say.
_FAILURES = (
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
        folder = find_model(model, gguf_file)
        look(folder, gguf_file)
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
    except _FAILURES as error:
        reach = f" on the hub ({_reason(error)})"
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


def kind_of(name: str, gguf_file: str | None = None) -> ModelKind:
    """What the model of a folder or hub name is, by its files; nothing is opened.

    Raises:
        InputError: There is no such model, or it is refused by `look`.
    """
    return kind_in(_looked_at(name, gguf_file), gguf_file)


def encoder_kind(name: str, gguf_file: str | None = None) -> ModelKind:
    """As `kind_of`, of a model that has vectors for sentences; raise `InputError` for others."""
    kind = kind_of(name, gguf_file)
    _refuse_others(name, kind)
    return kind


def open_encoder(
    name: str, device: str | None = "cpu", pooling: Pooling | None = None
) -> "SentenceTransformer":
    """A sentence encoder by folder or hub name, in float32.

    A sentence-transformers model is used as it is, with its own pooling; any other encoder gets
    mean pooling of its last layer, or that which is asked for.

    Args:
        name: Folder or hub name.
        device: Where to put it; None for what `firth.run.precision.device` says.
        pooling: Of a bare encoder.

    Raises:
        InputError: It is refused by `look`, is no sentence encoder (a bare causal language model is
            none, nor are modules without pooling), or cannot be loaded; or `pooling` is given for a
            model that has its own.
    """
    folder = _looked_at(name)
    kind = kind_in(folder)
    _refuse_others(name, kind)
    if kind is ModelKind.CAUSAL_LM:
        raise InputError(
            f"{name}: a causal language model, which was not made to give sentences vectors: the "
            "mean of its states says little. Make it what an Origin reads with: firth train "
            f"context --model {name}; score it as it is as baseline:prompt-eol@{name}"
        )
    if pooling is not None and (folder / MODULES).is_file():
        raise InputError(
            f"{name}: got pooling {pooling} for a sentence-transformers model, which has its own. "
            "Leave the pooling out"
        )

    def load() -> "SentenceTransformer":
        import torch
        from sentence_transformers import SentenceTransformer

        options = {"dtype": torch.float32, "use_safetensors": True}
        model = SentenceTransformer(
            str(folder), model_kwargs=options, local_files_only=True, device=_chosen(device)
        )
        _need_pooling(model, name)
        return model if pooling in (None, Pooling.MEAN) else _repooled(model, pooling)

    return _opened(name, "a sentence encoder, such as roberta-base", load)


def _need_pooling(model: "SentenceTransformer", name: str) -> None:
    """Raise `InputError` unless a sentence gets one vector."""
    import torch

    features = model.preprocess(["a sentence"])
    moved: dict[str, Any] = {
        key: value.to(model.device) if isinstance(value, torch.Tensor) else value
        for key, value in features.items()
    }
    with torch.no_grad():
        found = model(moved).get("sentence_embedding")
    if not isinstance(found, torch.Tensor) or found.ndim != 2:
        raise InputError(
            f"{name}: it has no pooling, so that a sentence has no vector of its own. Put a "
            "Pooling module behind it, or give its bare Transformer's folder, which gets mean "
            "pooling"
        )


def _repooled(model: "SentenceTransformer", pooling: Pooling | None) -> "SentenceTransformer":
    """A bare Transformer, which the library gave mean pooling, with another one."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling as Tokens
    from sentence_transformers.sentence_transformer.modules import WeightedLayerPooling

    transformer: Any = model[0]
    width = transformer.get_embedding_dimension()
    if pooling is Pooling.CLS:
        rest = [Tokens(width, "cls")]
    else:
        layers = transformer.model.config.num_hidden_layers
        weights = torch.zeros(layers)
        weights[[0, -1]] = 1.0
        transformer.model.config.output_hidden_states = True
        weighted = WeightedLayerPooling(width, layers, 1, torch.nn.Parameter(weights))
        rest = [weighted, Tokens(width, "mean")]
    return SentenceTransformer(
        modules=[transformer, *rest], device=str(model.device), local_files_only=True
    )


def find_cross_encoder(name: str) -> Path:
    """The files of a cross-encoder, or of an encoder to make one of; nothing is opened.

    Raises:
        InputError: It is refused by `look`, or is a model of another kind.
    """
    folder = _looked_at(name)
    kind = kind_in(folder)
    usable = (ModelKind.CROSS_ENCODER, ModelKind.MASKED_LM, ModelKind.SENTENCE_ENCODER)
    reads = (folder / "config.json").is_file()
    if kind not in usable or not reads:
        what = f"a {kind}" if reads else "no Transformer, which could read two texts at once"
        raise InputError(f"{name}: {what}; expected a cross-encoder, or an encoder to make one of")
    return folder


def open_cross_encoder(name: str, device: str | None = "cpu") -> "CrossEncoder":
    """A cross-encoder by folder or hub name, in float32; an encoder gets a new head of one output.
    `device` None is what `firth.run.precision.device` says.

    Raises:
        InputError: As `find_cross_encoder`, or it cannot be loaded.
    """
    folder = find_cross_encoder(name)

    def load() -> "CrossEncoder":
        import torch
        from sentence_transformers import CrossEncoder

        options = {"dtype": torch.float32, "use_safetensors": True}
        found: CrossEncoder = CrossEncoder(
            str(folder), model_kwargs=options, local_files_only=True, device=_chosen(device)
        )
        return found

    return _opened(name, "a cross-encoder", load)


def _chosen(device: str | None) -> str:
    from firth.run import precision

    return device or str(precision.device())


def open_transformer(name: str) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """A Transformer without a task, and its tokenizer, by folder or hub name, in float32.

    Raises:
        InputError: It is refused by `look`, or cannot be loaded.
    """
    folder = _looked_at(name)

    def load() -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
        import torch
        from transformers import AutoModel, AutoTokenizer

        model: Any = AutoModel
        network = model.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, dtype=torch.float32
        )
        return network.eval(), AutoTokenizer.from_pretrained(folder, local_files_only=True)

    return _opened(name, "a BERT, RoBERTa or the like", load)


def open_causal_lm(
    name: str, gguf_file: str | None, dtype: "torch.dtype", device: "torch.device"
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """A causal language model and its tokenizer by folder or hub name.

    Args:
        name: Folder or hub name.
        gguf_file: A GGUF file in it; its weights are turned back into floating-point numbers.
        dtype: Number format of the weights.
        device: Where to put them.

    Raises:
        InputError: It is refused by `look`, or cannot be loaded.
        MissingExtraError: A GGUF file needs the package gguf.
    """
    folder = _looked_at(name, gguf_file)

    def load() -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
        import transformers

        hub: Any = transformers  # mypy: parts of it are untyped
        more = {"gguf_file": gguf_file} if gguf_file else {}
        tokenizer = hub.AutoTokenizer.from_pretrained(folder, local_files_only=True, **more)
        if gguf_file:
            return _dequantised(folder, gguf_file), tokenizer
        network = hub.AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, use_safetensors=True, local_files_only=True
        )
        return network, tokenizer

    what = "a causal language model" + (f" as GGUF file {gguf_file}" if gguf_file else "")
    model, tokenizer = _opened(name, what, load)
    network: Any = model
    return network.to(dtype=dtype, device=device).eval(), tokenizer


def _dequantised(folder: Path, gguf_file: str) -> "PreTrainedModel":
    """A GGUF model as an ordinary one: the loaded one remembers that it was quantised."""
    import torch
    import transformers

    hub: Any = transformers
    loaded = hub.AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=gguf_file, dtype=torch.float32, local_files_only=True
    )
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain: PreTrainedModel = hub.AutoModelForCausalLM.from_config(config)
    plain.load_state_dict(loaded.state_dict())
    plain.tie_weights()
    return plain


def _looked_at(name: str, gguf_file: str | None = None) -> Path:
    folder = find_model(name, gguf_file)
    look(folder, gguf_file)
    return folder


def _opened(name: str, what: str, load: Callable[[], T]) -> T:
    from huggingface_hub.errors import StrictDataclassError
    from safetensors import SafetensorError

    try:
        with quiet_libraries(), redirect_stderr(StringIO()):  # some bars know no switch
            return load()
    except Exception as error:
        known = isinstance(error, (*_FAILURES, SafetensorError, StrictDataclassError))
        if not known and type(error) is not Exception:  # tokenizers raise nothing more special
            raise
        raise InputError(
            f"{name}: cannot be opened: {_reason(error)}. Expected the folder or hub name of {what}"
        ) from error


def _refuse_others(name: str, kind: ModelKind) -> None:
    if problem := WITHOUT_VECTORS.get(kind):
        raise InputError(f"{name}: {problem}. Expected a sentence encoder")


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


def _reason(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".:")
