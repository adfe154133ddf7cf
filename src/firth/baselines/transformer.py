"""Encoders as scorers: pooled tokens of a model nobody tuned for sentences, and of one tuned."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.lexical.arrays import Floats
from firth.lexical.scorer import CosineScorer
from firth.run.pretrained import open_encoder, open_transformer
from firth.run.quiet import quiet_libraries

if TYPE_CHECKING:
    import torch

_BATCH = 32
_LONGEST = 512
"""Tokens a text is cut at when the model allows more, or does not say."""


class Pool(StrEnum):
    """How token vectors become a sentence vector; special tokens count as tokens."""

    MEAN = "mean"
    """Mean over the tokens of the last layer."""
    MAX = "max"
    """Largest value in each dimension over the tokens of the last layer."""
    FIRST_LAST = "first-last"
    """Mean of the means over the first Transformer layer's output and the last one's."""
    CLS = "cls"
    """The first token of the last layer: [CLS], <s>."""


def open_pooled(name: str, pool: Pool = Pool.MEAN) -> CosineScorer:
    """Open an encoder by folder or hub name; scores are cosines of its pooled token vectors.

    Float32, without dropout. Pickled weights and remote code are refused.

    Args:
        name: Folder or hub name of a BERT, RoBERTa or the like.
        pool: How tokens become a sentence.

    Raises:
        InputError: It cannot be loaded.
    """
    model, tokenizer = open_transformer(name)
    encoder = TokenPooler(model, tokenizer, pool)
    title = {
        Pool.MEAN: "mean of the last layer",
        Pool.MAX: "max of the last layer",
        Pool.FIRST_LAST: "mean of the first and last layer",
        Pool.CLS: "first token of the last layer",
    }[pool]
    return CosineScorer(f"{title} of {name}, texts cut at {encoder.longest} tokens", encoder.encode)


def open_sentence_encoder(name: str, title: str) -> CosineScorer:
    """Cosine of the sentence vectors of a sentence-transformers model.

    Args:
        name: Folder or hub name.
        title: What it is, for people.

    Raises:
        InputError: It is no sentence encoder, or cannot be loaded.
    """
    model = open_encoder(name, None).eval()

    def encode(texts: Sequence[str]) -> Floats:
        with quiet_libraries():
            found = model.encode(list(texts), show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(found, dtype=np.float64)

    return CosineScorer(title, encode)


class TokenPooler:
    """Texts → pooled token vectors.

    Args:
        model: A Transformer encoder, in evaluation mode.
        tokenizer: Its tokenizer.
        pool: How tokens become a sentence.

    Attributes:
        longest: Tokens, special ones included, that a text is cut at.
    """

    def __init__(self, model: Any, tokenizer: Any, pool: Pool) -> None:
        self._model, self._tokenizer, self._pool = model, tokenizer, pool
        positions = getattr(model.config, "max_position_embeddings", _LONGEST)
        if "roberta" in str(model.config.model_type):
            positions -= model.config.pad_token_id + 1  # its first positions are never used
        self.longest = int(min(positions, tokenizer.model_max_length, _LONGEST))

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors (n, hidden size); zero for a text without any token."""
        ids = self._tokenizer(list(texts), truncation=True, max_length=self.longest)["input_ids"]
        vectors = np.zeros((len(texts), self._model.config.hidden_size))
        order = sorted((i for i in range(len(texts)) if ids[i]), key=lambda i: len(ids[i]))
        for chosen, pooled in self._batches(ids, order):
            vectors[chosen] = pooled
        return vectors

    def _batches(
        self, ids: list[list[int]], order: list[int]
    ) -> Iterator[tuple[list[int], Floats]]:
        import torch

        for start in range(0, len(order), _BATCH):
            chosen = order[start : start + _BATCH]
            width = max(len(ids[i]) for i in chosen)
            pad = self._tokenizer.pad_token_id or 0
            rows = torch.tensor([ids[i] + [pad] * (width - len(ids[i])) for i in chosen])
            mask = torch.tensor([[1] * len(ids[i]) + [0] * (width - len(ids[i])) for i in chosen])
            device = self._model.device
            with torch.inference_mode():
                found = self._model(
                    input_ids=rows.to(device),
                    attention_mask=mask.to(device),
                    output_hidden_states=True,
                )
            pooled = self._pooled(found.hidden_states, found.last_hidden_state, mask.to(device))
            yield chosen, pooled.cpu().double().numpy()

    def _pooled(
        self, layers: "Sequence[torch.Tensor]", last: "torch.Tensor", mask: "torch.Tensor"
    ) -> "torch.Tensor":
        """Token vectors (b, t, h) and mask (b, t) → sentence vectors (b, h)."""
        inside = mask.unsqueeze(-1)
        if self._pool is Pool.CLS:
            return last[:, 0]
        if self._pool is Pool.MAX:
            return last.masked_fill(inside == 0, float("-inf")).amax(dim=1)
        states = (layers[1] + last) / 2 if self._pool is Pool.FIRST_LAST else last
        return (states * inside).sum(dim=1) / inside.sum(dim=1)
