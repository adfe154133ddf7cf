"""Screening: the chunks nearest to a sentence by TF-IDF cosine (§3.3).

Texts are sparse rows of hashed, weighted uni- and bi-grams. The inverted index lies on disk in
shards of consecutive chunks, each three memory-mapped arrays.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import HashingVectorizer
from sparse_dot_topn import sp_matmul

from firth.lexical.words import words
from firth.paper.retrieve import RETRIEVE
from firth.run.files import read_json, write_json
from firth.run.run import Run

PRODUCTS_AT_ONCE = 1 << 22
"""Scores held for one batch of sentences and one shard: with chunk numbers, 32 MiB."""

Idf = npt.NDArray[np.float64]
Keys = npt.NDArray[np.uint64]
_INDEX, _IDF = "index.json", "idf.npy"


class Features:
    """Counts of uni- and bi-grams of words, hashed to a fixed number of features.

    Args:
        log2: The number of features is 2 to this power. N-grams that collide count as one.
    """

    def __init__(self, log2: int) -> None:
        self.number = 1 << log2
        self._vectorizer = HashingVectorizer(
            tokenizer=words,
            token_pattern=None,
            lowercase=False,
            ngram_range=(1, 2),
            n_features=self.number,
            alternate_sign=False,
            norm=None,
            dtype=np.float32,
        )

    def counts(self, texts: Sequence[str]) -> csr_matrix:
        """Float32 counts of shape (len(texts), number), column numbers ascending in each row."""
        counts = csr_matrix(self._vectorizer.transform(texts))
        counts.sum_duplicates()
        return counts


def smooth_idf(document_frequency: npt.NDArray[np.int64], n: int) -> Idf:
    """ln((1 + n) / (1 + df)) + 1: as if one more chunk held every feature once."""
    idf: Idf = np.log((1.0 + n) / (1.0 + document_frequency)) + 1.0
    return idf


def weigh(counts: csr_matrix, idf: Idf) -> csr_matrix:
    """Rows of (1 + ln tf) · idf, divided by their Euclidean length; float32, a row of 0 stays 0.

    Weights are computed in float64 and rounded once, so that a row's weights do not depend on the
    rows around it.
    """
    weights = (1.0 + np.log(counts.data.astype(np.float64))) * idf[counts.indices]
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    squares = np.bincount(row, weights * weights, minlength=counts.shape[0])
    weights /= np.sqrt(squares)[row]
    return csr_matrix((weights.astype(np.float32), counts.indices, counts.indptr), counts.shape)


@dataclass(frozen=True)
class Shard:
    """The postings of consecutive chunks from `first_chunk` on.

    `postings` has shape (features, chunks): row f lists the chunks that hold feature f, ascending,
    with the feature's weight in each. Its arrays may be memory-mapped.
    """

    first_chunk: int
    postings: csr_matrix


def write_shard(folder: Path, number: int, rows: csr_matrix) -> None:
    """Write the weighted `rows` (chunks × features) of a shard in inverted form."""
    columns = rows.tocsc()
    np.save(folder / f"shard-{number:04d}-starts.npy", columns.indptr.astype(np.int32))
    np.save(folder / f"shard-{number:04d}-chunks.npy", columns.indices.astype(np.int32))
    np.save(folder / f"shard-{number:04d}-weights.npy", columns.data.astype(np.float32))


def write_table(folder: Path, idf: Idf, shard_chunks: list[int]) -> None:
    """Write what belongs to all shards: `shard_chunks` counts the chunks of each."""
    np.save(folder / _IDF, idf)
    write_json(folder / _INDEX, {"shard_chunks": shard_chunks})


def open_shards(folder: Path) -> tuple[Idf, list[Shard]]:
    """The inverse document frequencies and the shards of an index, memory-mapped."""
    # Mode "c": sparse-dot-topn refuses read-only arrays. It never writes to them, and if it did,
    # the file would stay as it is.
    idf = np.load(folder / _IDF)
    shards, first = [], 0
    for number, chunks in enumerate(read_json(folder / _INDEX)["shard_chunks"]):
        parts = [
            np.load(folder / f"shard-{number:04d}-{part}.npy", mmap_mode="c")
            for part in ("weights", "chunks", "starts")
        ]
        shards.append(Shard(first, csr_matrix(tuple(parts), shape=(len(idf), chunks))))
        first += chunks
    return idf, shards


@dataclass(frozen=True)
class Screened:
    """Chunks that share a word with a sentence, the best first.

    `chunks` are int64 of shape (k,), `scores` the cosine of each, in (0, 1], float32 of shape (k,),
    descending; among equal scores the lower chunk number comes first.
    """

    chunks: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]


class ChunkIndex:
    """The inverted index of a run's chunks, memory-mapped.

    Results are those of the full product of sentences and chunks, sorted: neither shards, nor the
    number of sentences asked at once, nor threads (by default one a core) change them, not even
    among equal scores.

    Example:
        >>> import pathlib, tempfile
        >>> from firth.corpus.corpus import Corpus
        >>> from firth.paper.retrieve.build import build_index
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "sea.txt").write_text("The ship sank in the storm. Nobody drowned.")
        >>> _ = (folder / "farm.txt").write_text("The wheat was ripe. The harvest began.")
        >>> _ = Corpus.build([folder / "*.txt"], folder / "run")
        >>> _ = build_index(Run.open(folder / "run"))
        >>> index = ChunkIndex.open(folder / "run")
        >>> [found.chunks.tolist() for found in index.screen(["A storm at sea", "Zebras"])]
        [[1], []]
    """

    def __init__(
        self, idf: Idf, shards: Sequence[Shard], default: int, threads: int | None = None
    ) -> None:
        self._idf = idf
        self._shards = shards
        self._default = default
        self._threads = threads or _cores()
        self._features = Features(len(idf).bit_length() - 1)

    @classmethod
    def open(cls, run: str | Path | Run) -> "ChunkIndex":
        """The index of a run; raise `MissingStageError` if it is not built."""
        run = Run.open(run)
        idf, shards = open_shards(run.folder(RETRIEVE))
        return cls(idf, shards, run.config.retrieve.chunks)

    def screen(self, sentences: Sequence[str], n: int | None = None) -> list[Screened]:
        """The `n` chunks of highest TF-IDF cosine with each sentence.

        Chunks that share no uni- or bi-gram with the sentence are left out, so that a result may
        be shorter than `n`, or empty. `n` is by default `retrieve.chunks` of the configuration.

        Raises:
            ValueError: `n` is below 1.
        """
        n = self._default if n is None else n
        if n < 1:
            raise ValueError(f"got n={n}, expected at least 1")
        widest = max((shard.postings.shape[1] for shard in self._shards), default=1)
        batch = max(1, PRODUCTS_AT_ONCE // widest)
        screened: list[Screened] = []
        for start in range(0, len(sentences), batch):
            queries = weigh(self._features.counts(sentences[start : start + batch]), self._idf)
            found = [_nearest(queries, shard, n, self._threads) for shard in self._shards]
            for keys in zip(*found, strict=True):
                screened.append(_unpacked(np.sort(np.concatenate(keys))[:n]))
        return screened


def _nearest(queries: csr_matrix, shard: Shard, n: int, threads: int) -> list[Keys]:
    """Keys of each query's `n` nearest chunks of one shard, in any order."""
    # The full product of a shard, then a partition of exact keys: sparse-dot-topn's own top-n
    # takes twice as long for thousands of results, and keeps any of equal scores at the cut.
    product = sp_matmul(queries, shard.postings, n_threads=threads)
    nearest = []
    for row in range(queries.shape[0]):
        part = slice(*product.indptr[row : row + 2])
        keys = _packed(product.indices[part], product.data[part], shard.first_chunk)
        nearest.append(np.partition(keys, n - 1)[:n] if len(keys) > n else keys)
    return nearest


def _packed(
    chunks: npt.NDArray[np.int32], scores: npt.NDArray[np.float32], first_chunk: int
) -> Keys:
    """Score and chunk as one number that sorts by descending score, then ascending chunk.

    The bits of positive floats are in the order of their values.
    """
    falling = np.uint64(0xFFFFFFFF) - scores.view(np.uint32).astype(np.uint64)
    return (falling << np.uint64(32)) | (chunks.astype(np.uint64) + np.uint64(first_chunk))


def _unpacked(keys: Keys) -> Screened:
    falling = (keys >> np.uint64(32)).astype(np.uint32)
    scores = (np.uint32(0xFFFFFFFF) - falling).view(np.float32)
    return Screened((keys & np.uint64(0xFFFFFFFF)).astype(np.int64), scores)


def _cores() -> int:
    """Cores that this process may use; where the system does not tell, all of them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
