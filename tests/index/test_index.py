"""The index: vectors of every sentence, the nearest of them, and what it refuses."""

import shutil
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus.corpus import Corpus
from firth.corpus.library import Library
from firth.index import INDEX
from firth.index.build import build_index
from firth.index.codes import Turn, candidates
from firth.index.encoder import TextEncoder
from firth.index.index import LOOKED_AT, Index
from firth.index.vectors import Stacked, write_vectors
from firth.index.words import Lists, WordIndex, hashes, joint_lengths, write_lists
from firth.lexical.tfidf import TfIdf, fit_idf
from firth.run.errors import DamagedError, InputError
from firth.run.run import Run
from firth.surrogate import SURROGATE


@pytest.fixture(scope="module")
def index(tiny_run: Path) -> Index:
    return Index.open(tiny_run)


def test_the_library_goes_on_where_the_corpus_ends(tiny_run: Path) -> None:
    """Sentences of the corpus keep their numbers; those held out follow; nothing is missing."""
    library, corpus = Library.open(tiny_run), Corpus.open(tiny_run)
    held_out = Corpus.held_out(tiny_run)
    assert len(held_out) > 0
    assert len(library) == len(corpus) + len(held_out)
    numbers = np.array([len(library) - 1, 3, len(corpus), 0])
    texts = [held_out.text(len(held_out) - 1), corpus.text(3), held_out.text(0), corpus.text(0)]
    assert library.texts(numbers) == texts
    assert [text for batch in library.batches() for text in batch] == library.texts(
        np.arange(len(library))
    )
    d = int(library.document_of(len(corpus)))
    assert library.document_id(d) == held_out.document_id(0) == library.document_ids()[d]
    assert library.document_source(d) == held_out.document_source(0)
    assert library.document_sources()[d] == held_out.document_source(0)[0]
    assert library.document_bounds[-1] == len(library)
    with pytest.raises(IndexError):
        library.text(len(library))


def test_vectors_are_those_of_sentence_transformers(tiny_run: Path, index: Index) -> None:
    """NumPy alone gives a static model's vectors, up to what 16 bits hold."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(tiny_run / SURROGATE.name), device="cpu")
    texts = [*index.library.texts(np.arange(50)), "quite unknown words", "!?", ""]
    expected = model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    assert type(index.encoder).__name__ == "_Static"
    np.testing.assert_allclose(index.encode(texts), expected, atol=1e-6)
    np.testing.assert_allclose(index.vectors[:50], expected[:50], atol=1e-3)


def test_other_models_are_asked_through_sentence_transformers(tiny_bert: Path) -> None:
    """A Transformer's unit vectors do not depend on what else is encoded."""
    encoder = TextEncoder.open(tiny_bert)
    vectors = encoder.encode(["the ship saw the harbour.", "a cow"])
    assert vectors.shape == (2, encoder.dimensions)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(encoder.encode(["a cow"])[0], vectors[1], atol=1e-6)
    assert encoder.encode([]).shape == (0, encoder.dimensions)


def test_the_nearest_of_a_sentence_is_itself(index: Index) -> None:
    """Exactly: the cosines are in order, and those of a plain matrix product."""
    found = index.nearest(index.vectors[5:8], 4)
    plain = index.vectors[5:8].astype(np.float32) @ index.vectors[:].astype(np.float32).T
    np.testing.assert_allclose(found.scores, -np.sort(-plain, axis=1)[:, :4], atol=1e-2)
    assert (np.diff(found.scores, axis=1) <= 0).all()
    texts = index.library.texts(found.numbers[:, 0])
    assert texts == index.library.texts([5, 6, 7])
    assert index.nearest(index.vectors[:2], 10**6).numbers.shape == (2, len(index))
    assert index.nearest(np.empty((0, index.vectors.shape[1])), 3).numbers.shape == (0, 3)


def test_codes_find_what_is_exact(index: Index) -> None:
    """With as many candidates as vectors, codes change nothing."""
    assert len(index) < LOOKED_AT
    exact = index.nearest(index.vectors[:20], 5)
    by_codes = index.nearest(index.vectors[:20], 5, exact=False)
    np.testing.assert_allclose(by_codes.scores, exact.scores, atol=1e-6)


def test_filters_come_before_ranking(index: Index) -> None:
    """Of some sentences alone the nearest are found, exactly and by codes, by vectors and words."""
    within = np.arange(1, len(index), 7)
    vectors = index.vectors[:6].astype(np.float32)
    plain = vectors @ index.vectors[within].astype(np.float32).T
    for exact in (True, False):
        found = index.nearest(vectors, 4, exact=exact, within=within)
        assert np.isin(found.numbers, within).all()
        np.testing.assert_allclose(found.scores, -np.sort(-plain, axis=1)[:, :4], atol=1e-2)
    text = index.library.text(int(within[2]))
    best = index.words.best(text, 5, within)
    scores = index.words.scores(text, within)
    assert len(best) == 5
    assert np.isin(best, within).all()
    np.testing.assert_allclose(index.words.scores(text, best), -np.sort(-scores)[:5])
    assert index.nearest(vectors, 3, exact=False, within=within[:2]).numbers.shape == (6, 2)


@pytest.mark.parametrize(("dimensions", "words"), [(70, 2), (512, 8)])
def test_codes_find_most_of_the_nearest(dimensions: int, words: int) -> None:
    """Of 20,000 random vectors in clusters, the tenth part that is looked at has the nearest: also
    where the first half of the bits says which codes are compared in the others."""
    rng = np.random.default_rng(1)
    shape = 20_000, dimensions
    centres = rng.standard_normal((200, dimensions))
    vectors = centres[rng.integers(0, 200, 20_000)] + 0.5 * rng.standard_normal(shape)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    turn = Turn.fit(vectors[:1000].astype(np.float32), 3)
    codes = np.ascontiguousarray(turn.codes(vectors).T)
    assert codes.shape == (words, 20_000)
    found, threads = 0, ThreadPoolExecutor(2)
    for row in range(50):
        wanted = turn.codes(vectors[row : row + 1])[0]
        nearest = np.argsort(-(vectors @ vectors[row]))[:10]
        chosen = candidates(codes, wanted, 1_000, threads)
        assert 1_000 <= len(chosen) < 5_000
        found += len(np.intersect1d(nearest, chosen))
    assert found / 500 > 0.95


@settings(max_examples=30)
@given(
    sizes=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    low=st.integers(0, 12),
    high=st.integers(0, 12),
    numbers=st.lists(st.integers(0, 10**6), max_size=6),
)
def test_stacked_arrays_are_one(sizes: list[int], low: int, high: int, numbers: list[int]) -> None:
    """Slices, numbers and blocks are those of the arrays put together."""
    whole = np.arange(2 * sum(sizes)).reshape(-1, 2)
    stacked = Stacked(np.split(whole, np.cumsum(sizes)[:-1]))
    assert len(stacked) == len(whole)
    np.testing.assert_array_equal(stacked[low:high], whole[low:high])
    if len(whole):
        chosen = np.array(numbers, np.int64) % len(whole)
        np.testing.assert_array_equal(stacked[chosen], whole[chosen])
    for start, block in stacked.blocks(2):
        np.testing.assert_array_equal(block, whole[start : start + len(block)])
    assert sum(len(block) for _, block in stacked.blocks(2)) == len(whole)


def test_an_interrupted_encoding_goes_on(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was done is not done again, and the bytes are those of an uninterrupted call."""
    monkeypatch.setattr("firth.index.vectors.SHARD", 7)
    encoder = TextEncoder.open(tiny_run / SURROGATE.name)
    texts = Corpus.open(tiny_run).texts(np.arange(40))
    asked: list[int] = []

    def failing(start: int, end: int) -> list[str]:
        asked.append(start)
        if asked == [0, 7, 14]:
            raise KeyboardInterrupt
        return texts[start:end]

    whole, broken, rows = tmp_path / "whole.npy", tmp_path / "broken.npy", tmp_path / "rows.json"
    write_vectors(whole, rows, encoder, lambda a, b: texts[a:b], 40, "")
    with pytest.raises(KeyboardInterrupt):
        write_vectors(broken, rows, encoder, failing, 40, "")
    assert rows.exists()
    write_vectors(broken, rows, encoder, failing, 40, "")
    assert asked == [0, 7, 14, 14, 21, 28, 35]
    assert broken.read_bytes() == whole.read_bytes()
    write_vectors(broken, rows, encoder, failing, 40, "")
    assert len(asked) == 7, "what is whole is not encoded again"


WORDS = st.sampled_from(["a", "the", "ship", "ships", "sailed", "storm", "zebra"])
SENTENCES = st.lists(st.lists(WORDS, max_size=5).map(" ".join), min_size=1, max_size=12)


@settings(max_examples=40)
@given(texts=SENTENCES, at_once=st.integers(1, 9))
def test_lists_are_those_of_one_sort(
    texts: list[str], at_once: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """However few stems are in memory at once, the files have the bytes of a plain sort of all."""
    folder = tmp_path_factory.mktemp("lists")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("firth.index.words._AT_ONCE", at_once)
        write_lists(folder, texts)
    pairs = sorted((term, n) for n, text in enumerate(texts) for term in {*hashes(text)})
    every = np.array([term for term, _ in pairs], np.uint64)
    terms, frequencies = np.unique(every, return_counts=True)
    squares = np.log((1 + len(texts)) / (1 + frequencies)) ** 2
    sums = np.zeros(len(texts))
    for (_, sentence), square in zip(pairs, np.repeat(squares, frequencies), strict=True):
        sums[sentence] += square
    wanted: dict[str, Any] = {
        "terms": terms,
        "term_bounds": np.concatenate(([0], np.cumsum(frequencies))).astype(np.int64),
        "term_sentences": np.array([n for _, n in pairs], np.uint32),
        "lengths": np.sqrt(sums).astype(np.float32),
    }
    plain = tmp_path_factory.mktemp("plain")
    for name, array in wanted.items():
        np.save(plain / f"{name}.npy", array)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        path.name: path.read_bytes() for path in plain.iterdir()
    }


def test_lists_take_little_memory(tmp_path: Path) -> None:
    """Three times the sentences, of the same words, take no byte a sentence more."""
    names = [f"w{number}" for number in range(300)]
    taken = []
    for size in (20_000, 60_000):
        texts = (" ".join(names[n * k % 300] for k in range(1, 16)) for n in range(size))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("firth.index.words._AT_ONCE", 1 << 14)
            tracemalloc.start()
            write_lists(tmp_path, texts)
            taken.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert (taken[1] - taken[0]) / 40_000 < 1, "a plain sort takes some 600 bytes"


@settings(max_examples=40)
@given(texts=SENTENCES, more=SENTENCES, query=st.text("ashiptorm ", max_size=20))
def test_lists_of_words_give_tfidf(
    texts: list[str], more: list[str], query: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Cosines are those of `TfIdf` over all parts together."""
    one, two = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    write_lists(one, texts)
    write_lists(two, more)
    parts = [Lists.open(one), Lists.open(two)]
    lengths = joint_lengths(parts)
    index = WordIndex(
        [replace(part, lengths=its) for part, its in zip(parts, lengths, strict=True)]
    )
    tfidf = TfIdf(fit_idf([*texts, *more], "both parts"))
    for asked in (query, texts[0]):
        scores = index.scores(asked, np.arange(len(texts) + len(more)))
        pairs = [(asked, text) for text in [*texts, *more]]
        expected = tfidf.similarities(pairs)
        weighs = np.array([any(tfidf.weights(text).values()) for _, text in pairs])
        np.testing.assert_allclose(scores[weighs], expected[weighs], atol=1e-5)
        assert not scores[~weighs].any()
        best = index.best(asked, 5)
        assert len(best) == min(5, (scores > 0).sum())
        np.testing.assert_allclose(scores[best], -np.sort(-scores)[: len(best)], atol=1e-5)


def test_frequent_words_are_looked_up_for_the_best_alone(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where few entries are scanned, the scores of what is found stay the same."""
    text = "The ship saw the rare harbour near the storm."
    whole = index.words.best(text, 5)
    monkeypatch.setattr("firth.index.words.SCANNED", 1)
    few = index.words.best(text, 5)
    assert len(few) == 5
    np.testing.assert_allclose(
        index.words.scores(text, few)[0], index.words.scores(text, whole)[0], rtol=0.3
    )


def test_a_model_of_ones_own(tiny_run: Path, tiny_bert: Path, tmp_path: Path) -> None:
    """`index.model` needs no Surrogate; a model that changed is refused when it is opened."""
    for name in ("corpus", "config.yaml"):
        source = tiny_run / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    model = tmp_path / "model"
    shutil.copytree(tiny_bert, model)
    run = Run.open(tmp_path).changed({"index": {"model": str(model)}})
    assert not build_index(run).reused
    assert build_index(run).reused
    found = Index.open(tmp_path)
    np.testing.assert_allclose(
        found.encode([found.library.text(2)])[0], found.vectors[2:3][0], atol=2e-3
    )
    (model / "config.json").write_bytes((model / "config.json").read_bytes() + b" ")
    with pytest.raises(InputError, match="other bytes"):
        Index.open(tmp_path)


def test_vectors_of_another_surrogate_are_refused(tiny_run: Path, tmp_path: Path) -> None:
    """A Surrogate that was built anew makes the index stale, and it is said."""
    from firth.run.files import read_json, write_json

    shutil.copytree(tiny_run, tmp_path / "run")
    manifest = tmp_path / "run" / INDEX.name / "manifest.json"
    stored = read_json(manifest)
    stored["inputs"][SURROGATE.name] = "0" * 40
    write_json(manifest, stored)
    with pytest.raises(DamagedError, match="firth index --run"):
        Index.open(tmp_path / "run")


def test_more_sentences_than_lists_can_number_are_refused(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any is encoded, and with what to do."""
    monkeypatch.setattr("firth.index.build.MOST_SENTENCES", len(Library.open(tiny_run)) - 1)
    with pytest.raises(InputError, match="Build several runs"):
        build_index(Run.open(tiny_run))
