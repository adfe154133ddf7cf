"""What the user names, and what is read."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from firth.corpus import CORPUS
from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.corpus.formats import Compression, Format
from firth.corpus.inputs import Reason, find_inputs, resolve_inputs
from firth.run import progress
from firth.run.errors import InputError
from firth.run.run import Run


def write(path: Path, text: str = "One. Two. Three.") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_folder_is_walked_in_order_and_hidden_or_other_files_are_left_out(tmp_path: Path) -> None:
    """Order does not depend on the file system, only on names."""
    for name in ("b.txt", "a/z.jsonl.gz", "a/b.TXT", ".hidden.txt", ".git/x.txt", "notes.docx"):
        write(tmp_path / "texts" / name)
    found = resolve_inputs([tmp_path / "texts"])
    assert [source.name for source in found] == [
        "texts/a/b.TXT",
        "texts/a/z.jsonl.gz",
        "texts/b.txt",
    ]
    assert found[1].format is Format.JSON_LINES
    assert found[1].compression is Compression.GZIP


def test_names_do_not_depend_on_where_the_corpus_lies(tmp_path: Path) -> None:
    """The same folder elsewhere has the same names and fingerprints: the stage is comparable."""
    write(tmp_path / "one" / "texts" / "a.txt")
    shutil.copytree(tmp_path / "one" / "texts", tmp_path / "two" / "deeper" / "texts")
    one = resolve_inputs([tmp_path / "one" / "texts"])
    two = resolve_inputs([tmp_path / "two" / "deeper" / "texts"])
    assert one[0].path != two[0].path
    assert [(s.name, s.fingerprint()) for s in one] == [(s.name, s.fingerprint()) for s in two]


def test_folder_and_glob_of_it_give_the_same_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the same files are named, their documents have the same names."""
    write(tmp_path / "texts" / "a.txt")
    write(tmp_path / "texts" / "in" / "b.txt")
    monkeypatch.chdir(tmp_path)
    expected = ["texts/a.txt", "texts/in/b.txt"]
    for given in ("texts", str(tmp_path / "texts"), "texts/**/*.txt", "./texts/"):
        assert [source.name for source in resolve_inputs([given])] == expected
    monkeypatch.chdir(tmp_path / "texts")
    for given in (".", "**/*.txt"):
        assert [source.name for source in resolve_inputs([given])] == expected


def test_equal_names_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    """No two sources share a name, or one would hide the other's fingerprint."""
    paths = [write(tmp_path / part / "sub" / "news.txt") for part in ("x", "y")]
    assert [source.name for source in resolve_inputs(paths)] == [
        "x/sub/news.txt",
        "y/sub/news.txt",
    ]


def test_file_named_twice_is_read_once(tmp_path: Path) -> None:
    """A file inside a folder that is named too, or behind a link, counts once."""
    path = write(tmp_path / "texts" / "a.txt")
    (tmp_path / "link.txt").symlink_to(path)
    assert len(resolve_inputs([tmp_path / "texts", path, tmp_path / "link.txt"])) == 1


def test_all_problems_are_raised_together(tmp_path: Path) -> None:
    """One error names every input that cannot be read, before any work."""
    (tmp_path / "empty").mkdir()
    write(tmp_path / "others" / "x.docx")
    pdf, packed = write(tmp_path / "y.docx"), write(tmp_path / "z.parquet.gz")
    good = write(tmp_path / "good.txt")
    absent, pattern = tmp_path / "absent.txt", tmp_path / "*.csv"
    given = [tmp_path / "empty", tmp_path / "others", pdf, packed, good, absent, pattern]
    with pytest.raises(InputError) as caught:
        resolve_inputs(given)
    message = str(caught.value)
    for named in (given[0], given[1], pdf, packed, absent, pattern):
        assert f"  - {named}: " in message
    assert "good.txt" not in message
    assert "1 of other endings" in message


def test_no_inputs_is_an_error() -> None:
    """A corpus of nothing is a mistake, not an empty corpus."""
    with pytest.raises(InputError, match="none given"):
        resolve_inputs([])


def test_file_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    """An existing file is that file, whatever characters its name has."""
    path = write(tmp_path / "a[1].txt")
    assert [source.path for source in resolve_inputs([path])] == [str(path)]


def left(inputs: list[Path | str], run: Path | None = None) -> dict[str, Reason]:
    """Name → why it is left out."""
    return {problem.source: problem.reason for problem in find_inputs(inputs, run)[1]}


@pytest.mark.parametrize("pattern", ["", "/**/*.[tj]*"])
def test_a_run_inside_its_input_is_not_read(tmp_path: Path, pattern: str) -> None:
    """What firth writes is never its input: the second build reads the same, and it is said."""
    write(tmp_path / "texts" / "a.txt")
    write(tmp_path / "texts" / "b.jsonl", '{"text": "Four. Five."}\nbroken\n')
    run, other = tmp_path / "texts" / "run", tmp_path / "texts" / "runs" / "other"
    given = f"{tmp_path / 'texts'}{pattern}"
    Corpus.build(tmp_path / "texts" / "a.txt", other)
    before = Corpus.build(given, run)
    again = Run.open(run).manifest(CORPUS)
    assert (run / "corpus" / "skipped.jsonl").is_file()  # what it would read
    assert build_corpus(Run.open(run)).reused
    assert Run.open(run).manifest(CORPUS) == again
    assert [before.document_id(d) for d in range(2)] == ["texts/a.txt", "texts/b.jsonl:1"]
    assert left([given], run) == {
        "texts/run": Reason.OWN_OUTPUT,
        "texts/runs/other/corpus": Reason.OWN_OUTPUT,
    }
    assert sum(again.summary["skipped"].values()) == 1


def test_a_manifest_of_the_users_hides_nothing(tmp_path: Path) -> None:
    """A folder is taken for firth's by what its manifest says, not by the file's name."""
    for number, content in enumerate(("{}", "null", "[]", "[" * 100_000, "\xff", '{"stage": 1}')):
        write(tmp_path / "texts" / str(number) / "manifest.json", content)
        write(tmp_path / "texts" / str(number) / "a.txt")
    sources, left_out = find_inputs([tmp_path / "texts"])
    assert (len(sources), left_out) == (6, [])


@pytest.mark.parametrize("given", ["corpus", ".", "corpus/a.txt", "corpus/*.txt", "../run/corpus"])
def test_an_input_inside_the_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    """`firth corpus build corpus --run .` would replace the texts by the stage `corpus`."""
    path = write(tmp_path / "run" / "corpus" / "a.txt")
    monkeypatch.chdir(tmp_path / "run")
    with pytest.raises(InputError, match=r"lies inside the run.*another folder with --run"):
        Corpus.build(given, ".")
    assert [p for p in (tmp_path / "run").rglob("*") if p.is_file()] == [path]


def test_links_to_folders_are_followed_once(tmp_path: Path) -> None:
    """A linked folder is read, a loop ends, and a folder has its own name rather than a link's."""
    write(tmp_path / "texts" / "z" / "a.txt")
    write(tmp_path / "elsewhere" / "b.txt")
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "texts")
    (tmp_path / "texts" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "texts" / "first").symlink_to(tmp_path / "texts" / "z")
    (tmp_path / "texts" / "z" / "loop").symlink_to(tmp_path / "texts")
    sources, _ = find_inputs([tmp_path / "texts"])
    assert [source.name for source in sources] == ["texts/linked/b.txt", "texts/z/a.txt"]
    assert left([tmp_path / "texts"]) == dict.fromkeys(
        ["texts/first", "texts/z/loop", "texts/linked/back"], Reason.READ_ALREADY
    )
    matched, _ = find_inputs([f"{tmp_path}/texts/**/*.txt"])
    assert [s.name.split("/")[-1] for s in matched] == ["b.txt", "a.txt"]


def test_what_is_not_a_regular_file_is_named_and_not_opened(tmp_path: Path) -> None:
    """A FIFO would wait for ever, and /dev/zero never ends; a link may lead nowhere."""
    good = write(tmp_path / "texts" / "a.txt")
    odd = {name: tmp_path / "texts" / f"{name}.txt" for name in ("fifo", "zero", "gone")}
    os.mkfifo(odd["fifo"])
    odd["zero"].symlink_to("/dev/zero")
    odd["gone"].symlink_to(tmp_path / "nowhere")
    for given in (tmp_path / "texts", f"{tmp_path}/texts/*.txt"):
        assert [source.path for source in resolve_inputs([given])] == [str(good)]
        assert left([given]) == {f"texts/{name}.txt": Reason.NOT_A_FILE for name in odd}
    with pytest.raises(InputError, match="a FIFO") as caught:
        resolve_inputs(list(odd.values()))
    assert "a device" in str(caught.value)
    assert "leads nowhere" in str(caught.value)


def refuse(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make a folder unreadable; its permissions would not stop the superuser."""
    scan = os.scandir

    def scandir(path: str | Path = ".") -> object:
        if str(path) == str(folder):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)


def test_an_unreadable_folder_is_named_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its neighbours are read; the screen, skipped.jsonl and the summary tell, also when reused."""
    write(tmp_path / "texts" / "a.txt")
    write(tmp_path / "texts" / "closed" / "b.txt")
    refuse(monkeypatch, tmp_path / "texts" / "closed")
    progress.set_quiet(False)
    for _ in range(2):
        Corpus.build(tmp_path / "texts", tmp_path / "run")
        assert "left out: texts/closed: unreadable folder (Permission" in capsys.readouterr().err
    run = Run.open(tmp_path / "run")
    assert run.manifest(CORPUS).summary["skipped"] == {"unreadable folder": 1}
    listed = json.loads((run.folder(CORPUS) / "skipped.jsonl").read_text())
    assert (listed["file"], listed["line"]) == ("texts/closed", 0)
    with pytest.raises(InputError, match="texts/closed: unreadable folder"):
        Corpus.build(tmp_path / "texts", tmp_path / "run", strict=True)
    refuse(monkeypatch, tmp_path / "texts")
    with pytest.raises(InputError, match=r"no file with a known ending.*unreadable folder"):
        resolve_inputs([tmp_path / "texts"])


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    r"""They are read under an escaped name, apart from a file really called so, and all is kept."""
    folder = tmp_path / "texts"
    write(folder / "a\udcff.txt", "One. Two. Three.")
    write(folder / "a\\xff.txt", "Four. Five. Six.")
    write(folder / "b\udcfe" / "c.txt", "Seven. Eight. Nine.")
    corpus = Corpus.build(folder, tmp_path / "run")
    assert [corpus.document_id(d) for d in range(3)] == [
        r"texts/a\xff.txt",
        r"texts/a\xff.txt (1)",
        r"texts/b\xfe/c.txt",
    ]
    assert len(Run.open(tmp_path / "run").manifest(CORPUS).inputs) == 3
    assert len(Corpus.build(folder / "a\udcff.txt", tmp_path / "one")) == 3
