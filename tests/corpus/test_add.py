"""Documents that come later: what is there stays, nothing stands there twice, nothing is lost."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus import ADDED, CORPUS
from firth.corpus.add import build_added
from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.corpus.library import Library
from firth.corpus.stats import corpus_stats
from firth.pipeline import bring_up_to_date
from firth.run.config import Config
from firth.run.errors import DamagedError, InputError
from firth.run.run import Run

from .test_build import contents


def write(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows(start: int, end: int, **more: object) -> list[dict[str, Any]]:
    """Documents of two paragraphs, each with words of its own."""
    return [
        {"id": f"d{n}", "text": f"Word{n} is here. It stays.\n\nAnd {n} goes.", **more}
        for n in range(start, end)
    ]


def create(path: Path, inputs: list[Path], **options: object) -> Run:
    corpus = {"inputs": [str(given) for given in inputs], "held_out": 3, **options}
    run = Run.create(path, Config().changed({"corpus": corpus}, "test"))
    build_corpus(run)
    return run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run of six documents, two of them held out."""
    return create(tmp_path / "run", [write(tmp_path / "base.jsonl", rows(0, 6))])


def named(run: Run) -> dict[str, list[str]]:
    """Document → its sentences."""
    library = Library.open(run)
    bounds = library.document_bounds.tolist()
    return {
        library.document_id(d): library.texts(range(bounds[d], bounds[d + 1]))
        for d in range(library.n_documents)
    }


def test_documents_follow_those_of_the_corpus(run: Run, tmp_path: Path) -> None:
    """The corpus is as it was, byte for byte; what learns sees no more of it; the library has
    all, in the order of adding, with titles, dates and paragraphs."""
    before, learned = contents(run.folder(CORPUS)), len(Corpus.open(run))
    extra = {"title": "New", "date": "2024-05-01"}
    build_added(run, [str(write(tmp_path / "one.jsonl", rows(6, 8, **extra)))])
    build_added(run, [str(write(tmp_path / "two.jsonl", rows(8, 9)))])
    assert contents(run.folder(CORPUS)) == before
    assert len(Corpus.open(run)) == learned
    library = Library.open(run)
    assert library.document_ids() == [f"d{n}" for n in (0, 1, 3, 4, 2, 5, 6, 7, 8)]
    assert library.document_title(6) == "New"
    assert library.document_dates()[6:] == ["2024-05-01", "2024-05-01", ""]
    assert named(run)["d8"] == ["Word8 is here.", "It stays.", "And 8 goes."]
    assert Corpus(run.folder(ADDED)).n_paragraphs == 6
    assert library.added == corpus_stats(run).added == 3
    assert "33.3%" in library.remark()
    alone = create(tmp_path / "alone", [write(tmp_path / "all.jsonl", rows(0, 9))])
    assert named(alone) == named(run)


def test_added_twice_is_added_once(run: Run, tmp_path: Path) -> None:
    """The same bytes, whatever is added again: all of it, a part, or a file that has grown; one
    call or two; duplicates are listed once, and only under other names."""
    new = [*rows(6, 8), {"id": "copy", "text": "word0 IS here; it stays. and 0 goes"}]
    file = write(tmp_path / "new.jsonl", new)
    first = build_added(run, [str(file)])
    assert first.manifest.summary["new"] == 2
    assert first.manifest.summary["duplicates"] == 1
    again = build_added(run, [str(file)])
    assert (again.manifest.summary["new"], again.manifest.summary["known"]) == (0, 3)
    assert again.manifest.digest == first.manifest.digest
    base = build_added(run, [str(tmp_path / "base.jsonl")])
    assert (base.manifest.summary["new"], base.manifest.summary["known"]) == (0, 6)
    assert base.manifest.digest == first.manifest.digest
    grown = write(tmp_path / "new.jsonl", [*new, *rows(8, 9)])
    build_added(run, [str(grown)])
    other = create(tmp_path / "other", [tmp_path / "base.jsonl"])
    build_added(other, [str(grown)])
    assert run.manifest(ADDED).digest == other.manifest(ADDED).digest
    listed = (run.folder(ADDED) / "duplicates.jsonl").read_text().splitlines()
    assert [json.loads(line)["kept"]["id"] for line in listed] == ["d0"]


def test_a_name_with_another_text_is_an_error(run: Run, tmp_path: Path) -> None:
    """Both places are named, and nothing was added, whether the other is in the corpus, was added
    before, or comes with it."""
    build_added(run, [str(write(tmp_path / "new.jsonl", rows(6, 8)))])
    before = contents(run.path)
    for rest in ([{"id": "d1", "text": "Other."}], [{"id": "d7", "text": "Other."}],
                 [{"id": "x", "text": "One."}, {"id": "x", "text": "Two."}]):  # fmt: skip
        clash = write(tmp_path / "clash.jsonl", [*rows(8, 9), *rest])
        with pytest.raises(InputError, match=r"jsonl, line \d, and clash\.jsonl, line [23]"):
            build_added(run, [str(clash)])
        assert contents(run.path) == before


def test_a_corpus_built_again_takes_in_what_it_reads(run: Run, tmp_path: Path) -> None:
    """What was added and is not among the new inputs stays; whatever is in both stands once."""
    new = write(tmp_path / "new.jsonl", [*rows(6, 9), {"id": "c6", "text": rows(6, 7)[0]["text"]}])
    build_added(run, [str(new)])
    everything = named(run)
    part = write(tmp_path / "part.jsonl", rows(7, 8))
    change = {"corpus": {"inputs": [str(tmp_path / "base.jsonl"), str(part)]}}
    later = run.changed(change)
    build_corpus(later)
    with pytest.raises(DamagedError, match="firth corpus add --run"):
        Library.open(later)
    bring_up_to_date(later, CORPUS)
    library = Library.open(later)
    assert named(later) == everything
    assert library.document_ids()[-2:] == ["d6", "d8"]
    assert later.manifest(ADDED).summary["folded"] == 1
    listed = (later.folder(ADDED) / "duplicates.jsonl").read_text().splitlines()
    assert [json.loads(line)["kept"]["id"] for line in listed] == ["d6"]
    assert bring_up_to_date(later, CORPUS)[ADDED.name].reused
    new.unlink()  # whatever becomes of the files
    smaller = later.changed({"corpus": {"inputs": [str(tmp_path / "base.jsonl")], "min_words": 2}})
    bring_up_to_date(smaller, CORPUS)
    assert set(everything) - set(named(smaller)) == {"d7"}  # it was the corpus'


def test_a_duplicate_that_the_corpus_reads_first_is_its_own_affair(
    run: Run, tmp_path: Path
) -> None:
    """Two added documents of one text, of which the corpus now has the other: it is listed once."""
    text = rows(6, 7)[0]["text"]
    build_added(
        run, [str(write(tmp_path / "new.jsonl", [*rows(6, 7), {"id": "c6", "text": text}]))]
    )
    other = write(tmp_path / "other.jsonl", [{"id": "c6", "text": text}, *rows(6, 7)])
    other.rename(tmp_path / "new.jsonl")
    inputs = [str(tmp_path / name) for name in ("base.jsonl", "new.jsonl")]
    later = run.changed({"corpus": {"inputs": inputs}})
    bring_up_to_date(later, CORPUS)
    assert "c6" in named(later)
    assert "d6" not in named(later)
    assert (later.folder(ADDED) / "duplicates.jsonl").read_text() == ""
    assert '"d6"' in (later.folder(CORPUS) / "duplicates.jsonl").read_text()


def test_a_new_text_of_a_name_is_the_corpus_own(run: Run, tmp_path: Path) -> None:
    """A document that was added and has another text in the corpus of now gives way to it."""
    build_added(run, [str(write(tmp_path / "new.jsonl", rows(6, 8)))])
    changed = write(tmp_path / "new.jsonl", [{"id": "d6", "text": "Quite new."}])
    later = run.changed({"corpus": {"inputs": [str(tmp_path / "base.jsonl"), str(changed)]}})
    bring_up_to_date(later, CORPUS)
    assert named(later)["d6"] == ["Quite new."]
    assert named(later)["d7"] == named(run)["d7"]
    assert later.manifest(ADDED).summary["replaced"] == 1


def test_what_cannot_be_added(run: Run, tmp_path: Path) -> None:
    """Nothing, what lies inside the run, what has no record; a corpus of an earlier firth."""
    with pytest.raises(InputError, match="nothing was added yet"):
        build_added(run)
    with pytest.raises(InputError, match="inside the run"):
        build_added(run, [str(run.path)])
    with pytest.raises(InputError, match="can be used: 1 bad record"):
        build_added(run, [str(write(tmp_path / "bad.jsonl", [{"body": "x"}]))])
    assert not run.has(ADDED)


def test_damage_is_not_built_upon(run: Run, tmp_path: Path) -> None:
    """Added documents stand nowhere else, so that what is damaged has to be moved away."""
    file = write(tmp_path / "new.jsonl", rows(6, 8))
    build_added(run, [str(file)])
    path = run.folder(ADDED) / "sentences.arrow"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(DamagedError, match=r"sentences\.arrow has other bytes.*add their files"):
        build_added(run, [str(file)])
    (run.path / "added").rename(tmp_path / "away")
    build_added(run, [str(file)])
    assert len(named(run)) == 8


KILL = """
import os, signal, sys
from firth.corpus import add
from firth.run import progress
from firth.run.run import Run

progress.set_quiet(True)
left = int(sys.argv[3])
write = add.CorpusWriter.append

def append(self, *given):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, *given)

add.CorpusWriter.append = append
add.build_added(Run.open(sys.argv[1]), [sys.argv[2]])
"""


def test_killed_and_called_again(run: Run, tmp_path: Path) -> None:
    """What was there before is there all the time; the second call ends with the bytes of one that
    was not killed."""
    build_added(run, [str(write(tmp_path / "one.jsonl", rows(6, 8)))])
    before = named(run)
    more = write(tmp_path / "two.jsonl", rows(8, 12))
    killed = subprocess.run([sys.executable, "-c", KILL, str(run.path), str(more), "4"])
    assert killed.returncode == -signal.SIGKILL
    assert (run.path / "added" / ".corpus.work").is_dir()
    assert named(run) == before
    build_added(run, [str(more)])
    assert not (run.path / "added" / ".corpus.work").exists()
    other = create(tmp_path / "other", [tmp_path / "base.jsonl"])
    for name in ("one.jsonl", "two.jsonl"):
        build_added(other, [str(tmp_path / name)])
    assert contents(run.folder(ADDED)) == contents(other.folder(ADDED))
    assert os.listdir(run.path / "added") == ["corpus"]


@settings(max_examples=8)
@given(calls=st.lists(st.lists(st.integers(0, 12), max_size=4), min_size=1, max_size=4))
def test_any_order_of_calls_gives_all(
    calls: list[list[int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each document stands once, first come first, whatever comes again in which call."""
    folder = tmp_path_factory.mktemp("calls")
    run = create(folder / "run", [write(folder / "base.jsonl", rows(0, 4))])
    wanted = dict.fromkeys(range(4))
    for numbers in filter(None, calls):
        file = write(folder / "more.jsonl", [row for n in numbers for row in rows(n, n + 1)])
        build_added(run, [str(file)])
        wanted |= dict.fromkeys(numbers)
    library = Library.open(run)
    later = [int(name[1:]) for name in library.document_ids()[4:]]
    assert later == [n for n in wanted if n > 3]
    assert {*library.document_ids()} == {f"d{n}" for n in wanted}
