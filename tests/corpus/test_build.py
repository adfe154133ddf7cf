"""The corpus stage: skipping, strictness, duplicates, resumption, memory, files."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpus import documents as reading
from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.corpus.records import Record
from firth.corpus.seen import SeenTexts, row_of
from firth.corpus.skips import MAX_LISTED
from firth.corpus.stats import corpus_stats
from firth.corpus.store import BATCH_ROWS, ArrayWriter, chunk
from firth.run import progress
from firth.run.config import Config
from firth.run.errors import ConfigError, DamagedError, InputError
from firth.run.processes import Processes
from firth.run.run import Run

from .conftest import json_lines, table

BUILD = (
    "import resource, sys; from firth.run import progress; progress.set_quiet(True)\n"
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
    """Documents of 100 sentences of random words, all different, and each a second time."""
    rng = random.Random(11)
    vocabulary = ["".join(rng.choices("abcdefghij", k=6)) for _ in range(3_000)]
    with path.open("w") as file:
        for number in range(documents):
            body = " ".join(
                f"The {' '.join(rng.choices(vocabulary, k=9))} ends." for _ in range(100)
            )
            file.write(json.dumps({"id": str(number), "text": body}) + "\n")
            file.write(json.dumps({"id": f"again {number}", "text": body.upper()}) + "\n")
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
    lines = (run.path / "corpus" / "duplicates.jsonl").read_text().splitlines()
    name = tmp_path.name
    assert [json.loads(line) for line in lines] == [
        {
            "id": f"{name}/a.jsonl:3",
            "source": f"{name}/a.jsonl",
            "line": 3,
            "kept": {"id": f"{name}/a.jsonl:1", "source": f"{name}/a.jsonl", "line": 1},
        },
        {
            "id": f"{name}/b.txt",
            "source": f"{name}/b.txt",
            "line": 1,
            "kept": {"id": f"{name}/a.jsonl:2", "source": f"{name}/a.jsonl", "line": 2},
        },
    ]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["One two three.", "Four five six."], "texts stand alone: 2 sentences in 2 documents"),
        (["One two three. Four five six."], "no sentence of 3 to 60 words"),
        (["One two three. Four five six. Seven eight nine."], None),
    ],
)
def test_what_later_stages_will_miss_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], texts: list[str], said: str | None
) -> None:
    """Bad records, duplicates and a lack of neighbours are told by each call, reused or not."""
    (tmp_path / "a.jsonl").write_bytes(json_lines([*texts, texts[0].lower(), ""]))
    run = create(tmp_path / "run", [tmp_path / "a.jsonl"])
    progress.set_quiet(False)
    for reused in (False, True):
        outcome = build_corpus(run)
        shown = capsys.readouterr().err
        assert outcome.reused is reused
        assert "skipped: 1 (see corpus/skipped.jsonl" in shown
        assert "dropped: 1 documents" in shown
        assert outcome.manifest.summary.get("note", "").startswith(said or "")
        assert ("note" in outcome.manifest.summary) == (said is not None)
        assert said is None or said in shown
    assert corpus_stats(run).duplicates == 1


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
    """Whatever changes contexts or positions changes the digest that later stages depend on."""
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
    assert stats.documents == corpus.n_documents
    assert stats.documents + stats.held_out == len(list(tiny_folder.iterdir()))
    assert stats.held_out == Corpus.held_out(corpus_run).n_documents > 0
    assert stats.held_out == sum(source.held_out for source in stats.sources)
    assert stats.paragraphs == corpus.n_paragraphs
    assert stats.sentences == len(corpus)
    assert stats.words == int(corpus.word_counts.sum())
    assert stats.chunks == corpus.n_chunks
    assert stats.positions == len(corpus.positions()) > 0
    assert stats.sentence_words["0.0"] == corpus.word_counts.min()
    assert stats.sentence_words["1.0"] == corpus.word_counts.max()
    assert sum(source.sentences for source in stats.sources) == stats.sentences
    assert sum(source.words for source in stats.sources) == stats.words
    assert json.loads(json.dumps(stats.as_dict()))["sources"][0]["documents"] == 1


@pytest.mark.parametrize("every", [0, 2, 3, 20])
def test_held_out_documents_are_apart(tmp_path: Path, every: int) -> None:
    """Every so-manieth document that is kept is held out, in full, and only it; duplicates do not
    count. What learns sees the others only."""
    texts = [f"First text {n} is here. Second text {n} is there." for n in range(41)]
    texts.insert(3, texts[0].upper())  # a duplicate
    (tmp_path / "a.jsonl").write_bytes(json_lines(texts[:10]))
    (tmp_path / "b.jsonl").write_bytes(json_lines(texts[10:]))
    run = create(tmp_path / "run", [tmp_path / "a.jsonl", tmp_path / "b.jsonl"], held_out=every)
    summary = build_corpus(run).manifest.summary
    kept, held_out = Corpus.open(run), Corpus.held_out(run)
    del texts[3]
    expected = [n for n in range(41) if every and (n + 1) % every == 0]
    sentences = [f"First text {n} is here." for n in expected]
    assert held_out.texts(held_out.document_bounds[:-1]) == sentences
    assert (kept.n_documents, held_out.n_documents) == (41 - len(expected), len(expected))
    assert len(kept) + len(held_out) == 82
    assert not {*kept.texts(range(len(kept)))} & {*held_out.texts(range(len(held_out)))}
    assert (summary["documents"], summary["held_out"]) == (kept.n_documents, len(expected))
    sources = corpus_stats(run).sources
    assert [s.documents + s.held_out + s.duplicates for s in sources] == [10, 32]
    assert sum(source.held_out for source in sources) == len(expected)


@pytest.mark.parametrize("documents", [10, 19])
def test_of_few_documents_the_last_is_apart(tmp_path: Path, documents: int) -> None:
    """So that something can be asked of small corpora; nothing else differs from a corpus of which
    every so-manieth was asked for, as many as there are."""
    texts = [f"First text {n} is here. Second text {n} is there." for n in range(documents)]
    (tmp_path / "a.jsonl").write_bytes(json_lines([*texts, texts[0]]))
    files = []
    for name, every in (("few", 20), ("asked", documents)):
        run = create(tmp_path / name, [tmp_path / "a.jsonl"], held_out=every)
        assert build_corpus(run).manifest.summary["held_out"] == 1
        assert Corpus.held_out(run).text(0) == f"First text {documents - 1} is here."
        folder = run.path / "corpus"
        files.append({
            path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json"
        })  # fmt: skip
    assert files[0] == files[1]


def test_a_corpus_that_holds_none_out(tmp_path: Path) -> None:
    """Fewer than ten documents hold none out: an empty corpus, not an error; all of them cannot be
    held out."""
    (tmp_path / "a.jsonl").write_bytes(json_lines(f"Text {n}." for n in range(9)))
    run = create(tmp_path / "run", [tmp_path / "a.jsonl"])
    build_corpus(run)
    empty = Corpus.held_out(run)
    assert (len(empty), empty.n_documents, len(empty.positions())) == (0, 0, 0)
    assert list(empty.batches()) == []
    with pytest.raises(ConfigError, match="would hold out every document"):
        create(tmp_path / "other", [tmp_path / "a.jsonl"], held_out=1)
    shutil.rmtree(run.path / "corpus" / "held_out")
    with pytest.raises(DamagedError, match="held_out"):
        Corpus.held_out(run)


@given(lengths=st.lists(st.integers(1, 30), min_size=1, max_size=20), limit=st.integers(1, 12))
def test_chunks_tile_a_document(lengths: list[int], limit: int) -> None:
    """Chunks cover all sentences, are within the limit, and end early only where they may.

    A chunk shorter than the limit ends at the end of the document, or at a paragraph border when
    at least half full; and no chunk that is half full goes on over a paragraph border.
    """
    ends = chunk(lengths, limit)
    borders = set(np.cumsum(lengths).tolist())
    assert ends[-1] == sum(lengths)
    for start, end in zip([0, *ends], ends, strict=False):
        size = end - start
        assert 0 < size <= limit
        assert size == limit or end == ends[-1] or (end in borders and 2 * size >= limit)
        assert not any(
            2 * (border - start) >= limit and border < end for border in borders if border > start
        )


@pytest.mark.parametrize("count", [0, 1, BATCH_ROWS - 1, BATCH_ROWS, 3 * BATCH_ROWS + 5])
def test_array_written_in_pieces_is_the_array(tmp_path: Path, count: int) -> None:
    """The file is byte for byte what numpy would save at once."""
    writer = ArrayWriter(tmp_path / "pieces.npy", np.int64)
    for start in range(0, count, 1_000):
        writer.extend(range(start, min(start + 1_000, count)))
    writer.close()
    np.save(tmp_path / "whole.npy", np.arange(count, dtype=np.int64))
    assert (tmp_path / "pieces.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_seen_texts_know_the_normal_form(tmp_path: Path) -> None:
    """Case, punctuation and white space do not make a text new; a word does."""
    for _ in range(2):  # a second set is made anew
        with closing(SeenTexts(tmp_path / "scratch" / "seen.sqlite")) as seen:
            texts = ["The cat sat.", "the  cat, sat", "The cat sat down.", "The cat sat."]
            records = [Record("s", n, f"d{n}", "", text) for n, text in enumerate(texts)]
            found = [seen.add(row_of(record)) for record in records]
            first = {"id": "d0", "source": "s", "line": 0}
            assert found == [None, first, None, first]


def test_several_processes_write_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of several kinds, bad records, duplicates over borders of files and of shards: whoever
    splits, corpus, lists and summary are those of one process."""
    rng = random.Random(5)
    rows = [
        f"The {rng.choice(['cat', 'dog', 'bird'])} no. {n % 50} sat. So it goes." for n in range(90)
    ]
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(json_lines(rows[:60]) + b"broken\n" + json_lines(["", "One."]))
    (folder / "b.csv").write_bytes(table([["text"], *([row] for row in rows[40:])]))
    (folder / "c.txt").write_text("Alone.\n\nIt is.")
    (folder / "d.jsonl").write_bytes(b"\n")
    monkeypatch.setattr(reading, "SHARD", 100)
    whole = build_corpus(create(tmp_path / "whole", [folder]))
    assert whole.manifest.summary["duplicates"] > 20
    assert whole.manifest.summary["skipped"] == {"broken JSON": 1, "empty text": 1}
    several = build_corpus(create(tmp_path / "several", [folder]), Processes(2))
    assert several.manifest.summary == whole.manifest.summary
    assert contents(tmp_path / "several" / "corpus") == contents(tmp_path / "whole" / "corpus")
    sources = (tmp_path / "several" / "corpus" / "sources.jsonl").read_text().splitlines()
    counted = [json.loads(line) for line in sources]
    assert [entry["source"] for entry in counted] == [
        f"texts/{name}" for name in ("a.jsonl", "b.csv", "c.txt", "d.jsonl")
    ]
    assert [entry["skipped"] for entry in counted] == [2, 0, 0, 0]
    assert counted[3]["documents"] == 0
