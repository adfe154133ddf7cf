"""A causal language model as sentence encoder: its state where it would say the sentence in a word.

PromptEOL (Jiang et al. 2023, "Scaling Sentence Embeddings with Large Language Models"): the state
behind the next-word distribution is the sentence's vector; by it the model tells into which of all
one-word right contexts the sentence fits. In the context stage each dimension is centred and scaled
by sentences of the corpus, and the upper layers may have been tuned (`firth.context.tune`).
"""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from firth.context.encoder import ReadWords, unit
from firth.context.kept import Kept
from firth.context.references import reference_texts
from firth.context.settings import Encoder
from firth.lexical.arrays import Floats
from firth.run.errors import InputError
from firth.run.model_files import PretrainedFiles
from firth.run.precision import device, number_format
from firth.run.pretrained import open_causal_lm
from firth.run.progress import bar
from firth.run.run import Run
from firth.run.section import Precision

_BATCH_TOKENS = 4_096
_BATCH_TOKENS_CPU = 1_024
"""More do not fit into a processor's caches (docs/performance.md)."""


class PromptStates:
    """Texts → the last layer's state at the end of each prompt.

    Args:
        model: A causal language model, in evaluation mode.
        tokenizer: Its tokenizer.
        dtype: Number format of the matrix products.
        templates: The prompts, `{}` standing for the text.
        longest: Tokens of the text itself; the rest of a longer one is cut off.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        dtype: torch.dtype,
        templates: Sequence[str],
        longest: int,
    ) -> None:
        self.model, self.tokenizer, self.dtype = model, tokenizer, dtype
        self.templates, self.longest = tuple(templates), longest

    @classmethod
    def open(
        cls,
        model: str,
        gguf_file: str | None,
        precision: Precision,
        templates: Sequence[str],
        longest: int,
    ) -> "PromptStates":
        """Open a model by folder or hub name.

        Weights stay float32, for they may be tuned; autocast rounds within the products only.

        Raises:
            InputError: It cannot be loaded.
            MissingExtraError: A GGUF file needs the package gguf.
        """
        where = device()
        loaded, tokenizer = open_causal_lm(model, gguf_file, torch.float32, where)
        return cls(loaded, tokenizer, number_format(precision, where), templates, longest)

    def __call__(self, texts: Sequence[str], title: str = "PromptEOL") -> Floats:
        """States of `texts`, shape (n, templates, hidden size)."""
        ids = self.tokens(texts, self.longest)
        states = np.zeros((len(ids), self.model.config.hidden_size))
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        tokens = _BATCH_TOKENS_CPU if self.model.device.type == "cpu" else _BATCH_TOKENS
        with bar(title, len(ids)) as shown:
            while order:
                # The longest start of `order` that fits into a batch, at least one.
                size = 1
                while size < len(order) and (size + 1) * len(ids[order[size]]) <= tokens:
                    size += 1
                chosen, order = order[:size], order[size:]
                with torch.inference_mode():
                    found = self.last([ids[i] for i in chosen])
                states[chosen] = found.cpu().double().numpy()
                shown.advance(size)
        return states.reshape(len(texts), len(self.templates), -1)

    def tokens(self, texts: Sequence[str], longest: int) -> list[list[int]]:
        """Token ids of each text's prompts, one text's after the other's.

        Args:
            texts: n texts.
            longest: Tokens of the text itself; the rest of a longer one is cut off.
        """
        found = self.tokenizer(
            list(texts) or [""], add_special_tokens=False, return_offsets_mapping=True
        )["offset_mapping"]
        ends = [offsets[:longest][-1][1] if offsets else 0 for offsets in found]
        cut = [text[:end] for text, end in zip(texts, ends, strict=False)]
        prompts = [template.format(text) for text in cut for template in self.templates]
        ids: list[list[int]] = self.tokenizer(prompts)["input_ids"] if prompts else []
        return ids

    def last(self, ids: Sequence[Sequence[int]]) -> torch.Tensor:
        """The last layer's state at the end of each row of token ids, (n, hidden size)."""
        width = max(map(len, ids))
        lengths = torch.tensor([len(row) for row in ids])
        # Padding stands behind the prompt, where a causal model cannot see it.
        rows = torch.tensor([[*row, *[0] * (width - len(row))] for row in ids])
        mask = (torch.arange(width) < lengths[:, None]).long()
        where = self.model.device
        half = self.dtype is torch.bfloat16
        with torch.autocast(where.type, torch.bfloat16) if half else nullcontext():
            found = self.model.base_model(input_ids=rows.to(where), attention_mask=mask.to(where))
        states: torch.Tensor = found.last_hidden_state[torch.arange(len(ids)), lengths - 1]
        return states

    def statistics(self, run: str | Path | Run, references: int) -> tuple[Floats, Floats]:
        """Mean and deviation of each dimension, both (templates, hidden size).

        Args:
            run: Of whose corpus the sentences are drawn.
            references: How many, at most.

        Raises:
            InputError: The corpus has fewer than 2 sentences of usual length.
            MissingStageError: The run has no corpus.
        """
        found = self(reference_texts(run, references), "PromptEOL: statistics")
        return found.mean(axis=0), np.maximum(found.std(axis=0), 1e-6)


class PromptEncoder:
    """States at the end of one prompt, scaled by dimension, as unit vectors.

    Args:
        states: The language model with one template.
        mean: Of each dimension, (d,).
        deviation: Of each dimension, (d,), above 0.
        name: What it is, for people.
    """

    kind: ClassVar[Encoder] = Encoder.CAUSAL_LM
    words: ReadWords | None = None

    def __init__(self, states: PromptStates, mean: Floats, deviation: Floats, name: str) -> None:
        self.states, self.mean, self.deviation, self.name = states, mean, deviation, name

    def encode(self, texts: Sequence[str], title: str = "Sentence vectors") -> Floats:
        """Vectors of `texts`, shape (n, d)."""
        return unit((self.states(texts, title)[:, 0] - self.mean) / self.deviation)

    def vectors(self, texts: Sequence[str], max_tokens: int) -> torch.Tensor:
        """Vectors to learn from, (n, d), of texts cut at `max_tokens`."""
        states = self.states.last(self.states.tokens(texts, max_tokens)).float().cpu()
        mean, deviation = (torch.from_numpy(each).float() for each in (self.mean, self.deviation))
        return functional.normalize((states - mean) / deviation, dim=1)

    def save(self, folder: Path, files: PretrainedFiles, tuned: nn.ModuleList) -> None:
        """Write what differs from the pretrained model, and which one that is.

        Args:
            folder: Where to.
            files: Of the pretrained model, whose weights stay where they are.
            tuned: The layers that were tuned, the last ones of the model; may be empty.
        """
        (template,) = self.states.templates
        settings = {
            "layers": len(tuned),
            "template": template,
            "max_tokens": self.states.longest,
        }
        weights = dict(tuned.state_dict())
        Kept(files, settings, weights, self.mean, self.deviation).save(folder, self.kind)

    @classmethod
    def load(cls, folder: Path, precision: Precision) -> "PromptEncoder":
        """Open what `save` wrote.

        Raises:
            InputError: The pretrained model is gone, has changed, or cannot be loaded.
        """
        kept = Kept.load(folder)
        settings, files = kept.settings, kept.files
        states = PromptStates.open(
            files.model, files.gguf_file, precision, [settings["template"]], settings["max_tokens"]
        )
        count = settings["layers"]
        if count:
            upper_layers(states.model, count).load_state_dict(dict(kept.tuned))
        how = f"its last {count} layers tuned on the corpus" if count else "not tuned"
        return cls(states, kept.mean, kept.deviation, f"{kept.name}, {how}")


def upper_layers(model: Any, count: int) -> nn.ModuleList:
    """The last `count` layers of a model: of its outermost, longest list of modules.

    Raises:
        InputError: The model has no list of layers.
    """
    inside = [model.base_model]
    while inside:
        inside = [child for module in inside for child in module.children()]
        if lists := [child for child in inside if isinstance(child, nn.ModuleList)]:
            longest = max(lists, key=lambda layers: len(layers))
            return nn.ModuleList(list(longest)[-count:])
    raise InputError(
        f"{type(model).__name__}: no list of layers found in it, so none can be tuned. Set "
        "context.tune.steps to 0"
    )
