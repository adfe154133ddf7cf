"""Students and their folders: the models that training starts from, and how they are saved."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors.torch import save_file
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Pooling,
    StaticEmbedding,
    Transformer,
)
from tokenizers.processors import TemplateProcessing
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    BertConfig,
    BertModel,
    EuroBertConfig,
    EuroBertModel,
    PreTrainedTokenizerFast,
)

from firth.corpus.tokenizer import open_tokenizer
from firth.encoders.folder import PretrainedFiles
from firth.encoders.transformer import open_sentence_transformer
from firth.run.console import quiet_libraries
from firth.run.errors import InputError
from firth.run.files import read_json, write_atomically, write_text
from firth.run.outputs import write_folder
from firth.run.run import Run
from firth.run.settings import DistillSettings
from firth.run.stage import Fill
from firth.text.arrays import Floats, Singles
from firth.text.pairs import CosineScorer, TextPair

REPORT = "report.json"
_BATCH = 128
_HEAD = 32
"""Dimensions of an attention head of a Transformer from scratch."""
_FIRST_LAYERS = 6
"""Layers of the run's language model that `layers` keeps."""
_SHARED = (
    "vocab_size", "hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads",
    "head_dim", "hidden_act", "max_position_embeddings", "rms_norm_eps", "rope_parameters",
    "attention_bias", "mlp_bias",
)  # fmt: skip


class BiEncoder:
    """A sentence-transformers model that learns."""

    name = "student"

    def __init__(self, module: SentenceTransformer) -> None:
        self.module = module

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return vectors of texts, (n, d), of any length."""
        if not texts:
            return np.zeros((0, self.module.get_embedding_dimension() or 0), np.float32)
        found = self.module.encode(list(texts), batch_size=_BATCH, show_progress_bar=False)
        return np.asarray(found, np.float32)

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the cosines of n pairs, (n,)."""
        return CosineScorer(self.name, self.encode).similarities(pairs)

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Return vectors of texts with gradients, (n, d)."""
        prompt = self.module.prompts.get(self.module.default_prompt_name or "")
        features = self.module.preprocess(list(texts), prompt=prompt or None)
        vectors: Tensor = self.module(on_device(features, self.module.device))["sentence_embedding"]
        return vectors

    def scores(self, pairs: Sequence[TextPair]) -> Tensor:
        """Return the cosines of pairs with gradients, (n,)."""
        one, two = (self.vectors(list(side)) for side in zip(*pairs, strict=True))
        return functional.cosine_similarity(one, two)


class PairEncoder:
    """A cross-encoder that learns: both texts in one input, one number out (Sun et al., §5.6)."""

    name = "student"

    def __init__(self, module: CrossEncoder) -> None:
        # Read without a sigmoid, its answers are labels.
        module.activation_fn = nn.Identity()
        self.module = module

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the scores of n pairs, (n,)."""
        if not pairs:
            return np.zeros(0)
        found = self.module.predict(list(pairs), batch_size=_BATCH, show_progress_bar=False)
        return np.asarray(found, np.float64).reshape(len(pairs))

    def scores(self, pairs: Sequence[TextPair]) -> Tensor:
        """Return the scores of pairs with gradients, (n,)."""
        features = on_device(self.module.preprocess(list(pairs)), self.module.device)
        scores: Tensor = self.module(features)["scores"]
        return scores.view(-1)


@dataclass(frozen=True)
class TrainedFolder:
    """What a training left in a folder.

    Attributes:
        path: The folder, which `SentenceTransformer(path)` opens if it holds a model.
        report: Contents of its `report.json`.
        reused: Whether it was there already.
    """

    path: Path
    report: Mapping[str, Any]
    reused: bool

    @classmethod
    def build(
        cls,
        encoder: str | Path,
        out: str | Path,
        fill: Fill,
        settings: Mapping[str, Any],
        force: bool,
    ) -> Self:
        """Fill a folder that a user named with what an encoder has learned (`write_folder`)."""
        inputs = {"encoder": PretrainedFiles.find(str(encoder)).fingerprint}
        with quiet_libraries():
            open_sentence_transformer(str(encoder))  # A refused encoder ends here.
            outcome = write_folder(
                out, fill, command="train finetune", settings=settings, inputs=inputs, force=force
            )
        return cls(Path(out), read_json(Path(out) / REPORT), outcome.reused)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"path": str(self.path), "reused": self.reused, **self.report}

    def text(self) -> str:
        """Return the report for a screen."""
        raise NotImplementedError


def on_device(features: Mapping[str, Any], where: torch.device) -> dict[str, Any]:
    """Return what a tokenizer made, on a device."""
    return {k: v.to(where) if isinstance(v, Tensor) else v for k, v in features.items()}


def shown_name(model: str | Path) -> str:
    """Return a hub name, or the last two parts of a folder's path."""
    folder = Path(model)
    return "/".join(folder.resolve().parts[-2:]) if folder.is_dir() else str(model)


def is_static(model: SentenceTransformer) -> bool:
    """Return whether the model's vectors are means of word vectors."""
    return isinstance(model[0], StaticEmbedding)


@contextmanager
def explicit_attention(model: Any, where: torch.device) -> Iterator[None]:
    """Compute attention product by product on a processor inside.

    The backward pass of torch's fused kernel takes as long there as all other products together.
    """
    network = getattr(model, "transformers_model", None)
    if network is None or where.type != "cpu":
        yield
        return
    usual = network.config._attn_implementation
    network.set_attn_implementation("eager")
    try:
        yield
    finally:
        network.set_attn_implementation(usual)


def transformer_from_scratch(run: Run, settings: DistillSettings, folder: Path) -> None:
    """Write a BERT with random weights and the run's tokenizer into a folder.

    torch's seed decides the weights.
    """
    width = settings.dimensions or 256
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
    write_network(BertModel(shape), folder)
    wrapped: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        model_max_length=settings.max_tokens,
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        mask_token="<mask>",
    )
    wrapped.save_pretrained(folder)


def layers_of_language_model(model: Any, tokenizer: Any, max_tokens: int, folder: Path) -> None:
    """Write the first layers of a causal language model, which read in both directions.

    EuroBERT is Llama's architecture without the causal mask (Boizard et al. 2025), so that weights
    of the one are weights of the other.

    Raises:
        InputError: The model is not of Llama's architecture.
    """
    if (kind := model.config.model_type) != "llama":
        raise InputError(
            f"distill.base is layers, and the run's language model is of type {kind!r}. Only type "
            "'llama' (Llama, SmolLM2, TinyLlama) can read in both directions. Set distill.base to "
            "static, transformer, or the folder or hub name of an encoder."
        )
    config = model.config
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    count = min(_FIRST_LAYERS, config.num_hidden_layers)
    shape = EuroBertConfig(
        **{name: getattr(config, name) for name in _SHARED},
        num_hidden_layers=count,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        mask_token_id=tokenizer.pad_token_id,
    )
    student, body = EuroBertModel(shape), model.base_model
    student.embed_tokens.load_state_dict(body.embed_tokens.state_dict())
    student.norm.load_state_dict(body.norm.state_dict())
    for number, layer in enumerate(student.layers):
        layer.load_state_dict(body.layers[number].state_dict())
    write_network(student, folder)
    tokenizer.model_max_length = max_tokens
    tokenizer.padding_side = "right"
    tokenizer.save_pretrained(folder)


def mean_pooled(folder: Path) -> SentenceTransformer:
    """Return the Transformer of a folder with mean pooling."""
    network = Transformer(str(folder), model_kwargs={"dtype": torch.float32})
    pooling = Pooling(network.get_embedding_dimension())
    return SentenceTransformer(modules=[network, pooling], device="cpu", local_files_only=True)


def open_static(folder: Path) -> SentenceTransformer:
    """Return the static encoder of a folder. Its vector of unknown words does not learn."""
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    model[0].embedding.padding_idx = 0
    return model


def freeze_words(model: SentenceTransformer) -> SentenceTransformer:
    """Return a Transformer whose word embeddings do not learn."""
    network: Any = model[0].auto_model
    network.get_input_embeddings().weight.requires_grad_(False)
    return model


def save_model(model: SentenceTransformer | CrossEncoder, folder: Path) -> None:
    """Save a model without the card of the library."""
    model.cpu().save_pretrained(str(folder), create_model_card=False)


def write_network(network: Any, folder: Path) -> None:
    """Write a network of transformers and its configuration into a folder that opens as one."""
    network.config.architectures = [type(network).__name__]
    network.config.dtype = network.dtype
    network.config.save_pretrained(folder)
    weights = {name: one.detach().contiguous() for name, one in network.state_dict().items()}
    with write_atomically(folder / "model.safetensors") as partial:
        save_file(weights, partial, metadata={"format": "pt"})


def write_card(
    folder: Path, title: str, summary: str, sections: Mapping[str, str], cross: bool = False
) -> None:
    """Write README.md of a model folder: what the model is, how to use it, and some sections."""
    parts = [_FRONT, f"# {title}", summary, "## Use", _USE_CROSS if cross else _USE]
    for heading, text in sections.items():
        parts += [f"## {heading}", text]
    write_text(folder / "README.md", "\n\n".join(parts) + "\n")


def markdown(rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table; the first row is the header."""
    head, *body = [[str(cell) for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_FRONT = """\
---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags:
- sentence-transformers
- sentence-similarity
- feature-extraction
- firth
---"""
_USE = """\
```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("path/to/this/folder")
vectors = model.encode(["The judge praised the witness.", "The court thanked him."])
print(model.similarity(vectors, vectors))
```"""
_USE_CROSS = """\
```python
from sentence_transformers import CrossEncoder

model = CrossEncoder("path/to/this/folder")
print(model.predict([("The judge praised the witness.", "The court thanked him.")]))
```"""
