"""A causal language model as sentence encoder: its state where it would name the sentence (torch).

PromptEOL (Jiang et al. 2023, "Scaling Sentence Embeddings with Large Language Models") takes the
state behind the next-word distribution at the end of a prompt. That state describes in which
contexts the sentence fits. The upper layers may have been tuned on a corpus.
"""

import re
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.encoders.encoder import PretrainedEncoder, by_length
from firth.encoders.folder import ModelKind, PretrainedFiles
from firth.encoders.kinds import Cost, EncoderKind
from firth.encoders.probe import probe
from firth.encoders.transformer import check_loaded, device, has_bfloat16, quietly
from firth.run.console import Progress
from firth.run.errors import ConfigError, InputError, require
from firth.run.files import write_atomically
from firth.run.settings import EncoderSettings
from firth.text.types import Singles

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_BATCH_TOKENS, _BATCH_TOKENS_CPU = 4_096, 1_024
"""A processor's caches hold no more."""


class LanguageModelEncoder(PretrainedEncoder):
    """Encodes a text as the last layer's state at the end of a prompt.

    The weights are float32 and can be tuned; matrix products are rounded where `bfloat16` says so.
    """

    def __init__(self, place: PretrainedFiles, settings: EncoderSettings) -> None:
        torch = require("torch", "torch", "A language model")
        self._prompt, self._max_tokens = settings.prompt, settings.max_tokens
        if not re.fullmatch(r"[^{}]*\{\}[^{}]*", self._prompt):
            problem = f"got {self._prompt!r}; expected one {{}} and no other brace"
            raise ConfigError("encoder.prompt", [problem])
        self.model: Any
        self.tokenizer: Any
        self.model, self.tokenizer = open_causal_lm(place, torch.float32, device())
        self.name, self.bfloat16 = place.title, has_bfloat16(device())
        self.dimensions = int(self.model.config.hidden_size)

    def raw(self, texts: Sequence[str]) -> Singles:
        """Return the states of n texts, (n, d), of any length."""
        import torch

        ids = self.tokens(texts, self._max_tokens)
        states = np.zeros((len(ids), self.dimensions), np.float32)
        most = _BATCH_TOKENS_CPU if self.model.device.type == "cpu" else _BATCH_TOKENS
        with Progress(len(ids), f"Encoding with {self.name}") as bar, torch.inference_mode():
            for some in by_length([len(each) for each in ids], most, len(ids)):
                states[some] = self.last_states([ids[n] for n in some]).float().cpu().numpy()
                bar.advance(len(some))
        return states

    def tokens(self, texts: Sequence[str], max_tokens: int) -> list[list[int]]:
        """Return the tokens of each text's prompt; a text's tokens after `max_tokens` are cut."""
        if not texts:
            return []
        read = self.tokenizer(list(texts), add_special_tokens=False, return_offsets_mapping=True)
        offsets = [each[:max_tokens] for each in read["offset_mapping"]]
        ends = [each[-1][1] if each else 0 for each in offsets]
        cut = [text[:end] for text, end in zip(texts, ends, strict=True)]
        prompts = [self._prompt.format(text) for text in cut]
        ids: list[list[int]] = self.tokenizer(prompts)["input_ids"]
        return ids

    def last_states(self, ids: Sequence[Sequence[int]]) -> "Tensor":
        """Return the last layer's state at the end of each row of tokens, (n, d)."""
        import torch

        width = max(map(len, ids))
        lengths = torch.tensor([len(row) for row in ids])
        # Padding follows the prompt, where a causal model cannot see it.
        rows = torch.tensor([[*row, *[0] * (width - len(row))] for row in ids])
        mask = (torch.arange(width) < lengths[:, None]).long()
        where = self.model.device
        rounded = torch.autocast(where.type, torch.bfloat16) if self.bfloat16 else nullcontext()
        with rounded:
            output = self.model.base_model(input_ids=rows.to(where), attention_mask=mask.to(where))
        states: Tensor = output.last_hidden_state[torch.arange(len(ids)), lengths - 1]
        return states

    def load_tuned(self, path: Path) -> None:
        """Replace the weights of the upper layers by those that `save_tuned` wrote."""
        from safetensors.torch import load_file

        weights = load_file(path)
        count = 1 + max((int(name.partition(".")[0]) for name in weights), default=-1)
        upper_layers(self.model, count).load_state_dict(weights)
        self.name += f", {count} layers tuned"


def save_tuned(path: Path, layers: "nn.ModuleList") -> None:
    """Write the weights of tuned upper layers, named from the lowest: `0.mlp.weight`."""
    from safetensors.torch import save_file

    weights = {name: one.detach().cpu().contiguous() for name, one in layers.state_dict().items()}
    with write_atomically(path) as partial:
        save_file(weights, partial)


def upper_layers(model: Any, count: int) -> "nn.ModuleList":
    """Return the last `count` layers of a model: of its outermost, longest list of modules."""
    from torch import nn

    inside = [model.base_model]
    while inside:
        inside = [child for module in inside for child in module.children()]
        if lists := [child for child in inside if isinstance(child, nn.ModuleList)]:
            longest = max(lists, key=len)
            return nn.ModuleList(list(longest)[len(longest) - count :])
    raise InputError(
        f"{type(model).__name__}: has no list of layers, so none can be tuned. Set adapt.steps to 0"
    )


def open_causal_lm(
    model: str | PretrainedFiles, dtype: "torch.dtype", where: "torch.device"
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """Open a causal language model and its tokenizer, in evaluation mode."""
    require("transformers", "torch", "A language model")
    place = model if isinstance(model, PretrainedFiles) else PretrainedFiles.find(model)
    if place.kind is not ModelKind.CAUSAL_LM:
        raise InputError(f"{place.model}: {place.kind}; expected a causal language model")
    if place.file is not None:
        require("gguf", "torch", f"The GGUF file {place.file}")
    probe(place)

    def load() -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
        import transformers

        library: Any = transformers
        more = {"gguf_file": place.file} if place.file is not None else {}
        tokenizer = library.AutoTokenizer.from_pretrained(
            place.folder, local_files_only=True, **more
        )
        if place.file is not None:
            return _from_gguf(place), tokenizer
        network, info = library.AutoModelForCausalLM.from_pretrained(
            place.folder, dtype=dtype, use_safetensors=True, local_files_only=True,
            output_loading_info=True,
        )  # fmt: skip
        check_loaded(info)
        return network, tokenizer

    network: Any
    network, tokenizer = quietly(place.model, "a causal language model", load)
    return network.to(dtype=dtype, device=where).eval(), tokenizer


def _from_gguf(place: PretrainedFiles) -> "PreTrainedModel":
    """Return the model of a GGUF file as an ordinary one; the loaded one counts as quantized."""
    import torch
    import transformers

    library: Any = transformers
    loaded = library.AutoModelForCausalLM.from_pretrained(
        place.folder, gguf_file=place.file, dtype=torch.float32, local_files_only=True
    )
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain: PreTrainedModel = library.AutoModelForCausalLM.from_config(config)
    plain.load_state_dict(loaded.state_dict())
    plain.tie_weights()
    return plain


KIND = EncoderKind(
    name="causal-lm",
    recognizes_files=lambda files: files.kind is ModelKind.CAUSAL_LM,
    open=lambda found, settings: LanguageModelEncoder(found.place, settings),
    library="torch",
    extra="torch",
    word_weight=0.5,
    normalizations=("standardize",),
    cost=Cost.HIGH,
    is_tuned=True,
)
