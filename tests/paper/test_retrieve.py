"""Chunks, TF-IDF, and an index whose results equal the sorted full product."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus.corpus import Corpus
from firth.paper import retrieve
from firth.paper.retrieve import (
    RETRIEVE,
    ChunkIndex,
    Screened,
    build_index,
    chunk_bounds,
    chunk_texts,
    count_ngrams,
    smooth_idf,
    weigh,
)
from firth.run.errors import MissingStageError
from firth.run.run import Run
from firth.text.words import words

TEXTS = ["The cat sat on the mat.", "A cat, a CAT; the dog!", "", "?!", "Émile naïve straße cat"]


def in_memory(texts: Sequence[str]) -> ChunkIndex:
    """Return an index of texts, one chunk each."""
    counts = count_ngrams(texts)
    idf = smooth_idf(np.bincount(counts.indices, minlength=counts.shape[1]), len(texts))
    columns = weigh(counts, idf).T.tocsr()
    buckets = np.flatnonzero(np.diff(columns.indptr))
    return ChunkIndex(buckets, columns[buckets], idf, np.arange(len(texts) + 1))


def brute_force(texts: Sequence[str], sentences: Sequence[str], n: int) -> list[Screened]:
    """Return the full product, sorted by falling score and rising chunk."""
    counts = count_ngrams(texts)
    idf = smooth_idf(np.bincount(counts.indices, minlength=counts.shape[1]), len(texts))
    scores = (weigh(count_ngrams(sentences), idf) @ weigh(counts, idf).T).toarray()
    screened = []
    for row in scores:
        order = np.lexsort((np.arange(len(row)), -row))
        order = order[row[order] > 0][:n]
        screened.append(Screened(order.astype(np.int64), row[order]))
    return screened


def assert_equal(got: Sequence[Screened], expected: Sequence[Screened]) -> None:
    """The same chunks in the same order with the same scores, bit by bit."""
    assert [one.chunks.tolist() for one in got] == [one.chunks.tolist() for one in expected]
    assert [one.scores.tolist() for one in got] == [one.scores.tolist() for one in expected]


def reference_ends(paragraphs: Sequence[int], limit: int) -> list[int]:
    """Cut one document: the rule, sentence by sentence."""
    ends, start, position = [], 0, 0
    for length in paragraphs:
        for _ in range(length):
            if position - start == limit:
                ends.append(start := position)
            position += 1
        if 2 * (position - start) >= limit:
            ends.append(start := position)
    return [*ends, position] if position > start else ends


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=5), min_size=1, max_size=4),
       st.integers(1, 9))  # fmt: skip
def test_chunks_tile_documents(documents: list[list[int]], limit: int) -> None:
    """No chunk is longer than the limit or crosses a document; half full ones end paragraphs."""
    sizes = [sum(paragraphs) for paragraphs in documents]
    bounds = np.cumsum([0, *sizes])
    paragraphs = np.cumsum([0, *(p for document in documents for p in document)])
    corpus = SimpleNamespace(document_bounds=bounds, paragraph_bounds=paragraphs)
    got = chunk_bounds(corpus, limit)  # type: ignore[arg-type]
    expected = [0]
    for start, document in zip(bounds.tolist(), documents, strict=False):
        expected += [start + end for end in reference_ends(document, limit)]
    assert got.tolist() == expected
    assert max(np.diff(got)) <= limit
    assert set(bounds.tolist()) <= set(got.tolist())


def test_weights_are_those_of_scikit_learn() -> None:
    """Sublinear tf times smooth idf, normalized, as `TfidfTransformer` computes it."""
    peer = pytest.importorskip("sklearn.feature_extraction.text").TfidfTransformer
    counts = count_ngrams(TEXTS)
    assert counts.max() > 1, "premise: a repeated word"
    expected = peer(sublinear_tf=True, smooth_idf=True).fit_transform(counts)
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    got = weigh(counts, smooth_idf(frequency, len(TEXTS)))
    np.testing.assert_allclose(got.toarray(), expected.toarray(), atol=1e-6)


def test_features_are_uni_and_bigrams_of_words() -> None:
    """k words give k unigrams and k - 1 bigrams, which keep the order of two words."""
    counts = count_ngrams(TEXTS)
    expected = [max(0, 2 * len(words(text)) - 1) for text in TEXTS]
    assert counts.sum(axis=1).ravel().tolist()[0] == expected
    one, two = count_ngrams(["dog bites man", "man bites dog"])
    assert one.multiply(two).nnz == 3, "three words in common, and no two in order"


@given(st.lists(st.text(max_size=40), min_size=1, max_size=6))
@settings(max_examples=40)
def test_a_row_does_not_depend_on_its_neighbors(texts: list[str]) -> None:
    """Any text has the same weights, bit by bit, alone and among others; their length is 1."""
    idf = np.linspace(1, 3, 1 << retrieve._BITS)
    together = weigh(count_ngrams(texts), idf)
    for row, text in enumerate(texts):
        alone = weigh(count_ngrams([text]), idf)
        assert (together[row] != alone).nnz == 0
        length = np.sqrt((alone.toarray() ** 2).sum())
        assert length == pytest.approx(1 if words(text) else 0, abs=1e-6)


WORDS = st.lists(st.sampled_from("abcde"), max_size=5).map(" ".join)
SOME = st.lists(WORDS, min_size=1, max_size=12)


@settings(max_examples=25)  # Each fills a table of four million buckets.
@given(chunks=SOME, sentences=SOME, n=st.integers(1, 14))
def test_equals_brute_force(chunks: Sequence[str], sentences: Sequence[str], n: int) -> None:
    """Few words make many equal scores: order and cut-off are those of a stable full sort."""
    assert_equal(in_memory(chunks).screen(sentences, n), brute_force(chunks, sentences, n))


def test_the_stage_is_the_index_of_the_chunks(
    built: Run, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index on disk equals that of all chunks at once, in any batches."""
    index = ChunkIndex.open(built)
    texts = chunk_texts(corpus, chunk_bounds(corpus, 2))
    sentences = corpus.texts(np.arange(40))
    expected = in_memory(texts).screen(sentences, 30)
    assert_equal(index.screen(sentences, 30), expected)
    assert_equal([index.screen([each], 30)[0] for each in sentences], expected)
    monkeypatch.setattr(retrieve, "_PRODUCTS_AT_ONCE", 700)
    assert_equal(index.screen(sentences, 30), expected)
    assert built.manifest(RETRIEVE).summary["chunks"] == len(texts)
    chunks = index.chunk_of(np.arange(len(corpus)))
    assert [" ".join(corpus.texts(np.flatnonzero(chunks == 7)))] == texts[7:8]


def test_odd_sentences(built: Run, corpus: Corpus) -> None:
    """No words, unknown words, no sentence: empty. A bound below 1 is an error."""
    index = ChunkIndex.open(built)
    for screened in index.screen(["", " \n", "?!…", "\ud800", "xylophonist zyzzyva"], 5):
        assert len(screened.chunks) == len(screened.scores) == 0
    assert index.screen([], 5) == []
    assert len(index.screen([" ".join([corpus.text(0)] * 2000)], 9)[0].chunks) == 9
    with pytest.raises(ValueError, match="n is 0"):
        index.screen(["a"], 0)


def test_reuse(fresh: Callable[..., Run]) -> None:
    """The number of chunks that a query returns is no reason to build again; their size is one."""
    run = fresh()
    with pytest.raises(MissingStageError, match="firth paper build"):
        ChunkIndex.open(run)
    build_index(run)
    assert build_index(run.changed({"paper": {"retrieve": {"chunks": 3}}})).reused
    assert not build_index(run.changed({"paper": {"retrieve": {"chunk_sentences": 3}}})).reused
