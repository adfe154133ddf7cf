"""Any pretrained sentence encoder: as it comes, tuned, its dimensions scaled by the corpus."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from torch import nn
from torch.nn import functional

from firth.context.encoder import unit
from firth.context.kept import Kept
from firth.context.language_model import upper_layers
from firth.context.settings import Encoder, Scale, TuneConfig
from firth.context.word_states import WordStates, has_states
from firth.lexical.arrays import Floats
from firth.lexical.words import Stemmer
from firth.run.errors import InputError
from firth.run.pretrained import open_encoder
from firth.run.progress import bar
from firth.run.quiet import quiet_libraries
from firth.run.section import Pooling
from firth.run.seeds import derive_seed

_CHUNK = 512
"""Texts between two moves of the bar."""
_LAYERS = 2
_RATES = {"layers": 2e-5, "matrix": 1e-3}


@dataclass(frozen=True, eq=False)
class Scaling:
    """What is done to each dimension of a vector: (v - mean) / deviation.

    Attributes:
        mean: (d,).
        deviation: (d,), above 0.
    """

    mean: Floats
    deviation: Floats

    @classmethod
    def fit(cls, vectors: Floats, scale: Scale) -> Self:
        """By the vectors of sentences of the corpus, (n, d)."""
        zeros, ones = np.zeros(vectors.shape[1]), np.ones(vectors.shape[1])
        if scale is Scale.NONE:
            return cls(zeros, ones)
        wide = scale is Scale.STANDARDISED
        deviation = np.maximum(vectors.std(axis=0), 1e-6) if wide else ones
        return cls(vectors.mean(axis=0), deviation)

    @property
    def changes(self) -> bool:
        """Whether it does anything."""
        return bool(self.mean.any() or (self.deviation != 1).any())

    def __call__(self, vectors: Floats) -> Floats:
        """Scaled, as unit vectors."""
        return unit((vectors - self.mean) / self.deviation)


class GivenEncoder:
    """A sentence-transformers model as sentence encoder of a run.

    Args:
        model: Is put into evaluation mode and frozen.
        name: What it is, for people.
    """

    kind: ClassVar[Encoder] = Encoder.SENTENCE_ENCODER

    def __init__(self, model: SentenceTransformer, name: str) -> None:
        self.model, self.name = model.eval().requires_grad_(False), name
        self.words: WordStates | None = None

    @classmethod
    def open(cls, model: str, pooling: Pooling | None, seed: int) -> Self:
        """Open an encoder by folder or hub name.

        Args:
            model: Folder or hub name.
            pooling: Of a bare encoder; None takes the mean.
            seed: Of weights that the folder does not hold (a head that sentences do not use).

        Raises:
            InputError: As `firth.run.pretrained.open_encoder`; or it cuts its vectors.
        """
        torch.manual_seed(derive_seed(seed, "own encoder"))
        found = open_encoder(model, None, pooling)
        if found.truncate_dim is not None:
            raise InputError(
                f"{model}: keeps {found.truncate_dim} dimensions of its vectors (truncate_dim in "
                "config_sentence_transformers.json), which cannot be adapted. Take that line out"
            )
        return cls(found, Path(model).name)

    def raw(self, texts: Sequence[str], title: str = "Sentence vectors") -> Floats:
        """Vectors of `texts` as the model gives them, (n, d), of any length."""
        found = np.zeros((len(texts), self.model.get_embedding_dimension() or 0))
        with bar(title, len(texts)) as shown, quiet_libraries():
            for start in range(0, len(texts), _CHUNK):
                some = list(texts[start : start + _CHUNK])
                found[start : start + len(some)] = self.model.encode(some, show_progress_bar=False)
                shown.advance(len(some))
        return found

    def encode(self, texts: Sequence[str], title: str = "Sentence vectors") -> Floats:
        """Vectors of `texts`, shape (n, d)."""
        return unit(self.raw(texts, title))

    def vectors(self, texts: Sequence[str], max_tokens: int) -> torch.Tensor:
        """Vectors to learn from, (n, d), of texts cut at `max_tokens`."""
        prompt = self.model.prompts.get(self.model.default_prompt_name or "")
        with self._reading(max_tokens):
            features = self.model.preprocess(list(texts), prompt=prompt or None)
        where = self.model.device
        placed = {k: v.to(where) if isinstance(v, torch.Tensor) else v for k, v in features.items()}
        return functional.normalize(self.model(placed)["sentence_embedding"].float().cpu(), dim=1)

    def learning(self, config: TuneConfig) -> tuple[nn.Module, float]:
        """The part of the model that is tuned, and its learning rate.

        Raises:
            InputError: The model has no list of layers, and is not static.
        """
        first: Any = self.model[0]
        if isinstance(first, StaticEmbedding):
            return first.embedding, config.learning_rate or _RATES["matrix"]
        network = self.model.transformers_model
        if network is None:
            raise InputError(
                f"{self.name}: neither a Transformer nor static, so it cannot be tuned. Set "
                "context.tune.steps to 0"
            )
        layers = upper_layers(network, config.layers or _LAYERS)
        return layers, config.learning_rate or _RATES["layers"]

    def read_words(self, stemmer: Stemmer, texts: Sequence[str]) -> None:
        """Compare words by their states from now on, if there are any; `texts` centre them."""
        if has_states(self.model):
            self.words = WordStates.fit(self.model, stemmer, texts)

    def scale(self, scaling: Scaling) -> None:
        """Scale the vectors from now on: two modules more at the end of the model."""
        if not scaling.changes:
            return
        weight = torch.from_numpy(np.diag(1 / scaling.deviation)).float()
        bias = torch.from_numpy(-scaling.mean / scaling.deviation).float()
        size = len(bias)
        dense = Dense(size, size, True, nn.Identity(), weight, bias)
        for module in (dense, Normalize()):
            self.model.append(module.to(self.model.device).requires_grad_(False))

    @classmethod
    def load(cls, folder: Path, stemmer: Stemmer) -> Self:
        """Open what the stage `context` kept of it.

        Args:
            folder: Of the stage.
            stemmer: Of its words.

        Raises:
            InputError: The pretrained model is gone, has changed, or cannot be loaded.
        """
        kept = Kept.load(folder)
        pooling = kept.settings["pooling"]
        found = cls.open(kept.files.model, pooling and Pooling(pooling), 0)
        if kept.tuned:
            part, _ = found.learning(TuneConfig(layers=kept.settings["layers"]))
            part.load_state_dict(dict(kept.tuned))
        found.scale(Scaling(kept.mean, kept.deviation))
        found.name = f"{kept.name}, {kept.settings['candidate']}"
        if kept.words is not None:
            found.words = WordStates(found.model, stemmer, kept.words)
        return found

    @contextmanager
    def _reading(self, max_tokens: int) -> Iterator[None]:
        """Texts are cut at `max_tokens` inside; a static model reads them whole."""
        longest = self.model.max_seq_length
        if isinstance(self.model[0], StaticEmbedding):
            yield
            return
        self.model.max_seq_length = min(longest or max_tokens, max_tokens)
        try:
            yield
        finally:
            self.model.max_seq_length = longest
