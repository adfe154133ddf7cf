"""Pretrained encoders as ONNX, on onnxruntime and tokenizers alone (extra `onnx`)."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firth.encoders.encoder import PretrainedEncoder, Tokens, unit_singles
from firth.encoders.folder import ModelKind, PretrainedFiles, json_object, modules_of, opened
from firth.encoders.kinds import EncoderKind, FoundEncoder
from firth.run.console import Progress
from firth.run.errors import InputError, install_command, require
from firth.run.executor import WORKER
from firth.run.limits import bounded
from firth.run.settings import EncoderSettings
from firth.text.types import Ints, Singles, by_budget

_BATCH, _BATCH_TOKENS = 16, 4_096
"""Texts of a batch, and tokens of it. With MiniLM on two cores no size from 8 to 128 is clearly
faster."""
_BY_BATCH = b"DynamicQuantizeLinear"
"""An operator whose scale depends on the whole batch: with it each text is run alone."""
_POOLED = "sentence_embedding"
_STATES = ("token_embeddings", "last_hidden_state")
_HANDLED = ("Transformer", "Pooling", "Normalize")
_LEGACY_MODES = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}


class OnnxEncoder(PretrainedEncoder):
    """Encodes texts with an ONNX model whose folder has a `tokenizer.json`.

    No vector depends on the other texts by more than rounding (about 1e-6). The settings name the
    pooling and most tokens of a model that does not state them.
    """

    def __init__(self, place: PretrainedFiles, settings: EncoderSettings) -> None:
        runtime = require("onnxruntime", "onnx", "An ONNX encoder")
        home, file, self.name = place.folder, place.folder / str(place.file), place.title
        if not (home / "tokenizer.json").is_file():
            raise InputError(f"{home}: has no tokenizer.json. Copy the model's into this folder")
        self._session = opened(place.model, "an ONNX model", lambda: _session(runtime, file))
        self._tokenizer = opened(place.model, "a tokenizer", lambda: _tokenizer(home, settings))
        self._inputs = {value.name for value in self._session.get_inputs()}
        axes = {value.name: len(value.shape or ()) for value in self._session.get_outputs()}
        self._states = next((name for name in _STATES if axes.get(name) == 3), None)
        self._pooled = _POOLED if axes.get(_POOLED) == 2 else None
        if self._states is None and self._pooled is None:
            raise InputError(
                f"{place.model}: its outputs are {', '.join(axes)}; expected {_POOLED} or one of "
                f"{', '.join(_STATES)}"
            )
        types = [kind.rpartition(".")[2] for kind, _ in modules_of(home)]
        if other := [kind for kind in types if kind not in _HANDLED and self._pooled is None]:
            raise InputError(
                f"{place.model}: its module {other[0]} is not in the ONNX file. Install torch: "
                f"{install_command('torch')}, and name the folder with its .safetensors file"
            )
        self._pooling = _pooling(place.model, home, settings)
        self._is_normalized = "Normalize" in types
        saved = json_object(home / "config_sentence_transformers.json")
        prompts, default = saved.get("prompts"), saved.get("default_prompt_name")
        self._prompt = str(prompts.get(default) or "") if isinstance(prompts, dict) else ""
        # RoBERTa counts positions by the padding token.
        self._padding = int(json_object(home / "config.json").get("pad_token_id") or 0)
        self._alone = _BY_BATCH in file.read_bytes()
        if self._states is not None:
            self.read_tokens = self._read_tokens
        self.dimensions = int(self._run(*next(self._batches(["a"]))[1:])[0].shape[1])

    def raw(self, texts: Sequence[str]) -> Singles:
        """Return vectors of n texts as the model gives them, (n, d)."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        with Progress(len(texts), f"Encoding with {self.name}") as bar:
            for numbers, ids, mask in self._batches(texts):
                vectors[numbers] = self._run(ids, mask)[0]
                bar.advance(len(numbers))
        return vectors

    def _read_tokens(self, texts: Sequence[str]) -> tuple[Singles, list[Tokens]]:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        tokens: dict[int, Tokens] = {}
        # Characters of the prompt come before those of the text.
        begin = len(self._prompt)
        offsets = [np.array(text.offsets, np.int64) - begin for text in self._encodings(texts)]
        for numbers, ids, mask in self._batches(texts):
            vectors[numbers], states = self._run(ids, mask)
            for number, rows in zip(numbers.tolist(), states.astype(np.float64), strict=True):
                tokens[number] = rows[: len(offsets[number])], offsets[number].reshape(-1, 2)
        return vectors, [tokens[number] for number in range(len(texts))]

    def _encodings(self, texts: Sequence[str]) -> list[Any]:
        prompted = [self._prompt + text for text in texts]
        encode = self._tokenizer.encode_batch
        encodings: list[Any] = opened(self.name, "texts that it can read", lambda: encode(prompted))
        return encodings

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Yield numbers of texts, their tokens, and which of these are no padding, (n, longest)."""
        tokens = [encoding.ids for encoding in self._encodings(texts)]
        sizes = np.array([*map(len, tokens)], np.int64)
        for numbers in by_budget(sizes, _BATCH_TOKENS, 1 if self._alone else _BATCH):
            ids = np.full((len(numbers), max(1, sizes[numbers[0]])), self._padding, np.int64)
            mask = np.zeros_like(ids)
            for row, number in enumerate(numbers.tolist()):
                ids[row, : sizes[number]], mask[row, : sizes[number]] = tokens[number], 1
            yield numbers, ids, mask

    def _run(self, ids: Ints, mask: Ints) -> tuple[Singles, Any]:
        """Return the vectors of one batch, (n, d), and the states of its tokens or None."""
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feed = {name: inputs[name] for name in self._inputs & inputs.keys()}
        outputs = [name for name in (self._pooled, self._states) if name]
        run = self._session.run
        *pooled, last = opened(self.name, "an ONNX encoder of texts", lambda: run(outputs, feed))
        states = last if self._states else None
        vectors = (pooled or [last])[0]
        if self._pooled is None and self._pooling == "cls":
            vectors = vectors[:, 0]
        elif self._pooled is None:
            weights = mask[:, :, None].astype(np.float32)
            vectors = (vectors * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
        vectors = vectors.astype(np.float32)
        return unit_singles(vectors) if self._is_normalized else vectors, states


def _session(runtime: Any, file: Path) -> Any:
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    # By default threads spin while they wait, which takes up to twice the processor time.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.intra_op_num_threads = 1 if os.environ.get(WORKER) else os.cpu_count() or 1
    return runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def _tokenizer(home: Path, settings: EncoderSettings) -> Any:
    """Return the tokenizer of a folder; it truncates as the model does."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(home / "tokenizer.json"))
    limit = json_object(home / "sentence_bert_config.json").get("max_seq_length")
    if not isinstance(limit, int):
        stated = json_object(home / "tokenizer_config.json").get("model_max_length")
        limit = min(settings.max_tokens, stated if isinstance(stated, int) else settings.max_tokens)
    tokenizer.enable_truncation(limit)
    tokenizer.no_padding()
    return tokenizer


def _pooling(name: str, home: Path, settings: EncoderSettings) -> str:
    """Return the pooling that a folder names, else that of the settings, else the mean."""
    path = next((path for kind, path in modules_of(home) if kind.endswith("Pooling")), "")
    config = json_object(home / (path or "1_Pooling") / "config.json")
    mode: Any = config.get("pooling_mode")
    if mode is None:
        modes = [key for key, value in config.items() if key.startswith("pooling_mode") and value]
        mode = _LEGACY_MODES.get(modes[0], modes[0]) if len(modes) == 1 else modes or None
    mode = mode or settings.pooling or "mean"
    if mode not in ("mean", "cls"):
        raise InputError(f"{name}: its pooling is {mode}; an ONNX encoder can do mean and cls")
    return str(mode)


def _open(encoder: FoundEncoder, settings: EncoderSettings) -> OnnxEncoder:
    with bounded(encoder.place.memory):
        return OnnxEncoder(encoder.place, settings)


KIND = EncoderKind(
    name="onnx",
    recognizes_files=lambda files: files.kind is ModelKind.ONNX,
    open=_open,
    library="onnxruntime",
    extra="onnx",
)
