"""Pretrained causal language models by folder or hub name: loading them, knowing them again."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from firth.artifacts import fingerprint_file, fingerprint_value
from firth.errors import InputError, MissingExtraError
from firth.progress import without_foreign_bars
from firth.reach import hub_in_reach

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_WEIGHTS = ".safetensors"
_KEPT = (_WEIGHTS, ".json", ".model", ".txt", ".jinja")
_FAILURES = (OSError, ValueError, KeyError, RuntimeError, ImportError, AttributeError)


@dataclass(frozen=True)
class PretrainedFiles:
    """The files that decide what a pretrained model answers.

    Attributes:
        model: Absolute path of its folder, or its name on the hub.
        gguf_file: The GGUF file inside it, if the weights come as one.
        files: Name → (bytes, fingerprint).
    """

    model: str
    gguf_file: str | None
    files: Mapping[str, tuple[int, str]]

    @classmethod
    def find(cls, model: str, gguf_file: str | None = None) -> "PretrainedFiles":
        """Find and fingerprint the files of a model; from the hub they are downloaded if need be.

        Raises:
            InputError: There is no such model, or it has no weights that can be opened.
        """
        folder = _folder(model, gguf_file)
        _need_weights(folder, gguf_file)
        names = [path.name for path in sorted(folder.iterdir()) if path.suffix in _KEPT]
        if gguf_file is not None:
            names = [name for name in names if not name.endswith(".safetensors")] + [gguf_file]
        files = {
            name: ((folder / name).stat().st_size, fingerprint_file(folder / name))
            for name in names
        }
        where = str(Path(model).resolve()) if Path(model).is_dir() else model
        return cls(where, gguf_file, files)

    @property
    def fingerprint(self) -> str:
        """One fingerprint of all files."""
        return fingerprint_value({name: list(known) for name, known in self.files.items()})

    def check(self) -> None:
        """Raise `InputError` if a file is gone or has another size than it had."""
        folder = _folder(self.model, self.gguf_file)
        for name, (size, _) in self.files.items():
            path = folder / name
            got = path.stat().st_size if path.is_file() else None
            if got != size:
                found = "is gone" if got is None else f"has {got} bytes, not {size}"
                raise InputError(
                    f"{path} {found}: the model is not the one that this run adopted. "
                    "Put it back, or adopt the new one: firth train generator --run RUN"
                )


def load_pretrained(
    model: str, gguf_file: str | None, dtype: torch.dtype, device: torch.device
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """Load a causal language model and its tokenizer. Pickled weights and remote code are refused.

    Args:
        model: Folder or hub name.
        gguf_file: A GGUF file in it; its weights are turned back into floating-point numbers.
        dtype: Number format of the weights.
        device: Where to put them.

    Raises:
        InputError: It cannot be loaded; the message names what was tried.
        MissingExtraError: A GGUF file needs the package gguf.
    """
    hub = _transformers()
    path = Path(model)
    options: dict[str, Any] = {"local_files_only": path.is_dir() or not hub_in_reach()}
    if path.is_dir():
        _need_weights(path, gguf_file)
    try:
        with without_foreign_bars():
            tokenizer: PreTrainedTokenizerBase = hub.AutoTokenizer.from_pretrained(
                model, **options, **({"gguf_file": gguf_file} if gguf_file else {})
            )
            network: Any
            if gguf_file:
                network = _dequantised(model, gguf_file, **options)
            else:
                network = hub.AutoModelForCausalLM.from_pretrained(
                    model, dtype=dtype, use_safetensors=True, **options
                )
    except _FAILURES as error:
        if gguf_file and isinstance(error, ImportError):
            raise MissingExtraError("loading a GGUF file", "gguf") from error
        tried = f"folder {path.resolve()}" if path.is_dir() else f"hub name {model!r}"
        absent = "" if path.is_dir() else f" ({path.resolve()} is no folder)"
        with_gguf = f" with GGUF file {gguf_file!r}" if gguf_file else ""
        raise InputError(
            f"cannot load a causal language model from {tried}{with_gguf}{absent}: "
            f"{_reason(error)}. Expected a folder with config.json, .safetensors and tokenizer "
            "files, or the name of such a model on the hub"
        ) from error
    return network.to(dtype=dtype, device=device).eval(), tokenizer


def _transformers() -> Any:  # mypy: parts of it are untyped
    import transformers  # takes seconds; a run without a pretrained model does without

    return transformers


def _dequantised(model: str, gguf_file: str, **options: Any) -> "PreTrainedModel":
    """A GGUF model as an ordinary one: the loaded one remembers that it was quantised."""
    hub = _transformers()
    loaded = hub.AutoModelForCausalLM.from_pretrained(
        model, gguf_file=gguf_file, dtype=torch.float32, **options
    )
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain: PreTrainedModel = hub.AutoModelForCausalLM.from_config(config)
    plain.load_state_dict(loaded.state_dict())
    plain.tie_weights()
    return plain


def _reason(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _need_weights(folder: Path, gguf_file: str | None) -> None:
    if _has_weights(folder, gguf_file):
        return
    where = folder.resolve()
    gguf = ", ".join(sorted(file.name for file in folder.glob("*.gguf")))
    if gguf_file:
        there = f"GGUF files in it: {gguf or 'none'}"
        raise InputError(f"{where}: no {gguf_file} in this folder. {there}")
    hint = f" Set gguf_file to one of its GGUF files: {gguf}" if gguf else ""
    raise InputError(
        f"{where}: no .safetensors file in this folder (pickled weights are never opened).{hint}"
    )


def _has_weights(folder: Path, gguf_file: str | None) -> bool:
    return (folder / gguf_file).is_file() if gguf_file else any(folder.glob("*.safetensors"))


def _folder(model: str, gguf_file: str | None = None) -> Path:
    """Where the files of a model lie; those of the hub are downloaded where they are not."""
    if Path(model).is_dir():
        return Path(model)
    from huggingface_hub import snapshot_download
    from transformers.utils.hub import cached_file

    try:
        cached = Path(str(cached_file(model, "config.json", local_files_only=True))).parent
    except _FAILURES:
        cached = None
    if cached and _has_weights(cached, gguf_file):
        return cached
    if not hub_in_reach():
        raise InputError(
            f"{model!r}: neither a folder nor a model in the hub's cache, and the hub cannot be "
            "reached. Expected the folder or hub name of a causal language model"
        )
    try:
        wanted = [f"*{ending}" for ending in _KEPT if not (gguf_file and ending == _WEIGHTS)]
        wanted += [gguf_file] if gguf_file else []
        # Folders inside hold the same weights once more, in the formats of other programs.
        return Path(snapshot_download(model, allow_patterns=wanted, ignore_patterns="*/*"))
    except _FAILURES as error:
        raise InputError(
            f"{model!r}: neither a folder nor a model that the hub gives ({_reason(error)}). "
            "Expected the folder or hub name of a causal language model"
        ) from error
