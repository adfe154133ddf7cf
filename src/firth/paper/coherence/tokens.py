"""Sentences as word pieces, and batches of sentences of similar length."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch import Tensor

from firth.run.files import write_atomically

Pieces = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int64]

_LENGTH_STEP = 4
"""Padded lengths are multiples of this: fewer shapes, for which kernels are made only once."""


@dataclass(frozen=True)
class TokenizedSentences:
    """Sentences as runs of one flat array; `pieces` may be memory-mapped.

    Attributes:
        pieces: Piece numbers of all sentences, one after the other.
        bounds: Sentence i is `pieces[bounds[i]:bounds[i + 1]]`, at least one piece.
    """

    pieces: Pieces
    bounds: Indices

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def padded(self, sentences: Indices) -> tuple[Tensor, Tensor]:
        """Piece numbers (n, longest), padded on the right, and lengths (n,), both int64."""
        starts = self.bounds[sentences]
        lengths = self.bounds[sentences + 1] - starts
        longest = -(-int(lengths.max()) // _LENGTH_STEP) * _LENGTH_STEP
        places = np.arange(longest)
        real = places < lengths[:, None]
        tokens = np.zeros((len(sentences), longest), np.int64)
        tokens[real] = self.pieces[(starts[:, None] + places)[real]]
        return torch.from_numpy(tokens), torch.from_numpy(lengths)

    def batches(self, sentences: Indices, budget: int) -> Iterator[Indices]:
        """Positions in `sentences`, the longest first, in batches of `budget` padded pieces.

        A sentence longer than the budget is a batch of its own.
        """
        lengths = self.bounds[sentences + 1] - self.bounds[sentences]
        order = np.argsort(-lengths, kind="stable")
        start = 0
        while start < len(order):
            longest = -(-int(lengths[order[start]]) // _LENGTH_STEP) * _LENGTH_STEP
            end = start + max(1, budget // longest)
            yield order[start:end]
            start = end


def tokenize(texts: Sequence[str], tokenizer: Tokenizer, max_tokens: int) -> TokenizedSentences:
    """Word pieces of `texts`, each cut to its first `max_tokens`; an empty one is one `</s>`."""
    # A lone surrogate, which a str may hold, has no UTF-8 form: it is read as a question mark.
    clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
    end = tokenizer.get_vocab()["</s>"]
    rows = [
        encoding.ids[:max_tokens] or [end]
        for encoding in tokenizer.encode_batch_fast(clean, add_special_tokens=False)
    ]
    bounds = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=bounds[1:])
    pieces = np.fromiter(chain.from_iterable(rows), np.int32, count=int(bounds[-1]))
    return TokenizedSentences(pieces, bounds)


def tokenize_corpus(
    batches: Iterable[Sequence[str]], tokenizer: Tokenizer, max_tokens: int, scratch: Path
) -> TokenizedSentences:
    """`tokenize` for a whole corpus, in flat memory: the pieces lie in a file under `scratch`."""
    pieces, bounds = scratch / "pieces.i32", scratch / "bounds.npy"
    if not bounds.is_file():
        lengths = []
        with pieces.open("wb") as file:
            for texts in batches:
                block = tokenize(texts, tokenizer, max_tokens)
                block.pieces.tofile(file)
                lengths.append(np.diff(block.bounds))
        with write_atomically(bounds) as partial, partial.open("wb") as file:
            np.save(file, np.concatenate(([0], np.cumsum(np.concatenate(lengths)))))
    return TokenizedSentences(np.memmap(pieces, np.int32, mode="r"), np.load(bounds))
