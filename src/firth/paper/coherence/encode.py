"""Vectors of many sentences: batches of similar length, and the cache of the whole corpus."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from firth.paper.coherence.model import SentenceEncoder
from firth.paper.coherence.tokens import Indices, TokenizedSentences
from firth.run.files import read_json, write_json
from firth.run.progress import bar

BATCH_PIECES = 8_192
"""Padded word pieces read at once."""
BLOCK = 16_384
"""Sentences sorted by length together, and between two marks to resume at."""


def encode(encoder: SentenceEncoder, tokens: TokenizedSentences, sentences: Indices) -> Tensor:
    """Vectors of `sentences` in their order, float32 of shape (n, 2 * hidden)."""
    batches = list(tokens.batches(sentences, BATCH_PIECES))
    vectors = torch.cat([encoder(*tokens.padded(sentences[batch])) for batch in batches])
    place = np.empty(len(sentences), np.int64)
    place[np.concatenate(batches)] = np.arange(len(sentences))
    return vectors[torch.from_numpy(place)]


def encode_corpus(
    encoder: SentenceEncoder, tokens: TokenizedSentences, path: Path, scratch: Path
) -> None:
    """Write the vectors of all sentences to `path`, float16 .npy of shape (n, 2 * hidden).

    An interrupted call is continued at the block it was in.
    """
    mark = scratch / "encoded.json"
    size = 2 * encoder.rightward.hidden_size
    start = read_json(mark) if mark.is_file() and path.is_file() else 0
    table = np.lib.format.open_memmap(
        path, mode="r+" if start else "w+", dtype=np.float16, shape=(len(tokens), size)
    )
    with bar("Encoding sentences", len(tokens)) as shown, torch.inference_mode():
        shown.advance(start)
        for first in range(start, len(tokens), BLOCK):
            block = np.arange(first, min(first + BLOCK, len(tokens)))
            for batch in tokens.batches(block, BATCH_PIECES):
                vectors = encoder(*tokens.padded(block[batch]))
                table[block[batch]] = vectors.half().numpy()
                shown.advance(len(batch))
            table.flush()
            write_json(mark, int(block[-1]) + 1)
