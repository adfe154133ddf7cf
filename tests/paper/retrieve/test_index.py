"""`ChunkIndex.screen` equals the sorted full product, however the work is cut up."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus.corpus import Corpus
from firth.paper.retrieve import index as module
from firth.paper.retrieve.index import ChunkIndex, _packed, _unpacked
from firth.run.run import Run

from .conftest import assert_equal, brute_force, in_memory

texts = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=5).map(" ".join),
    min_size=1,
    max_size=12,
)


@given(chunks=texts, sentences=texts, n=st.integers(1, 14), data=st.data())
@settings(max_examples=150)
def test_equals_brute_force(
    chunks: Sequence[str], sentences: Sequence[str], n: int, data: st.DataObject
) -> None:
    """Few words make many equal scores: order and cut-off are those of a stable full sort."""
    cuts = data.draw(st.lists(st.integers(0, len(chunks)), max_size=3))
    threads = data.draw(st.integers(1, 2))
    index = in_memory(chunks, cuts, threads)
    assert_equal(index.screen(sentences, n), brute_force(index, sentences, n))
    assert_equal(index.screen(sentences, n), in_memory(chunks).screen(sentences, n))


def test_ties_at_the_cut_off_keep_the_lowest_chunks() -> None:
    """Of thirty equal chunks the first seven are returned, though shards and threads compete."""
    index = in_memory(["red sky"] * 30 + ["red"], cuts=(4, 17), threads=2)
    (found,) = index.screen(["red sky at night"], 7)
    assert len(set(found.scores.tolist())) == 1
    assert found.chunks.tolist() == list(range(7))


def test_equals_brute_force_on_a_corpus(index_run: Run, corpus: Corpus) -> None:
    """The stored, memory-mapped index of a corpus, asked for all of its sentences."""
    index = ChunkIndex.open(index_run)
    sentences = corpus.texts(np.arange(len(corpus)))
    for n in (1, 10, 1000):
        expected = brute_force(index, sentences, n)
        assert_equal(index.screen(sentences, n), expected)
    cut = sum(len(full.chunks) > 10 for full in expected)
    assert cut > 100, "the cut-off was hardly tested"


def test_batches_change_nothing(
    index_run: Run, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence at a time, or all at once."""
    index = ChunkIndex.open(index_run)
    sentences = corpus.texts(np.arange(20))
    together = index.screen(sentences, 5)
    assert_equal([index.screen([each], 5)[0] for each in sentences], together)
    monkeypatch.setattr(module, "PRODUCTS_AT_ONCE", 700)
    assert_equal(index.screen(sentences, 5), together)


def test_a_chunk_finds_itself_first(index_run: Run, corpus: Corpus) -> None:
    """The cosine of a chunk with itself is 1, up to rounding, and nothing is nearer."""
    index = ChunkIndex.open(index_run)
    for number, found in enumerate(index.screen([corpus.chunk_text(k) for k in range(20)], 1)):
        assert found.scores[0] == pytest.approx(1, abs=1e-6)
        assert corpus.chunk_text(int(found.chunks[0])) == corpus.chunk_text(number)


def test_odd_sentences(index_run: Run, corpus: Corpus) -> None:
    """No words, unknown words, no sentence at all: empty. Ten thousand words: as any other."""
    index = ChunkIndex.open(index_run)
    for found in index.screen(["", " \n", "?!…", "\ud800", "xylophonist zyzzyva"]):
        assert found.chunks.dtype == np.int64
        assert found.scores.dtype == np.float32
        assert len(found.chunks) == len(found.scores) == 0
    assert index.screen([]) == []
    long = " ".join([corpus.text(0)] * 2000)
    assert len(long.split()) >= 10_000
    assert_equal(index.screen([long], 9), brute_force(index, [long], 9))


def test_the_default_comes_from_the_configuration(index_run: Run, corpus: Corpus) -> None:
    """`retrieve.chunks` bounds a result where the caller does not; a bound below 1 is an error."""
    index = ChunkIndex.open(Run(index_run.path, index_run.config.changed(
        {"retrieve": {"chunks": 3}}, "test")))  # fmt: skip
    assert len(index.screen([corpus.text(0)])[0].chunks) == 3
    with pytest.raises(ValueError, match="got n=0"):
        index.screen(["a"], 0)


@given(st.lists(st.tuples(st.floats(2**-20, 1.5, width=32), st.integers(0, 2**31 - 1)), min_size=1))
def test_keys_sort_as_score_and_chunk(pairs: list[tuple[float, int]]) -> None:
    """Sorting the packed numbers sorts by falling score, then rising chunk, and loses nothing."""
    scores = np.array([score for score, _ in pairs], np.float32)
    chunks = np.array([chunk for _, chunk in pairs], np.int32)
    found = _unpacked(np.sort(_packed(chunks, scores, 7)))
    expected = sorted((-float(s), int(c) + 7) for s, c in zip(scores, chunks, strict=True))
    assert list(zip((-found.scores).tolist(), found.chunks.tolist(), strict=True)) == expected


def test_a_system_that_does_not_tell_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS has no `os.sched_getaffinity`; results never depend on the number of threads."""
    expected = in_memory(["red sky", "red"]).screen(["red"])
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    index = in_memory(["red sky", "red"], threads=None)
    assert_equal(index.screen(["red"]), expected)
