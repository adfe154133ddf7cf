"""The retrieve stage: from chunks to the inverted index, in one stream and bounded memory."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, load_npz, save_npz, vstack

from firth.corpus import CORPUS
from firth.corpus.corpus import Corpus
from firth.paper.retrieve import RETRIEVE
from firth.paper.retrieve.index import Features, smooth_idf, weigh, write_shard, write_table
from firth.run.files import write_atomically
from firth.run.progress import bar
from firth.run.run import Run
from firth.run.stage import SCRATCH, Outcome

BLOCK_WORDS = 200_000
"""Words read at a time (one chunk at least)."""
SHARD_POSTINGS = 1 << 23
"""Postings of a shard (one block at least)."""


def build_index(run: Run) -> Outcome:
    """Build the index of the run's chunks, as `run.config.retrieve` says.

    Peak memory is that of one shard, about 35 bytes a posting (300 MB), and of three numbers a
    feature (24 MB); with the corpus it grows only by 16 bytes a chunk. The disk briefly holds the
    counts a second time.

    Raises:
        MissingStageError: If the run has no corpus.
    """
    # How many chunks a query returns changes nothing in the index.
    return run.build(RETRIEVE, _build, reads=[CORPUS], settings=["retrieve.features_log2"])


def _build(run: Run, workspace: Path) -> Mapping[str, Any]:
    corpus, features = Corpus.open(run), Features(run.config.retrieve.features_log2)
    scratch = workspace / SCRATCH
    scratch.mkdir(exist_ok=True)
    borders = _blocks(corpus)
    frequency = np.zeros(features.number, np.int64)
    with bar("Indexing chunks", corpus.n_chunks) as shown:
        for number, (first, last) in enumerate(pairwise(borders)):
            path = scratch / f"counts-{number:06d}.npz"
            if not path.is_file():
                _write_counts(path, features.counts(_chunk_texts(corpus, first, last)))
            frequency += np.bincount(load_npz(path).indices, minlength=features.number)
            shown.advance(last - first)

    idf = smooth_idf(frequency, corpus.n_chunks)
    shard_chunks: list[int] = []
    paths = [scratch / f"counts-{number:06d}.npz" for number in range(len(borders) - 1)]
    for number, counts in enumerate(_shards(paths)):
        write_shard(workspace, number, weigh(counts, idf))
        shard_chunks.append(counts.shape[0])
    write_table(workspace, idf, shard_chunks)
    return {
        "chunks": corpus.n_chunks,
        "features": int(np.count_nonzero(frequency)),
        "postings": int(frequency.sum()),
        "shards": len(shard_chunks),
    }


def _blocks(corpus: Corpus) -> list[int]:
    """Chunk numbers that bound blocks of about `BLOCK_WORDS` words."""
    chunk_words = np.add.reduceat(corpus.word_counts, corpus.chunk_bounds[:-1], dtype=np.int64)
    words_at = np.concatenate(([0], np.cumsum(chunk_words)))
    borders = [0]
    while borders[-1] < corpus.n_chunks:
        limit = words_at[borders[-1]] + BLOCK_WORDS
        reached = int(np.searchsorted(words_at, limit, side="right")) - 1
        borders.append(max(borders[-1] + 1, reached))
    return borders


def _chunk_texts(corpus: Corpus, first: int, last: int) -> list[str]:
    bounds = corpus.chunk_bounds[first : last + 1]
    sentences = corpus.texts(np.arange(bounds[0], bounds[-1]))
    places = (bounds - bounds[0]).tolist()
    return [" ".join(sentences[a:b]) for a, b in pairwise(places)]


def _write_counts(path: Path, counts: csr_matrix) -> None:
    with write_atomically(path) as partial, partial.open("wb") as file:
        save_npz(file, counts, compressed=False)


def _shards(paths: list[Path]) -> Iterator[csr_matrix]:
    """Blocks put together until they hold `SHARD_POSTINGS`."""
    parts: list[csr_matrix] = []
    for path in paths:
        block = load_npz(path)
        if parts and sum(part.nnz for part in parts) + block.nnz > SHARD_POSTINGS:
            yield vstack(parts, format="csr")
            parts = []
        parts.append(block)
    if parts:
        yield vstack(parts, format="csr")
