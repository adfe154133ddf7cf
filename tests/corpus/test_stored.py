"""Inputs in a store are those of the same folder here."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from firth.corpus import CORPUS
from firth.corpus.build import build_corpus
from firth.corpus.inputs import Reason, find_inputs, resolve_inputs
from firth.run.config import Config
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.stage import MANIFEST
from firth.run.store import Store, Transfer

TEXT = "The ship left. The crew sang a song. The harbour was empty. It rained all night.\n"


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A folder with all that is read and left out."""
    folder = tmp_path / "texts"
    for name in ("b.txt", "a/z.md", "a/b/c.TXT", ".hidden.txt", ".git/x.txt", "notes.docx"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}. {TEXT}")
    lines = "".join(json.dumps({"text": f"{n}. {TEXT}"}) + "\n" for n in range(20))
    (folder / "lines.jsonl.gz").write_bytes(gzip.compress(lines.encode(), mtime=0)[:-6])
    pq.write_table(pa.table({"text": [f"Row {n}. {TEXT}" for n in range(9)]}), folder / "t.parquet")
    own = folder / "runs" / "own" / "corpus"
    (own / "more").mkdir(parents=True)
    for path in (own / MANIFEST, own / "more" / MANIFEST):
        path.write_text('{"stage": "corpus", "request": "", "outputs": {}}')
    for path in (own / "skipped.jsonl", own / "more" / "x.txt", own.parent / "mine.txt"):
        path.write_text(json.dumps({"text": TEXT}))
    (folder / "a" / MANIFEST).write_text('{"stage": "of another program"}')
    return folder


def upload(folder: Path, address: str) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    Store(address).put(
        [Transfer(p.relative_to(folder).as_posix(), p, p.stat().st_size) for p in files], "Sending"
    )


def test_a_run_of_remote_inputs_is_the_run_of_local_ones(
    bucket: str, texts: Path, tmp_path: Path
) -> None:
    """The same sources under the same names, a broken file and all; the same bytes in the stage,
    its manifest included. What was fetched once is not fetched again."""
    upload(texts, f"{bucket}/some/texts")
    local, left_out = find_inputs([texts])
    assert len(local) == 6  # the premise
    assert {problem.reason for problem in left_out} == {Reason.OWN_OUTPUT}
    remote, lost = find_inputs([f"{bucket}/some/texts/"])
    assert [(s.name, s.fingerprint(), s.size) for s in remote] == [
        (s.name, s.fingerprint(), s.size) for s in local
    ]
    assert sorted(map(str, lost)) == sorted(map(str, left_out))
    folders = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "fetch", None)  # a call would fail
        for number, given in enumerate((str(texts), f"{bucket}/some/texts")):
            config = Config.parse({"corpus": {"inputs": [given]}}, "test")
            run = Run(tmp_path / f"run-{number}", config)
            build_corpus(run)
            folders.append(run.path / CORPUS.name)
    one, two = (
        {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        for folder in folders
    )
    assert one == two


@pytest.mark.parametrize(
    "given", ["texts/**/*.[tT]*", "texts/a", "texts/b.txt", "texts/*.txt", "texts/a/**", "texts/**"]
)
def test_patterns_and_files_mean_the_same(
    memory: str, texts: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As below a folder here; or the same is wrong with them."""
    shutil.rmtree(texts / "runs")
    upload(texts, f"{memory}/texts")
    monkeypatch.chdir(texts.parent)

    def names(root: str) -> list[str] | int:
        try:
            return [source.name for source in resolve_inputs([f"{root}{given}"])]
        except InputError as error:
            return str(error).count("unknown ending")

    assert names(f"{memory}/") == names("")


def test_a_changed_file_is_fetched_and_a_moved_one_is_the_same(
    bucket: str, texts: Path, tmp_path: Path
) -> None:
    """Its fingerprint is that of its bytes; where it lies does not count. One that is named twice,
    by itself and by its folder, is read once."""
    upload(texts / "a", f"{bucket}/one/a")
    upload(texts / "a", f"{bucket}/two/a")
    one = resolve_inputs([f"{bucket}/one/a"])
    two = resolve_inputs([f"{bucket}/two/a"])
    assert [(s.name, s.fingerprint()) for s in one] == [(s.name, s.fingerprint()) for s in two]
    assert {s.path for s in one}.isdisjoint(s.path for s in two)
    assert len(resolve_inputs([f"{bucket}/one/a", f"{bucket}/one/a/z.md"])) == 2
    both = [source.name for source in resolve_inputs([f"{bucket}/one/a", f"{bucket}/two/a"])]
    assert both == ["one/a/b/c.TXT", "one/a/z.md", "two/a/b/c.TXT", "two/a/z.md"]
    path = texts / "a" / "z.md"
    path.write_text(path.read_text().replace("ship", "shop"))
    upload(texts / "a", f"{bucket}/one/a")
    again = resolve_inputs([f"{bucket}/one/a"])
    assert again[0].fingerprint() == one[0].fingerprint()
    assert again[1].fingerprint() != one[1].fingerprint()


def test_what_cannot_be_read_is_named(memory: str, texts: Path, tmp_path: Path) -> None:
    """All together, before anything is fetched."""
    upload(texts / "a", f"{memory}/texts")
    (tmp_path / "x.docx").write_text("x")
    Store(memory).put([Transfer("x.docx", tmp_path / "x.docx", 1)], "Sending")
    given = [f"{memory}/nothing", f"{memory}/x.docx", f"{memory}/texts/*.csv", str(tmp_path / "no")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "fetch", None)
        with pytest.raises(InputError) as caught:
            resolve_inputs([f"{memory}/texts", *given])
    for each in given:
        assert f"  - {each}: " in str(caught.value)
    with pytest.raises(InputError, match="expected the name of a bucket"):
        resolve_inputs(["memory://*/x"])


def test_a_file_that_vanishes_or_changes_is_named(
    memory: str, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the list and the reading; the same command then reads what is there."""
    upload(texts / "a", f"{memory}/texts")
    files = fsspec.filesystem("memory")
    whole = files.get

    def vanished(*values: Any) -> None:
        files.rm("/bucket/texts/z.md")
        whole(*values)

    def changed(*values: Any) -> None:
        files.pipe_file("/bucket/texts/b/c.TXT", b"Another text.")
        whole(*values)

    for meanwhile, message in ((changed, r"c\.TXT: 13 bytes, not \d+"), (vanished, r"z\.md")):
        monkeypatch.setattr(files, "get", meanwhile)
        with pytest.raises(InputError, match=message):
            resolve_inputs([f"{memory}/texts"])
    monkeypatch.setattr(files, "get", whole)
    (source,) = resolve_inputs([f"{memory}/texts"])
    assert Path(source.path).read_text() == "Another text."
