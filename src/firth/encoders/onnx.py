"""Pretrained encoders as ONNX, on onnxruntime and tokenizers alone (extra `onnx`)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firth.encoders.encoder import PretrainedEncoder, TokenStates, by_length, unit_singles
from firth.encoders.folder import ModelKind, PretrainedFiles, json_object, modules_of, opened
from firth.encoders.kinds import EncoderKind, FoundEncoder
from firth.encoders.probe import probe
from firth.run.console import Progress
from firth.run.errors import InputError, install_command, require
from firth.run.settings import EncoderSettings
from firth.text.types import Floats, Ints, Singles

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
        self._inputs = {each.name for each in self._session.get_inputs()}
        axes = {each.name: len(each.shape or ()) for each in self._session.get_outputs()}
        self._states = next((name for name in _STATES if axes.get(name) == 3), None)
        self._pooled = _POOLED if axes.get(_POOLED) == 2 else None
        if self._states is None and self._pooled is None:
            raise InputError(
                f"{place.model}: its outputs are {', '.join(axes)}; expected {_POOLED} or one of "
                f"{', '.join(_STATES)}"
            )
        types = [kind.rpartition(".")[2] for kind, _ in modules_of(home)]
        if other := [each for each in types if each not in _HANDLED and self._pooled is None]:
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
        self.token_states: TokenStates | None = self._token_states if self._states else None
        self.dimensions = int(self._vectors(*next(self._batches(["a"]))[1:]).shape[1])

    def raw(self, texts: Sequence[str]) -> Singles:
        """Return vectors of n texts as the model gives them, (n, d)."""
        rows: dict[int, Singles] = {}
        with Progress(len(texts), f"Encoding with {self.name}") as bar:
            for numbers, ids, mask in self._batches([self._prompt + text for text in texts]):
                rows |= zip(numbers, self._vectors(ids, mask), strict=True)
                bar.advance(len(numbers))
        if not rows:
            return np.zeros((0, self.dimensions), np.float32)
        vectors = np.stack([rows[number] for number in range(len(texts))]).astype(np.float32)
        return unit_singles(vectors) if self._is_normalized else vectors

    def _vectors(self, ids: Ints, mask: Ints) -> Singles:
        """Return the vectors of one batch, (n, d)."""
        output = self._run(ids, mask, self._pooled or self._states)
        if self._pooled is None and self._pooling == "cls":
            output = output[:, 0]
        elif self._pooled is None:
            weights = mask[:, :, None].astype(np.float32)
            output = (output * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
        vectors: Singles = output
        return vectors

    def _token_states(self, texts: Sequence[str]) -> list[tuple[Floats, Ints]]:
        read: dict[int, tuple[Floats, Ints]] = {}
        offsets = [np.array(each.offsets, np.int64) for each in self._encodings(texts)]
        for numbers, ids, mask in self._batches(texts):
            output = self._run(ids, mask, self._states).astype(np.float64)
            for number, rows in zip(numbers, output, strict=True):
                read[number] = rows[: len(offsets[number])], offsets[number].reshape(-1, 2)
        return [read[number] for number in range(len(texts))]

    def _encodings(self, texts: Sequence[str]) -> list[Any]:
        read = self._tokenizer.encode_batch
        encodings: list[Any] = opened(self.name, "texts that it can read", lambda: read([*texts]))
        return encodings

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Ints, Ints]]:
        """Yield numbers of texts, their tokens, and which of these are no padding, (n, longest)."""
        tokens = [each.ids for each in self._encodings(texts)]
        sizes = [len(each) for each in tokens]
        for numbers in by_length(sizes, _BATCH_TOKENS, 1 if self._alone else _BATCH):
            longest = max(1, sizes[numbers[-1]])
            ids = np.full((len(numbers), longest), self._padding, np.int64)
            mask = np.zeros_like(ids)
            for row, number in enumerate(numbers):
                ids[row, : sizes[number]], mask[row, : sizes[number]] = tokens[number], 1
            yield numbers, ids, mask

    def _run(self, ids: Ints, mask: Ints, output: str | None) -> Any:
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feed = {name: given[name] for name in self._inputs & given.keys()}
        run = self._session.run
        return opened(self.name, "an ONNX encoder of texts", lambda: run([output], feed)[0])


def _session(runtime: Any, file: Path) -> Any:
    options = runtime.SessionOptions()
    options.log_severity_level = 3
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


def _open(found: FoundEncoder, settings: EncoderSettings) -> OnnxEncoder:
    probe(found.place, settings)
    return OnnxEncoder(found.place, settings)


KIND = EncoderKind(
    name="onnx",
    recognizes_files=lambda files: files.kind is ModelKind.ONNX,
    open=_open,
    library="onnxruntime",
    extra="onnx",
)
