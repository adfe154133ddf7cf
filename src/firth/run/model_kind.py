"""What a pretrained model is, by the files of its folder; no library opens it."""

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

MODULES = "modules.json"
"""The list of a sentence-transformers model's parts."""


class ModelKind(StrEnum):
    """What a model is."""

    CAUSAL_LM = "causal-lm"
    """A left-to-right language model."""
    SENTENCE_ENCODER = "sentence-encoder"
    """A sentence-transformers model, with a pooling of its own."""
    MASKED_LM = "masked-lm"
    """A masked language model, or another bare encoder."""
    CROSS_ENCODER = "cross-encoder"
    """It reads two texts at once, and gives a score or the odds of classes."""
    SPARSE_ENCODER = "sparse-encoder"
    """Its vectors are weights of words."""
    MULTI_VECTOR = "multi-vector-encoder"
    """It gives a text a vector for each token."""
    OTHER = "other"
    """It labels tokens, answers questions, sees images, …"""


WITHOUT_VECTORS: Mapping[ModelKind, str] = {
    ModelKind.CROSS_ENCODER: "a cross-encoder or another classifier, which gives sentences no "
    "vectors of their own",
    ModelKind.SPARSE_ENCODER: "a sparse encoder, whose vectors are weights of words, which firth "
    "has no use for",
    ModelKind.MULTI_VECTOR: "an encoder of a vector a token, which firth has no use for",
    ModelKind.OTHER: "a model for another task than sentences",
}
"""Kinds that have no vector for a single sentence, in words."""

_OF_LIBRARY = {
    "CrossEncoder": ModelKind.CROSS_ENCODER,
    "SparseEncoder": ModelKind.SPARSE_ENCODER,
    "MultiVectorEncoder": ModelKind.MULTI_VECTOR,
    "ColBERT": ModelKind.MULTI_VECTOR,
}
_PACKAGES = {
    "sentence_transformers.cross_encoder.": ModelKind.CROSS_ENCODER,
    "sentence_transformers.sparse_encoder.": ModelKind.SPARSE_ENCODER,
    "sentence_transformers.multi_vector_encoder.": ModelKind.MULTI_VECTOR,
}
_ELSEWHERE = ("TokenClassification", "QuestionAnswering", "MultipleChoice", "NextSentence",
              "ImageClassification", "AudioClassification", "CTC", "ObjectDetection")  # fmt: skip


def kind_in(folder: Path, gguf_file: str | None = None) -> ModelKind:
    """What the model of a folder is; `gguf_file` is what its weights come as, if they do."""
    if gguf_file is not None:
        return ModelKind.CAUSAL_LM
    said = _mapping(folder / "config_sentence_transformers.json").get("model_type")
    if found := _OF_LIBRARY.get(str(said)):
        return found
    config = _mapping(folder / "config.json")
    named = config.get("architectures")
    names = [str(each) for each in named] if isinstance(named, list) else []
    if (folder / MODULES).is_file():
        modules = plain_json(folder / MODULES)
        types = [str(one.get("type")) for one in modules if isinstance(one, dict)] if isinstance(
            modules, list
        ) else []  # fmt: skip
        several = (kind for start, kind in _PACKAGES.items()
                   if any(each.startswith(start) for each in types))  # fmt: skip
        return next(several, ModelKind.SENTENCE_ENCODER)
    if any("SequenceClassification" in each for each in names):
        return ModelKind.CROSS_ENCODER
    if any(each.endswith(f"For{task}") for each in names for task in _ELSEWHERE):
        return ModelKind.OTHER
    if any(each.endswith(("ForCausalLM", "LMHeadModel")) for each in names):
        return ModelKind.CAUSAL_LM
    if any("MaskedLM" in each for each in names):
        return ModelKind.MASKED_LM
    from transformers.models.auto import modeling_auto

    kind = config.get("model_type")
    left_to_right = kind in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    both_ways = kind in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    return ModelKind.CAUSAL_LM if left_to_right and not both_ways else ModelKind.MASKED_LM


def plain_json(path: Path) -> Any:
    """The value of a JSON file; None where it is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _mapping(path: Path) -> Mapping[str, Any]:
    value = plain_json(path)
    return value if isinstance(value, dict) else {}
