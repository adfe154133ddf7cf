"""What a user names, and what is read: files, remote files, texts, records, frames, groups."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest

from firth.corpus.document import Document, Reason
from firth.corpus.read import DEMO, find_inputs, named_files
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.stage import MANIFEST

from .conftest import built, json_lines, read


def write(path: Path, text: str = "One. Two. Three.") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(inputs: Any, run: Path | None = None) -> list[str]:
    return [source.name for source in find_inputs(inputs, run).sources]


def left(inputs: Any, run: Path | None = None) -> dict[str, Reason]:
    return {problem.source: problem.reason for problem in find_inputs(inputs, run).left_out}


# --- Files -------------------------------------------------------------------------------------


def test_a_folder_is_walked_in_the_order_of_names(tmp_path: Path) -> None:
    """Hidden files and files of other extensions are left out."""
    for name in ("b.txt", "a/z.jsonl.gz", "a/b.TXT", ".hidden.txt", ".git/x.txt", "notes.docx"):
        write(tmp_path / "texts" / name)
    given = find_inputs(tmp_path / "texts")
    assert [s.name for s in given.sources] == ["texts/a/b.TXT", "texts/a/z.jsonl.gz", "texts/b.txt"]
    assert (given.sources[1].format, given.sources[1].packing) == ("jsonl", ".gz")


def test_a_folder_and_a_glob_of_it_give_the_same_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the same files are named, their documents have the same ids."""
    write(tmp_path / "texts" / "a.txt")
    write(tmp_path / "texts" / "in" / "b.txt")
    monkeypatch.chdir(tmp_path)
    expected = ["texts/a.txt", "texts/in/b.txt"]
    for given in ("texts", str(tmp_path / "texts"), "texts/**/*.txt", "./texts/"):
        assert names(given) == expected
    monkeypatch.chdir(tmp_path / "texts")
    for given in (".", "**/*.txt"):
        assert names(given) == expected


def test_all_problems_are_raised_together(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "others" / "x.docx")
    other, table = write(tmp_path / "y.docx"), write(tmp_path / "z.parquet.gz")
    good, absent, pattern = write(tmp_path / "good.txt"), tmp_path / "no.txt", tmp_path / "*.csv"
    bad = [tmp_path / "empty", tmp_path / "others", other, table, absent, pattern]
    with pytest.raises(InputError) as caught:
        find_inputs([good, *bad])
    message = str(caught.value)
    assert all(f"  - {named}: " in message for named in bad)
    assert "good.txt" not in message
    assert "1 of other extensions" in message
    with pytest.raises(InputError, match="none given"):
        find_inputs([])


def test_an_existing_file_is_no_pattern(tmp_path: Path) -> None:
    """Whatever characters its name has."""
    path = write(tmp_path / "a[1].txt")
    assert [source.path for source in find_inputs(path).sources] == [str(path)]


def test_what_firth_wrote_is_no_input(tmp_path: Path) -> None:
    """Runs and stages below a folder are passed over, and named; a manifest of a user is not."""
    texts = tmp_path / "texts"
    write(texts / "a.txt")
    Run.create(texts / "runs" / "other")
    write(texts / "runs" / "other" / "x.txt")
    write(texts / "stage" / MANIFEST, json.dumps({
        "stage": "words", "version": 1, "inputs": {}, "settings": {}, "request": "", "outputs": {},
        "summary": {},
    }))  # fmt: skip
    write(texts / "stage" / "x.txt")
    write(texts / "run" / "x.txt")
    for number, content in enumerate(("{}", "null", "[" * 100_000, '{"stage": 1}')):
        write(texts / str(number) / MANIFEST, content)
        write(texts / str(number) / "b.txt")
    expected = [*(f"texts/{n}/b.txt" for n in range(4)), "texts/a.txt"]
    own = dict.fromkeys(["texts/run", "texts/runs/other", "texts/stage"], Reason.OWN_OUTPUT)
    for given in (texts, f"{texts}/**/*.txt"):
        read_names = [name for name in names(given, texts / "run") if name.endswith(".txt")]
        assert read_names == expected
        assert left(given, texts / "run") == own


@pytest.mark.parametrize("given", ["corpus", ".", "corpus/a.txt", "corpus/*.txt", "../run/corpus"])
def test_an_input_inside_the_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    write(tmp_path / "run" / "corpus" / "a.txt")
    monkeypatch.chdir(tmp_path / "run")
    with pytest.raises(InputError, match=r"inside the run.*another --run"):
        find_inputs(given, Path())


def test_links_to_folders_are_followed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop ends, and no folder is read twice."""
    write(tmp_path / "texts" / "z" / "a.txt")
    write(tmp_path / "elsewhere" / "b.txt")
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "texts")
    (tmp_path / "texts" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "texts" / "z" / "loop").symlink_to(tmp_path / "texts")
    (tmp_path / "texts" / "z" / "again").symlink_to(tmp_path / "texts" / "z")
    scan, scanned = os.scandir, list[str]()

    def counted(path: Any) -> Any:
        scanned.append(str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", counted)
    assert names(tmp_path / "texts") == ["texts/linked/b.txt", "texts/z/a.txt"]
    assert len(scanned) == 3
    assert names(f"{tmp_path}/texts/**/*.txt") == ["texts/linked/b.txt", "texts/z/a.txt"]


def test_what_is_no_regular_file_is_named_and_not_opened(tmp_path: Path) -> None:
    """A FIFO waits for ever; a device may never end."""
    good = write(tmp_path / "texts" / "a.txt")
    targets = {"zero": "/dev/zero", "gone": str(tmp_path / "nowhere")}
    odd = {name: tmp_path / "texts" / f"{name}.txt" for name in ("fifo", *targets)}
    os.mkfifo(odd["fifo"])
    for name, target in targets.items():
        odd[name].symlink_to(target)
    expected = {f"texts/{name}.txt": Reason.NOT_A_FILE for name in odd}
    for given in (tmp_path / "texts", f"{tmp_path}/texts/*.txt"):
        assert [source.path for source in find_inputs(given).sources] == [str(good)]
        assert left(given) == expected
    with pytest.raises(InputError) as caught:
        find_inputs([*odd.values()])
    assert str(caught.value).count("FIFO, socket or device") == 2
    assert "leads nowhere" in str(caught.value)
    good.unlink()
    with pytest.raises(InputError, match=r"fifo\.txt: not a regular file"):
        find_inputs(tmp_path / "texts")


def test_an_unreadable_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its neighbors are read. (Permissions would not stop the superuser.)"""
    write(tmp_path / "texts" / "a.txt")
    write(tmp_path / "texts" / "closed" / "b.txt")

    def refusing(look: Any, closed: Callable[[Path], bool]) -> Any:
        def looked(path: str | Path = ".", **options: bool) -> Any:
            if closed(Path(path)):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return look(path, **options)

        return looked

    monkeypatch.setattr(os, "scandir", refusing(os.scandir, lambda path: path.name == "closed"))
    inside = refusing(Path.stat, lambda path: path.parent.name == "closed")
    monkeypatch.setattr(Path, "stat", inside)
    assert names(tmp_path / "texts") == ["texts/a.txt"]
    assert left(tmp_path / "texts") == {"texts/closed": Reason.UNREADABLE}


def test_equal_names_lose_no_document(tmp_path: Path) -> None:
    r"""Files of one name in several folders, and one whose name is how another is escaped."""
    paths = [write(tmp_path / part / "news.txt", f"It is {part}.") for part in ("x", "y")]
    odd = [write(tmp_path / "a\udcff.txt", "One."), write(tmp_path / r"a\xff.txt", "Two.")]
    corpus, summary = built(tmp_path / "run", [*paths, *odd])
    assert summary.documents == 4
    assert set(corpus.document_ids()) == {
        "news.txt", "news.txt:1", r"a\xff.txt", r"a\xff.txt:1"
    }  # fmt: skip
    assert sorted(corpus.texts(range(4))) == ["It is x.", "It is y.", "One.", "Two."]


def test_the_demo_has_90_speeches() -> None:
    documents, problems = read(DEMO)
    assert not problems
    assert len(documents) == 90
    assert all(d.title and d.date and d.source == DEMO for d in documents)


# --- Memory ------------------------------------------------------------------------------------

RECORDS = [{"text": "One here.", "id": "a", "author": "Ann"}, {"text": "Two here."}]


def test_texts_records_and_frames_are_read_like_a_file(tmp_path: Path) -> None:
    """A generator, pandas and polars give what JSON lines give, but for ids of the place."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(json_lines(RECORDS))
    expected = [(d.text, d.title, d.fields) for d in read(path, fields=("author",))[0]]
    for kind in (list, iter, pandas.DataFrame, polars.DataFrame):
        frame: Any = kind(RECORDS)
        documents, problems = read(frame, fields=("author",))
        assert not problems
        assert [(d.text, d.title, d.fields) for d in documents] == expected
        assert documents[0].id == "a"
        assert documents[1].id.startswith("text-")
    texts, _ = read([row["text"] for row in RECORDS])
    assert [d.text for d in texts] == [row["text"] for row in RECORDS]
    assert read(pandas.Series(["One here."]))[0][0].text == "One here."
    assert read([Document(id="x", text="One here.")])[0] == [Document(id="x", text="One here.")]


def test_bad_records_of_memory_are_named() -> None:
    documents, problems = read(["One here.", 7, {"text": None}, "", "half \ud800"])
    assert [d.text for d in documents] == ["One here."]
    reasons = [Reason.NOT_TEXT, Reason.NOT_TEXT, Reason.EMPTY, Reason.INVALID_UTF8]
    assert [(p.line, p.reason) for p in problems] == list(enumerate(reasons, 2))
    for wrong in (7, {"text": "One."}, b"text"):
        with pytest.raises(InputError, match="expected paths, texts"):
            find_inputs(wrong)  # type: ignore[arg-type]


def test_strings_are_paths_or_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A string names a file; a list or tuple of strings names files if all look like paths.

    What the command line and the settings name is a file, whatever it looks like.
    """
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.txt")
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder" / "b.txt")
    assert names("a.txt") == names(("a.txt",)) == names(["a.txt"]) == ["a.txt"]
    assert names(["a.txt", "folder"]) == ["a.txt", "folder/b.txt"]
    assert [d.text for d in read(["a.txt", "A text about the folder."])[0]][1].startswith("A text")
    texts = ("It is told in notes.txt", "and in a.md")
    assert [d.text for d in read(texts)[0]] == list(texts)
    for missing in ("no.txt", named_files(["A text."]), ["a.txt", "no.txt"]):
        with pytest.raises(InputError, match="no such file"):
            find_inputs(missing)
