"""PromptEOL (Jiang et al. 2023): a causal language model asked for the sentence in one word.

Nothing is trained. The states are those of `firth.context.language_model`, of two prompts.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from firth.baselines.spec import Spec
from firth.context.language_model import PromptStates
from firth.lexical.arrays import Floats
from firth.lexical.scorer import CosineScorer
from firth.run.errors import InputError
from firth.run.section import Precision

TEMPLATES = (
    'This sentence : "{}" means in one word:"',
    'The essence of the sentence "{}" is captured by the word "',
)
LONGEST, REFERENCES = 256, 1_000
"""Tokens read of a sentence; sentences of a corpus from which means and deviations are taken."""


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
    precision = Precision.FLOAT32 if "float32" in spec.options else Precision.AUTO
    states = PromptStates.open(*model_of(spec), precision, TEMPLATES, LONGEST)
    run = spec.options.get("zscore")
    mean, deviation = np.zeros(()), np.ones(())
    if run:
        mean, deviation = states.statistics(run, REFERENCES)

    def encode(texts: Sequence[str]) -> Floats:
        found = (states(texts) - mean) / deviation
        lengths = np.linalg.norm(found, axis=2, keepdims=True)
        unit: Floats = found / np.maximum(lengths, 1e-12)
        return unit.reshape(len(texts), -1)

    scaled = f", z-scored on sentences of {run}" if run else ""
    kind = str(states.dtype).removeprefix("torch.")
    return CosineScorer(f"PromptEOL of {spec.source} ({kind}){scaled}", encode)


def model_of(spec: Spec) -> tuple[str, str | None]:
    """Folder or hub name, and the GGUF file if the source is one; raise `InputError` if gone."""
    path = Path(str(spec.source))
    if path.suffix == ".gguf":
        if not path.is_file():
            raise InputError(f"{spec}: {path}: no such file")
        return str(path.parent), path.name
    return str(spec.source), None
