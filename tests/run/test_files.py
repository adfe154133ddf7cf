"""`firth.run.files`: a file is whole or not there, and is not replaced unasked."""

import errno
import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from firth.run.errors import InputError
from firth.run.files import (
    cache_folder,
    claim_file,
    fingerprint_value,
    read_json,
    reserve,
    write_atomically,
    write_json,
    write_text,
)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """An exception while writing keeps the previous content and leaves nothing beside it."""
    path = tmp_path / "file.json"
    write_json(path, {"a": 1})

    def torn() -> None:
        with write_atomically(path) as partial:
            partial.write_text("torn")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        torn()
    assert json.loads(path.read_text()) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["file.json"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot set space aside")
@pytest.mark.parametrize(("number", "stops"), [(errno.ENOSPC, True), (errno.EOPNOTSUPP, False)])
def test_a_full_disk_is_an_error_before_a_map_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, stops: bool
) -> None:
    """It names the file; a disk that cannot set space aside is written as it is."""
    path = tmp_path / "rows.npy"
    path.write_bytes(bytes(10))
    reserve(path)

    def refused(*_: object) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr(os, "posix_fallocate", refused)
    with pytest.raises(OSError, match=r"rows\.npy") if stops else nullcontext():
        reserve(path)
    assert path.read_bytes() == bytes(10)


def test_equal_values_give_equal_bytes(tmp_path: Path) -> None:
    """The order of keys does not change the file, nor the fingerprint."""
    one, two = {"a": 1, "b": [2, "é"]}, {"b": [2, "é"], "a": 1}
    assert list(one) != list(two)
    write_json(tmp_path / "one", one)
    write_json(tmp_path / "two", two)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert fingerprint_value(one) == fingerprint_value(two)


@pytest.mark.parametrize("text", ['{\n"a": }', '{\n"a": "b', "[" * 100_000])
def test_broken_json_is_named(tmp_path: Path, text: str) -> None:
    """The message says which file, and which line where there is one."""
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"broken\.json, line [2?]"):
        read_json(path)


def test_a_file_that_is_there_is_replaced_only_when_forced(tmp_path: Path) -> None:
    """Folders, links into nothing and files in place of folders are refused even then; missing
    folders are made when the file is written, and not before."""
    path = tmp_path / "new" / "deep" / "results.json"
    claim_file(path)
    assert not list(tmp_path.iterdir())
    write_text(path, "mine")
    with pytest.raises(InputError, match="--force"):
        claim_file(path)
    claim_file(path, force=True)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for other, part in (
        (tmp_path, "a folder"),
        (path / "file", "a file; expected a folder"),
        (path / "deep" / "file", "a file; expected a folder"),
        (tmp_path / "link", "no ordinary file"),
    ):
        with pytest.raises(InputError, match=part):
            claim_file(other, force=True)
    assert path.read_text() == "mine"


def test_the_folder_of_the_cache_can_be_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By FIRTH_CACHE, else by the platform's habit."""
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("FIRTH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / "firth"
