"""Sentences as word pieces, and as vectors: batches of similar length, the cache of a corpus."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch import Tensor

from firth.paper.coherence.model import Indices, SentenceEncoder
from firth.paper.tokens import encodable, stored_tokens
from firth.run.files import read_json, reserve, write_json
from firth.run.progress import bar

VECTORS = "vectors.npy"
BATCH_PIECES = 8_192
"""Padded word pieces read at once."""
BLOCK = 16_384
"""Sentences sorted by length together, and between two marks to resume at."""
_LENGTH_STEP = 4
"""Padded lengths are multiples of this: fewer shapes, for which kernels are made only once."""


@dataclass(frozen=True)
class TokenizedSentences:
    """Sentences as runs of one flat array; `pieces` may be memory-mapped.

    Attributes:
        pieces: Piece numbers of all sentences, one after the other.
        bounds: Sentence i is `pieces[bounds[i]:bounds[i + 1]]`, at least one piece.
    """

    pieces: npt.NDArray[np.int32]
    bounds: Indices

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def padded(self, sentences: Indices) -> tuple[Tensor, Tensor]:
        """Piece numbers (n, longest), padded on the right, and lengths (n,), both int64."""
        starts = self.bounds[sentences]
        lengths = self.bounds[sentences + 1] - starts
        places = np.arange(_rounded_up(int(lengths.max())))
        real = places < lengths[:, None]
        tokens = np.zeros(real.shape, np.int64)
        tokens[real] = self.pieces[(starts[:, None] + places)[real]]
        return torch.from_numpy(tokens), torch.from_numpy(lengths)

    def batches(self, sentences: Indices, budget: int) -> Iterator[Indices]:
        """Places in `sentences`, the longest first, in batches of `budget` padded pieces.

        A sentence longer than the budget is a batch of its own.
        """
        lengths = self.bounds[sentences + 1] - self.bounds[sentences]
        order = np.argsort(-lengths, kind="stable")
        start = 0
        while start < len(order):
            end = start + max(1, budget // _rounded_up(int(lengths[order[start]])))
            yield order[start:end]
            start = end


def _rounded_up(length: int) -> int:
    return -(-length // _LENGTH_STEP) * _LENGTH_STEP


def _rows(texts: Sequence[str], tokenizer: Tokenizer, max_tokens: int) -> list[list[int]]:
    end = tokenizer.get_vocab()["</s>"]
    clean = [encodable(text) for text in texts]
    found = tokenizer.encode_batch_fast(clean, add_special_tokens=False)
    return [encoding.ids[:max_tokens] or [end] for encoding in found]


def tokenize(texts: Sequence[str], tokenizer: Tokenizer, max_tokens: int) -> TokenizedSentences:
    """Word pieces of `texts`, each cut to its first `max_tokens`; an empty one is one `</s>`."""
    rows = _rows(texts, tokenizer, max_tokens)
    bounds = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
    return TokenizedSentences(np.fromiter(chain.from_iterable(rows), np.int32), bounds)


def tokenize_corpus(
    batches: Iterable[Sequence[str]], tokenizer: Tokenizer, max_tokens: int, scratch: Path
) -> TokenizedSentences:
    """`tokenize` for a whole corpus, in flat memory: the pieces lie in a file under `scratch`."""
    found = stored_tokens(batches, lambda texts: _rows(texts, tokenizer, max_tokens), scratch)
    return TokenizedSentences(*found)


def encode(encoder: SentenceEncoder, tokens: TokenizedSentences, sentences: Indices) -> Tensor:
    """Vectors of `sentences` in their order, float32 of shape (n, 2 * hidden), on the encoder's
    device."""
    batches = list(tokens.batches(sentences, BATCH_PIECES))
    where = encoder.pieces.weight.device
    read = (tokens.padded(sentences[batch]) for batch in batches)
    vectors = torch.cat([encoder(*(part.to(where) for part in padded)) for padded in read])
    place = np.empty(len(sentences), np.int64)
    place[np.concatenate(batches)] = np.arange(len(sentences))
    return vectors[torch.from_numpy(place).to(where)]


def encode_corpus(
    encoder: SentenceEncoder, tokens: TokenizedSentences, path: Path, scratch: Path
) -> None:
    """Write the vectors of all sentences to `path`, float16 .npy of shape (n, 2 * hidden).

    An interrupted call is continued at the block it was in.
    """
    mark = scratch / "encoded.json"
    size, where = 2 * encoder.rightward.hidden_size, encoder.pieces.weight.device
    start = read_json(mark) if mark.is_file() and path.is_file() else 0
    table = np.lib.format.open_memmap(
        path, mode="r+" if start else "w+", dtype=np.float16, shape=(len(tokens), size)
    )
    if not start:
        reserve(path)
    with bar("Encoding sentences", len(tokens)) as shown, torch.inference_mode():
        shown.advance(start)
        for first in range(start, len(tokens), BLOCK):
            block = np.arange(first, min(first + BLOCK, len(tokens)))
            for batch in tokens.batches(block, BATCH_PIECES):
                padded = (part.to(where) for part in tokens.padded(block[batch]))
                table[block[batch]] = encoder(*padded).half().cpu().numpy()
                shown.advance(len(batch))
            table.flush()
            write_json(mark, int(block[-1]) + 1)
