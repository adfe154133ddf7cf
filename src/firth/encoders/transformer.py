"""Pretrained encoders of sentence-transformers, and Transformers with a pooling (extra `torch`).

Every model is looked at first (`firth.encoders.folder`), and torch is imported when one is opened.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from firth.encoders.encoder import PretrainedEncoder, Tokens
from firth.encoders.folder import MODULES, ModelKind, PretrainedFiles, opened, plain_json
from firth.encoders.kinds import EncoderKind
from firth.run.console import progress, quiet_libraries
from firth.run.errors import InputError, require
from firth.run.executor import DEVICE, WORKER
from firth.run.limits import bounded
from firth.text.types import Singles, by_budget

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

Pooling = Literal["mean", "cls"]

_CHUNK = 512
"""Texts between two steps of the progress bar."""
_BATCH, _CHARACTERS = 64, 1 << 16
_KINDS = (ModelKind.SENTENCE_ENCODER, ModelKind.MASKED_LM, ModelKind.STATIC)
_UNUSED = ("pooler.",)
"""Weights that no pooling of sentences reads; many files do not hold them."""
_HEADS = (
    "classifier", "cls.", "decoder.", "discriminator_", "generator_", "head.", "lm_head", "lm_loss",
    "mlm_head", "pooler.", "pre_classifier", "predictions.", "qa_outputs", "score.", "vocab_",
)  # fmt: skip
"""Beginnings of weights of other tasks; an encoder does not read them."""


class TransformerEncoder(PretrainedEncoder):
    """Encodes texts with a sentence-transformers model. `open` freezes its weights."""

    def __init__(self, model: "SentenceTransformer", name: str) -> None:
        self.model, self.name = model, name
        self.dimensions = int(model.get_embedding_dimension() or 0)
        is_fast = getattr(getattr(self.model, "tokenizer", None), "is_fast", False)
        if hasattr(self.model[0], "auto_model") and is_fast:
            self.read_tokens = self._read_tokens

    @classmethod
    def open(cls, place: PretrainedFiles, pooling: Pooling | None = None) -> "TransformerEncoder":
        """Open a model in float32, with frozen weights."""
        model = open_sentence_transformer(place, pooling)
        return cls(model.eval().requires_grad_(False), place.title)

    def raw(self, texts: Sequence[str]) -> Singles:
        """Return vectors of n texts as the model gives them, (n, d)."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        order = np.argsort([-len(text) for text in texts], kind="stable")  # little padding
        for start in progress(range(0, len(texts), _CHUNK), f"Encoding with {self.name}"):
            numbers = order[start : start + _CHUNK]
            batch = [texts[number] for number in numbers.tolist()]
            with quiet_libraries():
                rows = opened(self.name, "texts that it can read", partial(self._encoded, batch))
            vectors[numbers] = rows
        return vectors

    def _encoded(self, texts: list[str]) -> Any:
        vectors = self.model.encode(texts, show_progress_bar=False)
        return vectors.reshape(len(texts), self.dimensions)

    def _read_tokens(self, texts: Sequence[str]) -> tuple[Singles, list[Tokens]]:
        import torch

        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        read: dict[int, Tokens] = {}
        with quiet_libraries(), torch.inference_mode():
            sizes = np.array([*map(len, texts)], np.int64)
            for numbers in by_budget(sizes, _CHARACTERS, _BATCH):
                batch = [texts[number] for number in numbers.tolist()]
                vectors[numbers], tokens = opened(
                    self.name, "texts that it can read", partial(self._read_batch, batch)
                )
                read |= zip(numbers.tolist(), tokens, strict=True)
        if self.model.default_prompt_name:  # States are those without the prompt.
            vectors = self.vectors(texts)
        return vectors, [read[number] for number in range(len(texts))]

    def _read_batch(self, texts: list[str]) -> tuple[Any, list[Tokens]]:
        tokenizer: Any = self.model.tokenizer
        longest = self.model.max_seq_length
        tokens = tokenizer(
            texts, truncation=longest is not None, max_length=longest, padding=True,
            return_tensors="pt", return_offsets_mapping=True,
        )  # fmt: skip
        offsets = tokens.pop("offset_mapping").numpy()
        features = {name: tensor.to(self.model.device) for name, tensor in tokens.items()}
        features = self.model[0](features)
        states = features["token_embeddings"].cpu().double().numpy()
        for module in list(self.model)[1:]:
            features = module(features)
        vectors = features["sentence_embedding"].cpu().float().numpy()
        return vectors[:, : self.dimensions], list(zip(states, offsets, strict=True))


def open_sentence_transformer(
    name: str | PretrainedFiles, pooling: Pooling | None = None
) -> "SentenceTransformer":
    """Open a sentence encoder by folder or hub name, in float32, on `device()`.

    A sentence-transformers model keeps its pooling. Another encoder gets the mean of its last
    layer's states, or the pooling that is asked for.
    """
    place = name if isinstance(name, PretrainedFiles) else PretrainedFiles.find(name)
    require("sentence_transformers", "torch", "A Transformer")
    has_modules = (place.folder / MODULES).is_file()
    if place.kind not in _KINDS:
        raise InputError(
            f"{place.model}: its kind is {place.kind}; expected one of {', '.join(_KINDS)}, with "
            "weights as .safetensors"
        )
    if pooling is not None and has_modules:
        problem = f"has a pooling already, and encoder.pooling is {pooling}. Leave it out"
        raise InputError(f"{place.model}: {problem}")

    def load() -> "SentenceTransformer":
        import torch
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Pooling as Pool

        torch.manual_seed(0)  # A head that sentences do not use may lack weights.
        options = {"dtype": torch.float32, "use_safetensors": True}
        model = SentenceTransformer(
            str(place.folder), model_kwargs=options, local_files_only=True, device="cpu"
        )
        _check_whole(model, place)
        if pooling == "cls":  # The library gave it the mean.
            model[1] = Pool(model.get_embedding_dimension(), "cls")
        return model

    # Some bars have no switch.
    with bounded(place.memory), quiet_libraries(), redirect_stderr(StringIO()):
        model = opened(place.model, "a sentence encoder, such as roberta-base", load)
    return model.to(device())


def device() -> "torch.device":
    """Return where to compute: a GPU where the machine has one, else the processor.

    The variable FIRTH_DEVICE (`cpu`, `cuda`, `mps`) overrides it. Each worker of an executor
    takes another GPU.
    """
    import torch

    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    usable = [
        kind for kind, is_usable in (("cuda", cuda), ("mps", mps), ("cpu", True)) if is_usable
    ]
    name = os.environ.get(DEVICE, "auto")
    if name == "auto":
        name = usable[0]
    if name not in usable:
        raise InputError(
            f"{DEVICE} is {name}, and torch {torch.__version__} can use {', '.join(usable)} here. "
            f"Set {DEVICE} to one of these, or to auto"
        )
    number = os.environ.get(WORKER)
    if name != "cuda" or number is None:
        return torch.device(name)
    return torch.device(name, int(number) % torch.cuda.device_count())


def check_loaded(info: dict[str, Any]) -> None:
    """Raise `ValueError` where the weights of a file are not those of its network.

    Without weights a library takes random ones, and says so in a warning only.
    """
    for key, problem, harmless in (
        ("missing_keys", "lacks weights of the network", _UNUSED),
        ("unexpected_keys", "has weights that the network does not have", _HEADS),
        ("mismatched_keys", "has weights of other shapes", ()),
    ):
        names = [name for name in sorted(map(str, info[key])) if not name.startswith(harmless)]
        if names := [name for name in names if not name.endswith("position_ids")]:
            raise ValueError(f"its file {problem}: {', '.join(names[:3])} ({len(names)} in all)")


def _check_whole(model: "SentenceTransformer", place: PretrainedFiles) -> None:
    """Raise `ValueError` unless a model has all its weights, and one vector for a text."""
    import torch
    from sentence_transformers.sentence_transformer.modules import Transformer
    from transformers import AutoModel

    if isinstance(model[0], Transformer):
        modules = plain_json(place.folder / MODULES) or [{}]
        inner = place.folder / modules[0].get("path", "")
        loader: Any = AutoModel
        _, info = loader.from_pretrained(  # The other library hides what is missing.
            inner, local_files_only=True, use_safetensors=True, output_loading_info=True
        )
        check_loaded(info)
    features = model.preprocess(["a sentence"])
    tensors = {k: v.to(model.device) for k, v in features.items() if isinstance(v, torch.Tensor)}
    with torch.no_grad():
        vectors = model({**features, **tensors}).get("sentence_embedding")
    if not isinstance(vectors, torch.Tensor) or vectors.ndim != 2:
        raise ValueError("it has no pooling, so a sentence has no vector. Add a Pooling module")


def _adopt(encoder: object) -> TransformerEncoder | None:
    """Return an encoder with states of words where a user opened a `SentenceTransformer`."""
    library = sys.modules.get("sentence_transformers")  # Without it, nobody opened one.
    if library is None or not isinstance(encoder, library.SentenceTransformer):
        return None
    name = getattr(getattr(encoder.transformers_model, "config", None), "_name_or_path", "")
    return TransformerEncoder(encoder, Path(str(name)).name or type(encoder).__name__)


KIND = EncoderKind(
    name="transformer",
    recognizes_files=lambda files: files.kind in _KINDS,
    open=lambda encoder, settings: TransformerEncoder.open(encoder.place, settings.pooling),
    adopts=_adopt,
    library="torch",
    extra="torch",
)
