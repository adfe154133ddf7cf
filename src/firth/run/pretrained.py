"""The one loader of models that firth did not just make: looked at first, then opened.

Nothing here opens a folder that `firth.run.model_files.look` refuses.
"""

from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from firth.run.errors import InputError, first_line
from firth.run.model_files import LIBRARY_FAILURES, looked_at
from firth.run.model_kind import MODULES, WITHOUT_VECTORS, ModelKind, kind_in
from firth.run.quiet import quiet_libraries
from firth.run.section import Pooling

if TYPE_CHECKING:
    import torch
    from sentence_transformers import CrossEncoder, SentenceTransformer
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

T = TypeVar("T")


def kind_of(name: str, gguf_file: str | None = None) -> ModelKind:
    """What the model of a folder or hub name is, by its files; nothing is opened.

    Raises:
        InputError: There is no such model, or it is refused by `look`.
    """
    return kind_in(looked_at(name, gguf_file), gguf_file)


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
    folder = looked_at(name)
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
        _need_rows(model, name)
        _need_pooling(model, name)
        return model if pooling in (None, Pooling.MEAN) else _repooled(model, pooling)

    return _opened(name, "a sentence encoder, such as roberta-base", load)


def _need_rows(model: "SentenceTransformer", name: str) -> None:
    """Raise `InputError` unless each word of a static model has a row in its table."""
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    first: Any = model[0]
    if not isinstance(first, StaticEmbedding):
        return
    most, rows = (
        max(first.tokenizer.get_vocab().values(), default=-1),
        first.embedding.num_embeddings,
    )
    if most >= rows:
        raise InputError(
            f"{name}: its tokenizer numbers words up to {most:,}, and its table has rows up to "
            f"{rows - 1:,}: they are not of one model"
        )


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
    folder = looked_at(name)
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
    folder = looked_at(name)

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
    folder = looked_at(name, gguf_file)

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


def _opened(name: str, what: str, load: Callable[[], T]) -> T:
    from huggingface_hub.errors import StrictDataclassError
    from safetensors import SafetensorError

    try:
        with quiet_libraries(), redirect_stderr(StringIO()):  # some bars know no switch
            return load()
    except Exception as error:
        known = isinstance(error, (*LIBRARY_FAILURES, SafetensorError, StrictDataclassError))
        if not known and type(error) is not Exception:  # tokenizers raise nothing more special
            raise
        raise InputError(
            f"{name}: cannot be opened: {first_line(error)}. Expected the folder or hub name of "
            f"{what}"
        ) from error


def _refuse_others(name: str, kind: ModelKind) -> None:
    if problem := WITHOUT_VECTORS.get(kind):
        raise InputError(f"{name}: {problem}. Expected a sentence encoder")
