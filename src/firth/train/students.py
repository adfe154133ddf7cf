"""Students: the models that training starts from, and the folders of what they became."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
from torch import Tensor
from torch.nn import functional

from firth.encoders.static import model_card
from firth.encoders.transformer import open_sentence_transformer
from firth.run.console import quiet_libraries, wrapped
from firth.run.files import read_json, write_json, write_text
from firth.text.types import CosineScorer, Floats, Singles, TextPair

REPORT = "report.json"
_BATCH = 128


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

    @classmethod
    def open(cls, encoder: str | Path) -> Self:
        """Open an encoder by folder or name; unknown words of a static one do not learn."""
        module = open_sentence_transformer(str(encoder))
        first: Any = module[0]
        if is_static(module):
            first.embedding.padding_idx = 0
        return cls(module)

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return vectors of texts, (n, d), of any length."""
        if not texts:
            return np.zeros((0, self.module.get_embedding_dimension() or 0), np.float32)
        vectors = self.module.encode(list(texts), batch_size=_BATCH, show_progress_bar=False)
        return np.asarray(vectors, np.float32)

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the cosines of n pairs, (n,)."""
        return CosineScorer(self.name, self.encode).similarities(pairs)

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Return vectors with gradients, (n, d)."""
        prompt = self.module.prompts.get(self.module.default_prompt_name or "")
        features = self.module.preprocess(list(texts), prompt=prompt or None)
        vectors: Tensor = self.module(on_device(features, self.module.device))["sentence_embedding"]
        return vectors

    def scores(self, pairs: Sequence[TextPair]) -> Tensor:
        """Return the cosines of pairs with gradients, (n,)."""
        a, b = (self.vectors(list(side)) for side in zip(*pairs, strict=True))
        return functional.cosine_similarity(a, b)


def on_device(features: Mapping[str, Any], where: torch.device) -> dict[str, Any]:
    """Return what a tokenizer made, on a device."""
    return {k: v.to(where) if isinstance(v, Tensor) else v for k, v in features.items()}


def is_static(model: SentenceTransformer) -> bool:
    """Return whether the model's vectors are means of word vectors."""
    return isinstance(model[0], StaticEmbedding)


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
