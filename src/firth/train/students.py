"""Students and their folders: the models that training starts from, and how they are saved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Normalize,
    Pooling,
    StaticEmbedding,
    Transformer,
)
from tokenizers.processors import TemplateProcessing
from torch import Tensor
from torch.nn import functional
from transformers import (
    BertConfig,
    BertModel,
    EuroBertConfig,
    EuroBertModel,
    PreTrainedTokenizerFast,
)

from firth.encoders.language_model import LanguageModelEncoder
from firth.encoders.pretrained import RunEncoder
from firth.encoders.static import build_static, model_card
from firth.encoders.transformer import open_sentence_transformer
from firth.encoders.words import WORDS, WordSpace
from firth.run.console import quiet_libraries, wrapped
from firth.run.errors import InputError
from firth.run.files import read_json, write_json, write_text
from firth.run.run import Run
from firth.scorer.blend import Blend
from firth.text.types import CosineScorer, Floats, Singles, TextPair
from firth.train.loop import write_tensors
from firth.train.settings import DistillSettings
from firth.train.tokenizer import open_tokenizer

REPORT = "report.json"
_BATCH = 128
_HEAD = 32
"""Dimensions of an attention head of a Transformer from scratch."""
_FIRST_LAYERS = 6
"""Layers of the run's language model that `layers` keeps."""
_LLAMA = (
    "vocab_size", "hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads",
    "head_dim", "hidden_act", "max_position_embeddings", "rms_norm_eps", "rope_parameters",
    "attention_bias", "mlp_bias",
)  # fmt: skip


@dataclass(frozen=True)
class TrainedFolder:
    """What a training left in a folder, with its `report.json`.

    `SentenceTransformer(path)` opens the folder, if it holds an encoder. `reused` says whether it
    was there already.
    """

    path: Path
    report: Mapping[str, Any]
    reused: bool

    @classmethod
    def open(cls, path: str | Path, reused: bool) -> Self:
        """Open what is in a folder."""
        return cls(Path(path), read_json(Path(path) / REPORT), reused)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"path": str(self.path), "reused": self.reused, **self.report}

    def text(self) -> str:
        """Return the report for a screen."""
        return wrapped("\n".join([*self.report["lines"], f"Folder: {self.path}"]))


class BiEncoder:
    """A sentence-transformers model that learns: vectors and cosines."""

    name = "student"

    def __init__(self, module: SentenceTransformer) -> None:
        self.module = module

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return vectors of texts, (n, d), of any length."""
        if not texts:
            return np.zeros((0, self.module.get_embedding_dimension() or 0), np.float32)
        vectors = self.module.encode(list(texts), batch_size=_BATCH, show_progress_bar=False)
        return np.asarray(vectors, np.float32)

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the cosines of n pairs, (n,)."""
        return CosineScorer(self.name, self.encode).similarities(pairs)

    def vectors(self, texts: Sequence[str], max_tokens: int | None = None) -> Tensor:
        """Return vectors with gradients, (n, d), of texts that may be cut at `max_tokens`."""
        longest = self.module.max_seq_length
        if max_tokens is not None and not is_static(self.module):
            self.module.max_seq_length = min(longest or max_tokens, max_tokens)
        prompt = self.module.prompts.get(self.module.default_prompt_name or "")
        features = self.module.preprocess(list(texts), prompt=prompt or None)
        if not is_static(self.module):
            self.module.max_seq_length = longest
        vectors: Tensor = self.module(on_device(features, self.module.device))["sentence_embedding"]
        return vectors

    def scores(self, pairs: Sequence[TextPair]) -> Tensor:
        """Return the cosines of pairs with gradients, (n,)."""
        left, right = (self.vectors(list(side)) for side in zip(*pairs, strict=True))
        return functional.cosine_similarity(left, right)


def on_device(features: Mapping[str, Any], where: torch.device) -> dict[str, Any]:
    """Return what a tokenizer made, on a device."""
    return {k: v.to(where) if isinstance(v, Tensor) else v for k, v in features.items()}


def is_static(model: SentenceTransformer) -> bool:
    """Return whether the model's vectors are means of word vectors."""
    return isinstance(model[0], StaticEmbedding)


def open_student(run: Run, settings: DistillSettings, folder: Path) -> BiEncoder:
    """Return the student before training, whose files are written into a folder.

    Words, tokenizer or language model of the run become the student, as `settings.base` says, else
    an encoder of that name. Torch's seed decides random weights.
    """
    base = settings.base
    if base == "static":
        blend = Blend.of(run)
        space = blend.known(WordSpace.load(run.folder(WORDS)))
        build_static(run, space, blend.spelling_weight, folder)
        static = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        first: Any = static[0]
        first.embedding.padding_idx = 0  # Unknown words do not learn.
        return BiEncoder(static)
    if base == "transformer":
        write_transformer(run, settings, folder)
    elif base == "layers":
        _write_layers(RunEncoder.open(run).encoder, settings.max_tokens, folder)
    else:
        return BiEncoder(open_sentence_transformer(base))
    options = {"dtype": torch.float32}
    network: Any = Transformer(str(folder), model_kwargs=options)
    network.auto_model.get_input_embeddings().requires_grad_(base != "layers")
    modules = [network, Pooling(network.get_embedding_dimension())]
    return BiEncoder(SentenceTransformer(modules=modules, device="cpu", local_files_only=True))


def write_transformer(run: Run, settings: DistillSettings, folder: Path) -> None:
    """Write a BERT with random weights and the run's tokenizer into a folder."""
    width = settings.dimensions
    tokenizer = open_tokenizer(run)
    ends = [(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
    tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=ends
    )
    shape = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=width,
        num_hidden_layers=settings.layers,
        num_attention_heads=width // _HEAD if width % _HEAD == 0 else 1,
        intermediate_size=4 * width,
        max_position_embeddings=settings.max_tokens,
        pad_token_id=tokenizer.token_to_id("<pad>"),
    )
    _write_network(BertModel(shape), folder)
    names = {"pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}
    wrapped: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        model_max_length=settings.max_tokens,
        **{f"{name}_token": token for name, token in names.items()},
    )
    wrapped.save_pretrained(folder)


def _write_layers(encoder: object, max_tokens: int, folder: Path) -> None:
    """Write the first layers of a language model into a folder, as a network that reads both ways.

    EuroBERT is Llama's architecture without the causal mask (Boizard et al. 2025), so that weights
    of the one are weights of the other.
    """
    if not isinstance(encoder, LanguageModelEncoder) or encoder.model.config.model_type != "llama":
        raise InputError(
            "distill.base is layers, and the run's encoder is no language model of type 'llama' "
            "(Llama, SmolLM2, TinyLlama); expected static, transformer, or the name of an encoder"
        )
    body, tokenizer, config = encoder.model.base_model, encoder.tokenizer, encoder.model.config
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token or tokenizer.unk_token
    shape = EuroBertConfig(
        **{name: getattr(config, name) for name in _LLAMA},
        num_hidden_layers=min(_FIRST_LAYERS, config.num_hidden_layers),
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        mask_token_id=tokenizer.pad_token_id,
    )
    student = EuroBertModel(shape)
    student.embed_tokens.load_state_dict(body.embed_tokens.state_dict())
    student.norm.load_state_dict(body.norm.state_dict())
    for number, layer in enumerate(student.layers):
        layer.load_state_dict(body.layers[number].state_dict())
    _write_network(student, folder)
    tokenizer.model_max_length, tokenizer.padding_side = max_tokens, "right"
    tokenizer.save_pretrained(folder)


def _write_network(network: Any, folder: Path) -> None:
    network.config.architectures = [type(network).__name__]
    network.config.dtype = network.dtype
    network.config.save_pretrained(folder)
    write_tensors(folder / "model.safetensors", network.state_dict())


def save_trained(
    folder: Path, model: Any, title: str, report: Mapping[str, Any], use: str = ""
) -> None:
    """Save a model with its report and a card: title, how to use it, and the report's `lines`.

    An encoder gives unit vectors from then on, as firth does with it.
    """
    if isinstance(model, SentenceTransformer) and not isinstance(model[-1], Normalize):
        model.append(Normalize())
    with quiet_libraries():
        model.cpu().save_pretrained(str(folder), create_model_card=False)
    write_json(folder / REPORT, report)
    write_text(folder / "README.md", model_card(title, "\n".join(report["lines"]), use))


def shown_name(model: str | Path) -> str:
    """Return a hub name, or the last two parts of a folder's path."""
    folder = Path(model)
    return "/".join(folder.resolve().parts[-2:]) if folder.is_dir() else str(model)
