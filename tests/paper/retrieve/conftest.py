"""A small index, and the plain computation that it must equal."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix, hstack

from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.paper.retrieve.build import build_index
from firth.paper.retrieve.index import (
    ChunkIndex,
    Features,
    Screened,
    Shard,
    smooth_idf,
    weigh,
)
from firth.run.config import Config
from firth.run.run import Run

LOG2 = 12


@pytest.fixture(scope="session")
def index_run(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with a corpus and its index."""
    values = {
        "corpus": {"inputs": [str(tiny_folder)], "chunk_sentences": 2},
        "retrieve": {"features_log2": LOG2},
    }
    run = Run.create(tmp_path_factory.mktemp("index") / "run", Config.parse(values, "test"))
    build_corpus(run)
    build_index(run)
    return run


@pytest.fixture(scope="session")
def corpus(index_run: Run) -> Corpus:
    """Its corpus."""
    return Corpus.open(index_run)


def in_memory(
    texts: Sequence[str], cuts: Sequence[int] = (), threads: int | None = 1
) -> ChunkIndex:
    """An index of `texts`, one chunk each, in shards that end at `cuts`."""
    counts = Features(LOG2).counts(texts)
    idf = smooth_idf(np.bincount(counts.indices, minlength=1 << LOG2), len(texts))
    rows = weigh(counts, idf)
    borders = sorted({0, len(texts), *cuts})
    shards = [
        Shard(first, csr_matrix(rows[first:last].T.tocsr())) for first, last in pairwise(borders)
    ]
    return ChunkIndex(idf, shards, default=len(texts), threads=threads)


def brute_force(index: ChunkIndex, sentences: Sequence[str], n: int) -> list[Screened]:
    """The full product by scipy, sorted by falling score and rising chunk."""
    chunks = hstack([shard.postings for shard in index._shards], format="csr")
    scores = (weigh(Features(LOG2).counts(sentences), index._idf) @ chunks).toarray()
    found = []
    for row in scores:
        order = np.lexsort((np.arange(len(row)), -row))
        order = order[row[order] > 0][:n]
        found.append(Screened(order.astype(np.int64), row[order]))
    return found


def assert_equal(got: Sequence[Screened], expected: Sequence[Screened]) -> None:
    """The same chunks in the same order with the same scores, bit by bit."""
    assert len(got) == len(expected)
    for one, two in zip(got, expected, strict=True):
        assert one.chunks.tolist() == two.chunks.tolist()
        assert one.scores.dtype == two.scores.dtype == np.float32
        assert one.scores.tolist() == two.scores.tolist()
