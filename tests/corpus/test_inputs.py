"""What the user names, and what is read."""

import shutil
from pathlib import Path

import pytest

from firth.corpus.inputs import Compression, Format, resolve_inputs
from firth.run.errors import InputError


def write(path: Path, text: str = "One. Two. Three.") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_folder_is_walked_in_order_and_hidden_or_other_files_are_left_out(tmp_path: Path) -> None:
    """Order does not depend on the file system, only on names."""
    for name in ("b.txt", "a/z.jsonl.gz", "a/b.TXT", ".hidden.txt", ".git/x.txt", "notes.pdf"):
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
    write(tmp_path / "others" / "x.pdf")
    pdf, packed = write(tmp_path / "y.pdf"), write(tmp_path / "z.parquet.gz")
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
