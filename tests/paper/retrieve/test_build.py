"""The retrieve stage: a stream, in blocks and shards, whose borders do not show in the results."""

from pathlib import Path

import numpy as np
import pytest

from firth.corpus.corpus import Corpus
from firth.paper.retrieve import RETRIEVE, build
from firth.paper.retrieve.build import build_index
from firth.paper.retrieve.index import ChunkIndex
from firth.run.errors import MissingStageError
from firth.run.run import Run

from .conftest import assert_equal, in_memory


def again(run: Run, folder: Path) -> Run:
    """A second run with the same corpus and no index."""
    copy = Run.create(folder, run.config)
    (folder / "corpus").symlink_to(run.path / "corpus")
    return copy


def contents(run: Run) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in run.folder(RETRIEVE).iterdir()}


def test_the_stage_is_the_index_of_the_chunks(index_run: Run, corpus: Corpus) -> None:
    """What was streamed to disk equals the index of all chunks made at once."""
    texts = [corpus.chunk_text(k) for k in range(corpus.n_chunks)]
    sentences = corpus.texts(np.arange(30))
    stored = ChunkIndex.open(index_run).screen(sentences, 40)
    assert_equal(stored, in_memory(texts).screen(sentences, 40))
    summary = index_run.manifest(RETRIEVE).summary
    assert summary["chunks"] == corpus.n_chunks
    assert summary["postings"] > summary["features"] > 100


@pytest.mark.parametrize(("words", "postings"), [(1, 1), (300, 1000), (10**6, 1)])
def test_blocks_and_shards_do_not_show(
    index_run: Run, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    words: int, postings: int,
) -> None:  # fmt: skip
    """Blocks of a chunk or of all, a shard a block or several: the same results, bit by bit."""
    monkeypatch.setattr(build, "BLOCK_WORDS", words)
    monkeypatch.setattr(build, "SHARD_POSTINGS", postings)
    run = again(index_run, tmp_path / "run")
    build_index(run)
    shards = run.manifest(RETRIEVE).summary["shards"]
    assert shards == {1: corpus.n_chunks, 10**6: 1}.get(words, shards)
    assert words != 300 or 1 < shards < corpus.n_chunks
    sentences = corpus.texts(np.arange(30))
    assert_equal(
        ChunkIndex.open(run).screen(sentences, 7), ChunkIndex.open(index_run).screen(sentences, 7)
    )


def test_equal_bytes_and_resumption(
    index_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in any block and started again: the bytes of a run that was not."""
    monkeypatch.setattr(build, "BLOCK_WORDS", 300)
    monkeypatch.setattr(build, "SHARD_POSTINGS", 1000)
    whole, broken = (again(index_run, tmp_path / name) for name in ("whole", "broken"))
    build_index(whole)
    write, calls = build._write_counts, []

    def stop_at_third(path: Path, counts: object) -> None:
        calls.append(path)
        if len(calls) == 3:
            raise KeyboardInterrupt
        write(path, counts)

    monkeypatch.setattr(build, "_write_counts", stop_at_third)
    with pytest.raises(KeyboardInterrupt):
        build_index(broken)
    build_index(broken)
    assert len(calls) == len(set(calls)) + 1, "blocks that were done were done again"
    assert contents(broken) == contents(whole)


def test_reuse(index_run: Run, tmp_path: Path) -> None:
    """How many chunks a query returns is no reason to build again; the number of features is."""
    assert build_index(Run(index_run.path, index_run.config.changed(
        {"retrieve": {"chunks": 3}}, "test"))).reused  # fmt: skip
    run = again(index_run, tmp_path / "run").changed({"retrieve": {"features_log2": 10}})
    assert not build_index(run).reused
    assert len(np.load(run.folder(RETRIEVE) / "idf.npy")) == 1 << 10


def test_what_is_missing_is_named(index_run: Run, tmp_path: Path) -> None:
    """Without a corpus, or without an index, the error names the command that makes it."""
    empty = Run.create(tmp_path / "empty", index_run.config)
    with pytest.raises(MissingStageError, match="firth corpus build"):
        build_index(empty)
    with pytest.raises(MissingStageError, match="retrieve"):
        ChunkIndex.open(again(index_run, tmp_path / "run"))
