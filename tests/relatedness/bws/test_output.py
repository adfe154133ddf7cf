"""A folder of results is replaced only when nothing of the user's is lost by it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from firth.relatedness.bws.output import write_folder
from firth.run.errors import InputError
from firth.run.stage import Outcome


def write(out: Path, seed: int, replace: bool = True) -> Outcome:
    def build(folder: Path) -> Mapping[str, Any]:
        (folder / "result.txt").write_text(f"{seed}")
        return {"seed": seed}

    return write_folder(
        out, ("files",), inputs={}, config={"seed": seed}, build=build, replace=replace
    )


def test_the_same_request_is_answered_once(tmp_path: Path) -> None:
    """Another one replaces the folder."""
    out = tmp_path / "deep" / "results"
    assert not write(out, 1).reused
    assert write(out, 1).reused
    assert not write(out, 2).reused
    assert (out / "result.txt").read_text() == "2"
    assert sorted(path.name for path in out.iterdir()) == ["manifest.json", "result.txt"]


def test_foreign_files_are_not_lost(tmp_path: Path) -> None:
    """A folder with files of the user's is left as it is."""
    write(tmp_path / "out", 1)
    (tmp_path / "out" / "answers.sqlite").write_text("precious")
    with pytest.raises(InputError, match=r"holds answers\.sqlite, which this command did not"):
        write(tmp_path / "out", 2)
    assert (tmp_path / "out" / "answers.sqlite").read_text() == "precious"
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="a file; expected a folder"):
        write(tmp_path / "file", 1)


def test_other_tuples_are_not_replaced_silently(tmp_path: Path) -> None:
    """There may be answers to them."""
    write(tmp_path / "out", 1, replace=False)
    assert write(tmp_path / "out", 1, replace=False).reused
    (tmp_path / "out" / "manifest.json").write_text(
        (tmp_path / "out" / "manifest.json").read_text().replace('"code": "', '"code": "older')
    )
    assert write(tmp_path / "out", 1, replace=False).reused
    with pytest.raises(InputError, match=r"other tuples \(made with {'seed': 1}\).*--replace"):
        write(tmp_path / "out", 2, replace=False)
    assert write(tmp_path / "out", 2).manifest.summary["seed"] == 2
    (tmp_path / "out" / "result.txt").unlink()
    with pytest.raises(InputError, match=r"result\.txt is missing"):
        write(tmp_path / "out", 2, replace=False)


def test_what_is_refused_leaves_nothing(tmp_path: Path) -> None:
    """An error of the user's leaves no hidden folder beside the results."""

    def refuse(folder: Path) -> Mapping[str, Any]:
        (folder / "half.txt").touch()
        raise InputError("too few items")

    with pytest.raises(InputError, match="too few"):
        write_folder(tmp_path / "out", ("files",), inputs={}, config={}, build=refuse)
    assert not list(tmp_path.iterdir())
