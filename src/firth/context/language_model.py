"""A causal language model as sentence encoder: its state where it would say the sentence in a word.

Jiang et al. (2023) read the state behind the next-word distribution as the sentence's vector: the
fits of the sentence into all one-word right contexts at once. Here each dimension is centred and
scaled by sentences of the corpus, and the upper layers may have been tuned (`firth.context.tune`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from firth.context.encoder import Floats, unit
from firth.context.open import PROMPT_ENCODER
from firth.context.prompt import TEMPLATES, PromptStates
from firth.context.settings import ContextConfig
from firth.run.errors import InputError
from firth.run.files import read_json, write_atomically, write_json
from firth.run.precision import device, number_format
from firth.run.pretrained import PretrainedFiles, open_causal_lm
from firth.run.section import Precision

TEMPLATE = TEMPLATES[0]
_TUNED, _SCALE = "tuned.safetensors", "scale.safetensors"


class PromptEncoder:
    """States at the end of the prompt, scaled by dimension, as unit vectors.

    Args:
        states: The language model with `TEMPLATE`.
        mean: Of each dimension, (d,).
        deviation: Of each dimension, (d,), above 0.
        name: What it is, for people.
    """

    def __init__(self, states: PromptStates, mean: Floats, deviation: Floats, name: str) -> None:
        self.states, self.mean, self.deviation, self.name = states, mean, deviation, name

    def encode(self, texts: Sequence[str], title: str = "Sentence vectors") -> Floats:
        """Vectors of `texts`, shape (n, d)."""
        return unit((self.states(texts, title)[:, 0] - self.mean) / self.deviation)


def language_model(config: ContextConfig) -> tuple[PromptStates, PretrainedFiles]:
    """The untuned model of a configuration, and what its files are.

    Weights stay float32, for they may be tuned; products are rounded within.

    Raises:
        InputError: It cannot be loaded.
        MissingExtraError: A GGUF file needs the package gguf.
    """
    model, name = str(config.model), config.gguf_file
    loaded = _loaded(model, name, config.precision)
    return loaded, PretrainedFiles.find(model, name)


def upper_layers(model: Any, count: int) -> nn.ModuleList:
    """The last `count` layers of a model: of its longest list of modules.

    Raises:
        InputError: The model has no list of layers.
    """
    lists = [child for child in model.base_model.children() if isinstance(child, nn.ModuleList)]
    if not lists:
        kind = type(model).__name__
        raise InputError(
            f"{kind}: no list of layers found in it, so none can be tuned. Set context.tune.steps to 0"
        )
    longest = max(lists, key=lambda layers: len(layers))
    return nn.ModuleList(list(longest)[-count:])


def save_prompt_encoder(
    folder: Path, encoder: PromptEncoder, files: PretrainedFiles, tuned: nn.ModuleList
) -> None:
    """Write what differs from the pretrained model, and which one that is.

    Args:
        folder: Where to.
        encoder: Its scale is kept.
        files: Of the pretrained model, whose weights stay where they are.
        tuned: The layers that were tuned, the last ones of the model; may be empty.
    """
    model = {"model": files.model, "gguf_file": files.gguf_file,
             "files": {name: list(known) for name, known in files.files.items()}}  # fmt: skip
    with write_atomically(folder / _TUNED) as partial:
        save_file({k: v.contiguous() for k, v in tuned.state_dict().items()}, partial)
    scale = {
        "mean": torch.from_numpy(encoder.mean),
        "deviation": torch.from_numpy(encoder.deviation),
    }
    with write_atomically(folder / _SCALE) as partial:
        save_file(scale, partial)
    stored = {"model": model, "layers": len(tuned), "template": TEMPLATE}
    write_json(folder / PROMPT_ENCODER, stored)


def open_prompt_encoder(folder: Path, precision: Precision) -> PromptEncoder:
    """Open what `save_prompt_encoder` wrote.

    Raises:
        InputError: The pretrained model is gone, has changed, or cannot be loaded.
    """
    stored = read_json(folder / PROMPT_ENCODER)
    files = PretrainedFiles(**stored["model"])
    files.check()
    states = _loaded(files.model, files.gguf_file, precision)
    if stored["layers"]:
        layers = upper_layers(states.model, stored["layers"])
        layers.load_state_dict(load_file(folder / _TUNED))
    scale = load_file(folder / _SCALE)
    mean: npt.NDArray[np.float64] = scale["mean"].numpy()
    return PromptEncoder(states, mean, scale["deviation"].numpy(), _named(files, stored["layers"]))


def _loaded(model: str, gguf_file: str | None, precision: Precision) -> PromptStates:
    where = device()
    loaded, tokenizer = open_causal_lm(model, gguf_file, torch.float32, where)
    return PromptStates(loaded, tokenizer, number_format(precision, where), (TEMPLATE,))


def _named(files: PretrainedFiles, layers: int) -> str:
    how = f"its last {layers} layers tuned on the corpus" if layers else "not tuned"
    return f"{Path(files.gguf_file or files.model).name}, {how}"
