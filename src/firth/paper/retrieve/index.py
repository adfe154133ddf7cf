"""Screening: the chunks nearest to a sentence by TF-IDF cosine (§3.3)."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sparse_dot_topn import sp_matmul

from firth.paper.retrieve import RETRIEVE
from firth.paper.retrieve.features import Features, Idf, weigh
from firth.paper.retrieve.shards import Shard, open_shards
from firth.run.run import Run

PRODUCTS_AT_ONCE = 1 << 22
"""Scores held for one batch of sentences and one shard: with chunk numbers, 32 MiB."""

Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Screened:
    """Chunks that share a word with a sentence, the best first.

    Attributes:
        chunks: Chunk numbers, int64 of shape (k,).
        scores: Cosine of each, in (0, 1], float32 of shape (k,), descending; among equal scores
            the lower chunk number comes first.
    """

    chunks: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]


class ChunkIndex:
    """The inverted index of a run's chunks, memory-mapped.

    Results are those of the full product of sentences and chunks, sorted: neither shards, nor the
    number of sentences asked at once, nor threads change them, not even among equal scores.

    Args:
        idf: Inverse document frequency of each feature.
        shards: Postings, by ascending chunk number.
        default: Chunks returned where `screen` is not told how many.
        threads: Threads of the product; by default one a core.

    Example:
        >>> import pathlib, tempfile
        >>> from firth.corpus import Corpus
        >>> from firth.paper.retrieve import build_index
        >>> from firth.run import Run
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
        self._threads = threads or len(os.sched_getaffinity(0))
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
        be shorter than `n`, or empty.

        Args:
            sentences: Texts of any length.
            n: Chunks wanted, at least 1; by default `retrieve.chunks` of the configuration.

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
