"""PromptEOL: a causal language model is asked for the sentence in one word, and not let answer.

The state behind the next-word distribution is the sentence's vector: by it the model tells into
which of all one-word right contexts the sentence fits (Jiang et al. 2023, "Scaling Sentence
Embeddings with Large Language Models"). Nothing is trained.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from firth.baselines.pretrained import corpus_digest, identify_model
from firth.baselines.spec import UNKNOWN, Spec
from firth.corpus.corpus import Corpus
from firth.lexical.cosine import CosineScorer
from firth.run.errors import InputError
from firth.run.files import fingerprint_value
from firth.run.precision import device, number_format
from firth.run.pretrained import PretrainedFiles, open_causal_lm
from firth.run.progress import bar
from firth.run.run import Run
from firth.run.section import Precision
from firth.run.seeds import derive_seed

Floats = npt.NDArray[np.float64]

TEMPLATES = (
    'This sentence : "{}" means in one word:"',
    'The essence of the sentence "{}" is captured by the word "',
)
REFERENCES = 1_000
"""Sentences of the corpus from which means and deviations are taken."""
LONGEST = 256
"""Tokens of the sentence itself; the rest of a longer one is cut off."""
_BATCH_TOKENS = 4_096


class PromptStates:
    """Texts → the last layer's state at the end of each prompt.

    Args:
        model: A causal language model, in evaluation mode.
        tokenizer: Its tokenizer.
        dtype: Number format of the matrix products.
        templates: The prompts, `{}` standing for the text.

    Attributes:
        model: As given.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        dtype: torch.dtype,
        templates: Sequence[str] = TEMPLATES,
    ) -> None:
        self.model, self._tokenizer, self._dtype = model, tokenizer, dtype
        self._templates = templates

    def __call__(self, texts: Sequence[str], title: str = "PromptEOL") -> Floats:
        """States of `texts`, shape (n, templates, hidden size)."""
        ids = self.tokens(texts, LONGEST)
        states = np.zeros((len(ids), self.model.config.hidden_size))
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        with bar(title, len(ids)) as shown:
            while order:
                chosen = self._first(order, ids)
                order = order[len(chosen) :]
                with torch.inference_mode():
                    found = self.last([ids[i] for i in chosen])
                states[chosen] = found.double().cpu().numpy()
                shown.advance(len(chosen))
        return states.reshape(len(texts), len(self._templates), -1)

    def tokens(self, texts: Sequence[str], longest: int) -> list[list[int]]:
        """Token ids of each text's prompts, one text's after the other's.

        Args:
            texts: n texts.
            longest: Tokens of the text itself; the rest of a longer one is cut off.
        """
        found = self._tokenizer(
            list(texts) or [""], add_special_tokens=False, return_offsets_mapping=True
        )["offset_mapping"]
        ends = [offsets[:longest][-1][1] if offsets else 0 for offsets in found]
        cut = [text[:end] for text, end in zip(texts, ends, strict=False)]
        prompts = [template.format(text) for text in cut for template in self._templates]
        ids: list[list[int]] = self._tokenizer(prompts)["input_ids"] if prompts else []
        return ids

    @staticmethod
    def _first(order: list[int], ids: list[list[int]]) -> list[int]:
        """The longest start of `order` that fits into a batch, at least one."""
        size = 1
        while size < len(order) and (size + 1) * len(ids[order[size]]) <= _BATCH_TOKENS:
            size += 1
        return order[:size]

    def last(self, ids: Sequence[Sequence[int]]) -> torch.Tensor:
        """The last layer's state at the end of each row of token ids, (n, hidden size)."""
        width = max(map(len, ids))
        lengths = torch.tensor([len(row) for row in ids])
        # Padding stands behind the prompt, where a causal model cannot see it.
        rows = torch.tensor([[*row, *[0] * (width - len(row))] for row in ids])
        mask = (torch.arange(width) < lengths[:, None]).long()
        where = self.model.device
        half = self._dtype is torch.bfloat16
        with torch.autocast(where.type, torch.bfloat16) if half else nullcontext():
            found = self.model.base_model(input_ids=rows.to(where), attention_mask=mask.to(where))
        states: torch.Tensor = found.last_hidden_state[torch.arange(len(ids)), lengths - 1]
        return states


def open_prompt_eol(spec: Spec) -> CosineScorer:
    """`baseline:prompt-eol[+zscore=RUN][+float32]@MODEL`.

    Each template's state is taken to unit length, so that the cosine of two sentences is the mean
    over the templates. With `zscore`, dimensions are first centred and scaled by the mean and
    deviation over sentences of a corpus, so that a few large dimensions do not decide alone.

    Raises:
        InputError: The model cannot be loaded, or the corpus has fewer than 2 sentences.
        MissingStageError: The run has no corpus.
        MissingExtraError: A GGUF file needs the package gguf.
    """
    name, gguf = _model_of(spec)
    where = device()
    precision = Precision.FLOAT32 if "float32" in spec.options else Precision.AUTO
    dtype = number_format(precision, where)
    # Weights stay float32: autocast rounds within the products only.
    model, tokenizer = open_causal_lm(name, gguf, torch.float32, where)
    states = PromptStates(model, tokenizer, dtype)
    run = spec.options.get("zscore")
    mean, deviation = statistics(states, run) if run else (np.zeros(()), np.ones(()))

    def encode(texts: Sequence[str]) -> Floats:
        found = (states(texts) - mean) / deviation
        lengths = np.linalg.norm(found, axis=2, keepdims=True)
        unit: Floats = found / np.maximum(lengths, 1e-12)
        return unit.reshape(len(texts), -1)

    scaled = f", z-scored on sentences of {run}" if run else ""
    kind = str(dtype).removeprefix("torch.")
    return CosineScorer(f"PromptEOL of {spec.source} ({kind}){scaled}", encode)


def statistics(states: PromptStates, run: str | Run) -> tuple[Floats, Floats]:
    """Mean and deviation of each dimension, both (templates, hidden size), over `REFERENCES`
    sentences of a run's corpus.

    Raises:
        InputError: The corpus has fewer than 2 sentences of usual length.
        MissingStageError: The run has no corpus.
    """
    corpus, opened = Corpus.open(run), Run.open(run)
    limits = opened.config.corpus
    fitting = np.flatnonzero(
        (corpus.word_counts >= limits.min_words) & (corpus.word_counts <= limits.max_words)
    )
    if len(fitting) < 2:
        raise InputError(
            f"{opened.path}: {len(fitting)} sentences of usual length; z-scores need 2"
        )
    rng = np.random.default_rng(derive_seed(opened.config.seed, "prompt-eol"))
    chosen = rng.choice(fitting, min(REFERENCES, len(fitting)), replace=False)
    found = states(corpus.texts(np.sort(chosen)), "PromptEOL: statistics")
    return found.mean(axis=0), np.maximum(found.std(axis=0), 1e-6)


def identify_prompt_eol(spec: Spec) -> object:
    """Bytes of the model and, where a run is named, its corpus and seed."""
    name, gguf = _model_of(spec)
    run = spec.options.get("zscore")
    seed = Run.open(run).config.seed if run else None
    if gguf:
        model: object = PretrainedFiles.find(name, gguf).fingerprint
    else:
        model = identify_model(spec)
    return model if model == UNKNOWN else fingerprint_value([model, corpus_digest(run), seed])


def _model_of(spec: Spec) -> tuple[str, str | None]:
    """Folder or hub name, and the GGUF file if the source is one."""
    path = Path(str(spec.source))
    if path.suffix == ".gguf":
        if not path.is_file():
            raise InputError(f"{spec}: {path}: no such file")
        return str(path.parent), path.name
    return str(spec.source), None
