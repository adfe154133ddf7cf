"""The corpus stage: skipping, strictness, duplicates, resumption, memory."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from firth.corpus.build import MAX_LISTED, build_corpus
from firth.corpus.corpus import Corpus
from firth.corpus.stats import corpus_stats
from firth.run.config import Config
from firth.run.errors import InputError
from firth.run.run import Run

from .conftest import json_lines

BUILD = (
    "import resource, sys; from firth import progress; progress.set_quiet(True)\n"
    "from firth.corpus.corpus import Corpus\n"
    "Corpus.build([sys.argv[1]], sys.argv[2])\n"
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
)


def create(path: Path, inputs: list[Path], **settings: object) -> Run:
    change = {"inputs": [str(given) for given in inputs], **settings}
    return Run.create(path, Config().changed({"corpus": change}, "test"))


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def large(path: Path, documents: int) -> Path:
    """Documents of 100 sentences of random words, all different."""
    rng = random.Random(11)
    vocabulary = ["".join(rng.choices("abcdefghij", k=6)) for _ in range(3_000)]
    with path.open("w") as file:
        for number in range(documents):
            body = " ".join(
                f"The {' '.join(rng.choices(vocabulary, k=9))} ends." for _ in range(100)
            )
            file.write(json.dumps({"id": str(number), "text": body}) + "\n")
    return path


def test_bad_records_are_listed_and_counted(tmp_path: Path) -> None:
    """skipped.jsonl names file, line and reason; the summary counts them by reason."""
    (tmp_path / "a.jsonl").write_bytes(
        json_lines(["One. Two."]) + b"broken\n" + json_lines(["Three. Four.", ""])
    )
    (tmp_path / "b.csv").write_bytes(b"text\nFive.\n\xff\n")
    run = create(tmp_path / "run", [tmp_path / "a.jsonl", tmp_path / "b.csv"])
    summary = build_corpus(run).manifest.summary
    lines = (run.path / "corpus" / "skipped.jsonl").read_text().splitlines()
    listed = [json.loads(line) for line in lines]
    assert [(entry["file"], entry["line"], entry["reason"]) for entry in listed] == [
        ("a.jsonl", 2, "broken JSON"),
        ("a.jsonl", 4, "empty text"),
        ("b.csv", 3, "invalid UTF-8"),
    ]
    assert summary["skipped"] == {"broken JSON": 1, "empty text": 1, "invalid UTF-8": 1}
    assert summary["documents"] == 3
    assert Corpus.open(run).texts([0, 1, 2, 3, 4]) == ["One.", "Two.", "Three.", "Four.", "Five."]


def test_the_list_of_bad_records_is_bounded(tmp_path: Path) -> None:
    """A file of nothing but garbage does not fill the disk a second time; all are counted."""
    (tmp_path / "a.jsonl").write_bytes(b"bad\n" * (MAX_LISTED + 50) + json_lines(["One. Two."]))
    run = create(tmp_path / "run", [tmp_path / "a.jsonl"])
    summary = build_corpus(run).manifest.summary
    assert summary["skipped"] == {"broken JSON": MAX_LISTED + 50}
    assert len((run.path / "corpus" / "skipped.jsonl").read_text().splitlines()) == MAX_LISTED


def test_strict_stops_at_the_first_and_leaves_nothing(tmp_path: Path) -> None:
    """Nothing half-written stays, and a corpus built before stays as it was."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(json_lines(["One. Two.", "Three."]))
    run = create(tmp_path / "run", [path], strict=True)
    build_corpus(run)
    before = contents(run.path)
    path.write_bytes(json_lines(["One. Two."]) + b"broken\nworse\n")
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: broken JSON"):
        build_corpus(run)
    assert contents(run.path) == before
    with pytest.raises(InputError):
        build_corpus(create(tmp_path / "fresh", [path], strict=True))
    assert set(contents(tmp_path / "fresh")) <= {"config.yaml", ".lock"}


def test_no_document_left_is_an_error(tmp_path: Path) -> None:
    """A run without any text fails here, with the reasons, and not three stages later."""
    (tmp_path / "a.jsonl").write_text('{"body": "One."}\n' * 5)
    run = create(tmp_path / "run", [tmp_path / "a.jsonl"])
    with pytest.raises(InputError, match="no document") as caught:
        build_corpus(run)
    assert "5 bad record(s)" in str(caught.value)
    assert "fields: 'body'" in str(caught.value)
    assert not (run.path / "corpus").exists()
    assert not (run.path / ".corpus.work").exists()


def test_duplicates_are_dropped(tmp_path: Path) -> None:
    """The first of equal documents stays, also across files, whatever their case and spacing."""
    (tmp_path / "a.jsonl").write_bytes(json_lines(["One. Two.", "Three.", "one  two"]))
    (tmp_path / "b.txt").write_text("THREE!")
    (tmp_path / "c.txt").write_text("Four.")
    run = create(tmp_path / "run", [tmp_path])
    summary = build_corpus(run).manifest.summary
    assert (summary["documents"], summary["duplicates"]) == (3, 2)
    stats = corpus_stats(run)
    assert [(s.source.split("/")[-1], s.documents, s.duplicates) for s in stats.sources] == [
        ("a.jsonl", 2, 1),
        ("b.txt", 0, 1),
        ("c.txt", 1, 0),
    ]


def test_what_makes_the_stage_stale(tmp_path: Path) -> None:
    """Content, order and settings do; moving the corpus does not."""
    texts = tmp_path / "one" / "texts"
    texts.mkdir(parents=True)
    (texts / "a.txt").write_text("One. Two. Three.")
    (texts / "b.txt").write_text("Four. Five. Six.")
    path = tmp_path / "run"
    assert not build_corpus(create(path, [texts])).reused
    assert build_corpus(create(path, [texts])).reused
    moved = tmp_path / "two" / "texts"
    shutil.copytree(texts, moved)
    assert build_corpus(create(path, [moved])).reused
    one = build_corpus(create(path, [texts / "a.txt", texts / "b.txt"]))
    two = build_corpus(create(path, [texts / "b.txt", texts / "a.txt"]))
    assert not two.reused
    assert one.manifest.digest != two.manifest.digest
    (texts / "b.txt").write_text("Four. Five. Seven.")
    assert not build_corpus(create(path, [texts])).reused


def test_settings_of_readers_reach_later_stages(tmp_path: Path) -> None:
    """Whatever changes contexts or slots changes the digest that later stages depend on."""
    (tmp_path / "a.txt").write_text("One is here. Two is here. Three is here.")
    digests = set()
    for settings in ({}, {"window": 2}, {"min_words": 2}, {"max_words": 9}):
        run = create(tmp_path / "run", [tmp_path / "a.txt"], **settings)
        digests.add(build_corpus(run).manifest.digest)
    assert len(digests) == 4


def test_killed_builds_end_with_the_same_bytes(tmp_path: Path) -> None:
    """SIGKILL in the middle of writing, twice; then a call gives what an uninterrupted one does."""
    source = large(tmp_path / "a.jsonl", 250)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    workspace = killed / ".corpus.work"
    for size in (100_000, 800_000):
        process = subprocess.Popen(
            [sys.executable, "-c", BUILD, source, killed], stdout=subprocess.DEVNULL
        )
        written = workspace / "sentences.arrow"
        shutil.rmtree(workspace, ignore_errors=True)
        deadline = time.monotonic() + 60
        while not (written.is_file() and written.stat().st_size > size):
            assert process.poll() is None, "the build ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert workspace.is_dir()
        assert not (killed / "corpus").exists()
    (workspace / "stray.arrow").write_text("left behind by an older layout")
    Corpus.build([source], killed)
    Corpus.build([source], whole)
    assert not workspace.exists()
    assert contents(killed / "corpus") == contents(whole / "corpus")


def test_memory_is_flat(tmp_path: Path) -> None:
    """Eight times the corpus takes no more memory than noise, while the files grow eightfold."""
    peaks, sizes = [], []
    for documents in (150, 1_200):
        source = large(tmp_path / f"{documents}.jsonl", documents)
        run = tmp_path / f"run{documents}"
        done = subprocess.run(
            [sys.executable, "-c", BUILD, source, run], check=True, capture_output=True, text=True
        )
        peaks.append(int(done.stdout) * 1024)
        sizes.append((run / "corpus" / "sentences.arrow").stat().st_size)
    assert sizes[1] > 7.5 * sizes[0]
    assert sizes[1] > 8_000_000
    assert peaks[1] - peaks[0] < 5_000_000


def test_stats_agree_with_the_corpus(corpus: Corpus, corpus_run: Path, tiny_folder: Path) -> None:
    """What is printed is what is stored, and survives JSON."""
    stats = corpus_stats(corpus_run)
    assert stats.documents == corpus.n_documents == len(list(tiny_folder.iterdir()))
    assert stats.paragraphs == corpus.n_paragraphs
    assert stats.sentences == len(corpus)
    assert stats.words == int(corpus.word_counts.sum())
    assert stats.chunks == corpus.n_chunks
    assert stats.slots == len(corpus.slots()) > 0
    assert stats.sentence_words["0.0"] == corpus.word_counts.min()
    assert stats.sentence_words["1.0"] == corpus.word_counts.max()
    assert sum(source.sentences for source in stats.sources) == stats.sentences
    assert sum(source.words for source in stats.sources) == stats.words
    assert json.loads(json.dumps(stats.as_dict()))["sources"][0]["documents"] == 1
