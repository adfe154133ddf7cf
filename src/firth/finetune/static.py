"""Word vectors in training: only those of the words that occur, for no other learns anything.

Adam leaves a row without gradients as it is. So a table of the words of the texts at hand learns
what the whole one would, and a step takes a thousandth of the time where a hundred labels meet a
hundred thousand words.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from torch import Tensor, nn
from torch.nn import functional

_TEXTS = 10_000
"""Split into words at once."""


class _Rows(nn.Module):
    """Some rows of a table of word vectors, asked for by their numbers in it."""

    place: Tensor

    def __init__(self, whole: nn.EmbeddingBag, rows: Tensor) -> None:
        super().__init__()
        self.rows = rows
        self.weight = nn.Parameter(whole.weight.detach()[rows].clone())
        place = torch.full((whole.num_embeddings,), -1)
        place[rows] = torch.arange(len(rows))
        self.register_buffer("place", place, persistent=False)
        ignored = whole.padding_idx
        self._ignored = None if ignored is None else int(place[ignored])

    def forward(self, numbers: Tensor, offsets: Tensor) -> Tensor:
        """Means of rows, as of `torch.nn.EmbeddingBag`."""
        return functional.embedding_bag(
            self.place[numbers], self.weight, offsets, mode="mean", padding_idx=self._ignored
        )


def is_static(model: SentenceTransformer) -> bool:
    """Whether a model begins with a table of word vectors."""
    return isinstance(model[0], StaticEmbedding)


@contextmanager
def occurring_words(model: SentenceTransformer, texts: Iterable[str]) -> Iterator[None]:
    """Inside the block a static model knows the words of `texts` alone; other models are as ever.

    At its end the whole table is back, with what was learned.
    """
    first: Any = model[0]
    if not isinstance(first, StaticEmbedding):
        yield
        return
    whole: nn.EmbeddingBag = first.embedding
    rows = _Rows(whole, _numbers(first, texts, whole.padding_idx))
    module: Any = first
    module.embedding = rows
    try:
        yield
    finally:
        module.embedding = whole
        with torch.no_grad():
            whole.weight[rows.rows] = rows.weight.to(whole.weight.device)


def _numbers(module: StaticEmbedding, texts: Iterable[str], ignored: int | None) -> Tensor:
    """Numbers of all words of some texts, ascending; that of ignored ones is among them."""
    found: set[int] = set() if ignored is None else {ignored}
    distinct = list(dict.fromkeys(texts))
    for start in range(0, len(distinct), _TEXTS):
        some = module.tokenizer.encode_batch(
            distinct[start : start + _TEXTS], add_special_tokens=False
        )
        for encoding in some:
            found.update(encoding.ids)
    return torch.tensor(sorted(found), dtype=torch.long)
