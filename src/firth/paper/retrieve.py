"""Screening: the chunks of the corpus nearest to a sentence by TF-IDF of uni- and bigrams (§3.3).

A chunk is a run of sentences of one document. N-grams are hashed to buckets. The inverted index
lies on disk in shards of consecutive chunks, which are memory-mapped.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, load_npz, save_npz, vstack
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

from firth.corpus.corpus import Corpus
from firth.paper.settings import PaperSettings
from firth.run.console import progress
from firth.run.files import read_json, write_atomically, write_json
from firth.run.run import Run
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.text.types import Floats, Ints, Singles
from firth.text.words import words

RETRIEVE = Stage("paper/retrieve", 3, "torch", "firth paper build")
BLOCK_CHUNKS = 1_024
"""Chunks that are read at once."""
SHARD_POSTINGS = 1 << 23
"""Postings of a shard (one block at least)."""
PRODUCTS_AT_ONCE = 1 << 22
"""Scores held for one batch of sentences and one shard: with chunk numbers, 32 MiB."""

_PARTS = ("buckets", "starts", "chunks", "weights")
_TABLE, _IDF, _BOUNDS = "index.json", "idf.npy", "chunk_bounds.npy"


# Chunks


def chunk_bounds(corpus: Corpus, chunk_sentences: int) -> Ints:
    """Cut a corpus into chunks, (n_chunks + 1,): chunk k is sentences [bounds[k], bounds[k + 1]).

    A chunk has at most `chunk_sentences` sentences, and does not cross a document. A paragraph
    border ends a chunk that is half full, so that retrieval tends to see whole paragraphs.
    """
    limit, ends = chunk_sentences, [0]
    documents = set(corpus.document_bounds.tolist())
    start = 0
    # A document border is a paragraph border.
    for border in corpus.paragraph_bounds[1:].tolist():
        while border - start > limit:
            start += limit
            ends.append(start)
        if 2 * (border - start) >= limit or (border in documents and border > start):
            start = border
            ends.append(start)
    return np.array(ends, np.int64)


def chunk_texts(corpus: Corpus, bounds: Ints) -> list[str]:
    """Return the sentences of each of some consecutive chunks, joined by blanks."""
    sentences = corpus.texts(np.arange(bounds[0], bounds[-1]))
    return [" ".join(sentences[a:b]) for a, b in pairwise((bounds - bounds[0]).tolist())]


# TF-IDF


def count_ngrams(texts: Sequence[str], bits: int) -> csr_matrix:
    """Count the uni- and bigrams of words in each text, hashed: (len(texts), 2 ** bits)."""
    hashed = HashingVectorizer(
        analyzer=_ngrams, n_features=1 << bits, alternate_sign=False, norm=None, dtype=np.float32
    )
    return hashed.transform(texts)


def _ngrams(text: str) -> list[str]:
    found = words(text)
    return [*found, *map(" ".join, pairwise(found))]


def smooth_idf(document_frequency: Ints, n: int) -> Floats:
    """Return ln((1 + n) / (1 + df)) + 1, as if one more chunk held every n-gram once."""
    idf: Floats = np.log((1.0 + n) / (1.0 + document_frequency)) + 1.0
    return idf


def weigh(counts: csr_matrix, idf: Floats) -> csr_matrix:
    """Weigh counts by (1 + ln tf) · idf, and give each row length 1; a row of zeros stays.

    No row depends on another.
    """
    weights = TfidfTransformer(sublinear_tf=True)
    weights.idf_ = idf
    return weights.transform(counts)


# The stage


def build_index(run: Run) -> Outcome:
    """Build the index of the chunks of a run, as its settings `paper.retrieve` say.

    Peak memory is that of one shard, about 35 bytes a posting (300 MB), of two numbers a bucket,
    and 16 bytes a chunk. The disk briefly holds the counts a second time.
    """
    settings, corpus = run.wing("paper", PaperSettings).retrieve, Corpus.open(run)

    def fill(_: Run, workspace: Path) -> Mapping[str, Any]:
        bounds = chunk_bounds(corpus, settings.chunk_sentences)
        return _fill(corpus, bounds, settings.bucket_bits, workspace)

    inputs = {
        "corpus": corpus.digest,
        "chunk_sentences": str(settings.chunk_sentences),
        "bucket_bits": str(settings.bucket_bits),
    }
    # The number of chunks that a query returns changes nothing in the index.
    return run.build(RETRIEVE, fill, inputs=inputs)


def _fill(corpus: Corpus, bounds: Ints, bits: int, workspace: Path) -> Mapping[str, Any]:
    scratch, n_chunks = workspace / SCRATCH, len(bounds) - 1
    scratch.mkdir(exist_ok=True)
    frequency, paths = np.zeros(1 << bits, np.int64), []
    for first in progress(range(0, n_chunks, BLOCK_CHUNKS), "Indexing chunks"):
        path = scratch / f"counts-{first:09d}.npz"
        if not path.is_file():
            texts = chunk_texts(corpus, bounds[first : first + BLOCK_CHUNKS + 1])
            write_counts(path, count_ngrams(texts, bits))
        buckets, chunks = np.unique(load_npz(path).indices, return_counts=True)
        frequency[buckets] += chunks
        paths.append(path)
    idf, shard_chunks = smooth_idf(frequency, n_chunks), []
    for number, counts in enumerate(_shards(paths)):
        _write_shard(workspace, number, weigh(counts, idf))
        shard_chunks.append(counts.shape[0])
    np.save(workspace / _IDF, idf)
    np.save(workspace / _BOUNDS, bounds)
    write_json(workspace / _TABLE, {"bits": bits, "shard_chunks": shard_chunks})
    return {
        "chunks": n_chunks,
        "buckets": int(np.count_nonzero(frequency)),
        "postings": int(frequency.sum()),
        "shards": len(shard_chunks),
    }


def write_counts(path: Path, counts: csr_matrix) -> None:
    """Write the counts of a block, atomically: a block on disk is a whole one."""
    with write_atomically(path) as partial, partial.open("wb") as file:
        save_npz(file, counts, compressed=False)


def _shards(paths: Sequence[Path]) -> Iterator[csr_matrix]:
    """Join blocks until they hold `SHARD_POSTINGS`."""
    parts: list[csr_matrix] = []
    for path in paths:
        block = load_npz(path)
        if parts and sum(part.nnz for part in parts) + block.nnz > SHARD_POSTINGS:
            yield vstack(parts, format="csr")
            parts = []
        parts.append(block)
    if parts:
        yield vstack(parts, format="csr")


def inverted(rows: csr_matrix) -> tuple[Ints, csr_matrix]:
    """Return the buckets that occur in weighted rows, ascending, and the postings of each."""
    columns = rows.T.tocsr()
    buckets = np.flatnonzero(np.diff(columns.indptr))
    return buckets, columns[buckets]


def _write_shard(folder: Path, number: int, rows: csr_matrix) -> None:
    buckets, postings = inverted(rows)
    parts = (buckets, postings.indptr, postings.indices, postings.data)
    for name, values in zip(_PARTS, parts, strict=True):
        kind = np.float32 if name == "weights" else np.int32
        np.save(folder / f"shard-{number:04d}-{name}.npy", values.astype(kind))


# Queries


@dataclass(frozen=True)
class Shard:
    """The postings of consecutive chunks from `first_chunk` on, (buckets, chunks).

    Row k holds the weight of `buckets[k]` in each chunk. Buckets in no chunk have no row.
    """

    first_chunk: int
    buckets: Ints
    postings: csr_matrix


@dataclass(frozen=True)
class Screened:
    """Chunks that share an n-gram with a sentence, the best first.

    `scores` are TF-IDF cosines in (0, 1]. Of equal ones the lower chunk number comes first.
    """

    chunks: Ints
    scores: Singles


class ChunkIndex:
    """The inverted index of the chunks of a run, memory-mapped.

    Results equal the sorted full product of sentences and chunks. Shards and the number of
    sentences asked at once do not change them.
    """

    def __init__(self, idf: Floats, shards: Sequence[Shard], bounds: Ints) -> None:
        self.bounds = bounds
        self._idf, self._shards = idf, shards
        self._bits = len(idf).bit_length() - 1

    @classmethod
    def open(cls, run: Run) -> "ChunkIndex":
        """Open the index of a run; raise `MissingStageError` where there is none."""
        folder = run.folder(RETRIEVE)
        idf, shards, first = np.load(folder / _IDF, mmap_mode="r"), [], 0
        for number, chunks in enumerate(read_json(folder / _TABLE)["shard_chunks"]):
            buckets, starts, columns, weights = (
                np.load(folder / f"shard-{number:04d}-{part}.npy", mmap_mode="r") for part in _PARTS
            )
            postings = csr_matrix((weights, columns, starts), shape=(len(buckets), chunks))
            shards.append(Shard(first, buckets, postings))
            first += chunks
        return cls(idf, shards, np.load(folder / _BOUNDS, mmap_mode="r"))

    def chunk_of(self, sentences: Ints) -> Ints:
        """Return the chunk of each sentence number."""
        return np.searchsorted(self.bounds, sentences, side="right") - 1

    def screen(self, sentences: Sequence[str], n: int) -> list[Screened]:
        """Return the `n` chunks of highest TF-IDF cosine with each sentence.

        Each shard is read once; memory holds 12 bytes for each sentence and chunk of the result.
        Chunks that share no n-gram with it are left out, so that a result may be shorter, or empty.
        """
        if n < 1:
            raise ValueError(f"n is {n}; it must be 1 at least")
        if not sentences:
            return []
        widest = max((shard.postings.shape[1] for shard in self._shards), default=1)
        batch = max(1, PRODUCTS_AT_ONCE // widest)
        queries = weigh(count_ngrams(sentences, self._bits), self._idf)
        best = [Screened(np.empty(0, np.int64), np.empty(0, np.float32))] * len(sentences)
        for shard in self._shards:
            for start in range(0, len(sentences), batch):
                nearest = _nearest(queries[start : start + batch], shard, n)
                for place, more in enumerate(nearest, start):
                    both = best[place], more
                    chunks = np.concatenate([one.chunks for one in both])
                    best[place] = _best(chunks, np.concatenate([one.scores for one in both]), n)
        return best


def _nearest(queries: csr_matrix, shard: Shard, n: int) -> list[Screened]:
    """Return the `n` nearest chunks of one shard for each query."""
    rows = np.searchsorted(shard.buckets, queries.indices)
    known = rows < np.searchsorted(shard.buckets, queries.indices, side="right")
    starts = np.concatenate(([0], np.cumsum(known)))[queries.indptr]
    shape = (queries.shape[0], len(shard.buckets))
    product = csr_matrix((queries.data[known], rows[known], starts), shape) @ shard.postings
    return [
        _best(product.indices[a:b].astype(np.int64) + shard.first_chunk, product.data[a:b], n)
        for a, b in pairwise(product.indptr)
    ]


def _best(chunks: Ints, scores: Singles, n: int) -> Screened:
    """Return the `n` best chunks; of equal scores the lower number comes first."""
    if len(scores) > n:
        kept = scores >= np.partition(scores, -n)[-n]
        chunks, scores = chunks[kept], scores[kept]
    order = np.lexsort((chunks, -scores))[:n]
    return Screened(chunks[order], scores[order])
