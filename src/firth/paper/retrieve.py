"""Screening: the chunks of the corpus nearest to a sentence by TF-IDF of uni- and bigrams (§3.3).

A chunk is a run of sentences of one document. N-grams are hashed to buckets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

from firth.corpus.corpus import Corpus
from firth.paper.settings import PaperSettings
from firth.run.console import progress
from firth.run.run import Run
from firth.run.stage import Outcome, Stage
from firth.text.types import Floats, Ints, Singles
from firth.text.words import words

RETRIEVE = Stage("paper/retrieve", 4, "torch", "firth paper build")
_BLOCK_CHUNKS = 1_024
"""Chunks that are read at once."""
_BITS = 24
"""N-grams are hashed to 2 ** this buckets; a sixth of those of 10M words share one."""
_PRODUCTS_AT_ONCE = 1 << 22
"""Scores held for a batch of sentences: with chunk numbers, 32 MiB."""
_PARTS = ("buckets", "starts", "chunks", "weights", "idf", "bounds")


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


def count_ngrams(texts: Sequence[str]) -> csr_matrix:
    """Count the uni- and bigrams of words in each text, hashed: (len(texts), 2 ** 24)."""
    hashed = HashingVectorizer(
        analyzer=_ngrams, n_features=1 << _BITS, alternate_sign=False, norm=None, dtype=np.float32
    )
    return hashed.transform(texts)


def _ngrams(text: str) -> list[str]:
    unigrams = words(text)
    return [*unigrams, *map(" ".join, pairwise(unigrams))]


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

    Peak memory is about 35 bytes for each n-gram of each chunk.
    """
    settings, corpus = run.wing("paper", PaperSettings).retrieve, Corpus.open(run)

    def fill(_: Run, workspace: Path) -> Mapping[str, Any]:
        bounds = chunk_bounds(corpus, settings.chunk_sentences)
        n_chunks, counts = len(bounds) - 1, []
        for first in progress(range(0, n_chunks, _BLOCK_CHUNKS), "Indexing chunks"):
            counts.append(count_ngrams(chunk_texts(corpus, bounds[first:][: _BLOCK_CHUNKS + 1])))
        rows = vstack(counts, format="csr")
        idf = smooth_idf(np.bincount(rows.indices, minlength=1 << _BITS), n_chunks)
        columns = weigh(rows, idf).T.tocsr()
        buckets = np.flatnonzero(np.diff(columns.indptr))
        postings = columns[buckets]
        parts = (buckets, postings.indptr, postings.indices, postings.data.astype(np.float32))
        for name, values in zip(_PARTS, (*parts, idf[buckets], bounds), strict=True):
            np.save(workspace / f"{name}.npy", values)
        return {"chunks": n_chunks, "buckets": len(buckets), "postings": postings.nnz}

    inputs = {"corpus": corpus.digest, "chunk_sentences": str(settings.chunk_sentences)}
    # The number of chunks that a query returns changes nothing in the index.
    return run.build(RETRIEVE, fill, inputs=inputs)


# Queries


@dataclass(frozen=True)
class Screened:
    """Chunks that share an n-gram with a sentence, the best first.

    `scores` are TF-IDF cosines in (0, 1]. Of equal ones the lower chunk number comes first.
    """

    chunks: Ints
    scores: Singles


class ChunkIndex:
    """The inverted index of the chunks of a run, memory-mapped.

    Row k of the postings holds the weight of `buckets[k]` in each chunk; buckets in no chunk have
    no row. Results equal the sorted full product of sentences and chunks.
    """

    def __init__(self, buckets: Ints, postings: csr_matrix, idf: Floats, bounds: Ints) -> None:
        self.bounds = bounds
        self._buckets, self._postings, self._idf = buckets, postings, idf

    @classmethod
    def open(cls, run: Run) -> "ChunkIndex":
        """Open the index of a run; raise `MissingStageError` where there is none."""
        folder = run.folder(RETRIEVE)
        buckets, starts, chunks, weights, rarity, bounds = (
            np.load(folder / f"{name}.npy", mmap_mode="r") for name in _PARTS
        )
        idf = smooth_idf(np.zeros(1 << _BITS, np.int64), len(bounds) - 1)
        idf[buckets] = rarity
        postings = csr_matrix((weights, chunks, starts), shape=(len(buckets), len(bounds) - 1))
        return cls(buckets, postings, idf, bounds)

    def chunk_of(self, sentences: Ints) -> Ints:
        """Return the chunk of each sentence number."""
        return np.searchsorted(self.bounds, sentences, side="right") - 1

    def screen(self, sentences: Sequence[str], n: int) -> list[Screened]:
        """Return the `n` chunks of highest TF-IDF cosine with each sentence.

        Chunks that share no n-gram with it are left out, so that a result may be shorter, or empty.
        """
        if n < 1:
            raise ValueError(f"n is {n}; it must be 1 at least")
        batch = max(1, _PRODUCTS_AT_ONCE // max(1, self._postings.shape[1]))
        screened = []
        for start in range(0, len(sentences), batch):
            queries = weigh(count_ngrams(sentences[start : start + batch]), self._idf)
            rows = np.searchsorted(self._buckets, queries.indices)
            occurs = rows < np.searchsorted(self._buckets, queries.indices, side="right")
            starts = np.concatenate(([0], np.cumsum(occurs)))[queries.indptr]
            shape = (queries.shape[0], len(self._buckets))
            weights = csr_matrix((queries.data[occurs], rows[occurs], starts), shape)
            product = weights @ self._postings
            screened += [
                _best(product.indices[a:b].astype(np.int64), product.data[a:b], n)
                for a, b in pairwise(product.indptr)
            ]
        return screened


def _best(chunks: Ints, scores: Singles, n: int) -> Screened:
    """Return the `n` best chunks; of equal scores the lower number comes first."""
    if len(scores) > n:
        near = scores >= np.partition(scores, -n)[-n]
        chunks, scores = chunks[near], scores[near]
    order = np.lexsort((chunks, -scores))[:n]
    return Screened(chunks[order], scores[order])
