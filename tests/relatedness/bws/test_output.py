"""Results replace nothing that is not firth's: folders, files, and what stands in them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from firth.relatedness.bws.output import (
    claim_file,
    claim_folder,
    publish,
    write_folder,
)
from firth.run.errors import InputError
from firth.run.stage import Outcome


def write(out: Path, seed: int, replace: bool = True) -> Outcome:
    def build(folder: Path) -> Mapping[str, Any]:
        (folder / "result.txt").write_text(f"{seed}")
        return {"seed": seed}

    return write_folder(out, inputs={}, config={"seed": seed}, build=build, replace=replace)


def publish_text(out: Path, text: str, *names: str) -> None:
    def results(folder: Path) -> None:
        for name in names:
            (folder / name).write_text(text)

    claim_folder(out, kept="folds")
    publish(out, results, {"text": text})


Writer = Callable[[Path, int], object]
WRITERS = pytest.mark.parametrize(
    "again", [write, lambda out, seed: publish_text(out, str(seed), "result.txt")],
    ids=["write_folder", "publish"],
)  # fmt: skip


def test_the_same_request_is_answered_once(tmp_path: Path) -> None:
    """Another one replaces the folder."""
    out = tmp_path / "deep" / "results"
    assert not write(out, 1).reused
    assert write(out, 1).reused
    assert not write(out, 2).reused
    assert (out / "result.txt").read_text() == "2"
    assert sorted(path.name for path in out.iterdir()) == ["manifest.json", "result.txt"]


@WRITERS
@pytest.mark.parametrize("strange", ["answers.sqlite", "mine/notes.txt", "link", "manifest.json"])
def test_foreign_files_are_not_lost(tmp_path: Path, again: Writer, strange: str) -> None:
    """A folder with files of the user's is refused, naming them, and left as it is: beside firth's
    manifest or without one, in a folder of their own, or behind a link."""
    out = tmp_path / "out"
    if strange == "manifest.json":
        out.mkdir()
    else:
        again(out, 1)
    path = out / strange
    path.parent.mkdir(exist_ok=True)
    if strange == "link":
        path.symlink_to(tmp_path / "nowhere")
    else:
        path.write_text("precious")
    with pytest.raises(InputError, match=rf"holds {strange}, which this command did not write"):
        again(out, 2)
    assert path.is_symlink() or path.read_text() == "precious"


@WRITERS
def test_a_result_that_was_changed_is_not_lost(tmp_path: Path, again: Writer) -> None:
    """What a user corrected by hand under its old name is theirs."""
    again(tmp_path / "out", 1)
    (tmp_path / "out" / "result.txt").write_text("corrected")
    for seed in (1, 2):
        with pytest.raises(InputError, match=r"result\.txt changed after firth wrote it"):
            again(tmp_path / "out", seed)
    assert (tmp_path / "out" / "result.txt").read_text() == "corrected"


@WRITERS
@pytest.mark.parametrize("garbled", ["", "{}", "[]", "null", '{"outputs": []}', "\xff"])
def test_a_garbled_manifest_is_no_manifest(tmp_path: Path, again: Writer, garbled: str) -> None:
    """The folder counts as the user's: a message, no traceback, and nothing is replaced."""
    again(tmp_path / "out", 1)
    (tmp_path / "out" / "manifest.json").write_text(garbled, encoding="latin-1")
    with pytest.raises(InputError, match=r"holds manifest\.json, result\.txt, which this command"):
        again(tmp_path / "out", 2)
    assert (tmp_path / "out" / "result.txt").read_text() == "1"


@WRITERS
def test_a_file_is_no_folder(tmp_path: Path, again: Writer) -> None:
    """In its place, or above it."""
    (tmp_path / "file").write_text("x")
    for out in (tmp_path / "file", tmp_path / "file" / "deep"):
        with pytest.raises(InputError, match="a file; expected a folder"):
            again(out, 1)
    assert (tmp_path / "file").read_text() == "x"


def test_other_results_are_not_replaced_silently(tmp_path: Path) -> None:
    """There may be answers to them."""
    write(tmp_path / "out", 1, replace=False)
    assert write(tmp_path / "out", 1, replace=False).reused
    manifest = tmp_path / "out" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"code": "', '"code": "older'))
    assert write(tmp_path / "out", 1, replace=False).reused
    with pytest.raises(InputError, match=r"other results \(made with {'seed': 1}\).*--force"):
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
        write_folder(tmp_path / "out", inputs={}, config={}, build=refuse)
    assert not list(tmp_path.iterdir())


def test_published_results_keep_what_is_beside_them(tmp_path: Path) -> None:
    """Kept stages stay; results that are made no more go; a stopped call is taken up."""
    publish_text(tmp_path, "1", "a.txt", "b.txt")
    (tmp_path / "folds").mkdir()
    write(tmp_path / "folds" / "one", 1)
    (tmp_path / "folds" / ".two.work").mkdir()
    (tmp_path / "folds" / ".two.work" / "half").write_text("x")
    publish_text(tmp_path, "2", "a.txt")
    assert {p.name for p in tmp_path.iterdir()} == {"a.txt", "folds", "manifest.json"}

    def stops(folder: Path) -> None:
        (folder / "a.txt").write_text("3")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish(tmp_path, stops, {})
    assert (tmp_path / "a.txt").read_text() == "2"
    publish_text(tmp_path, "4", "a.txt")
    assert list(json.loads((tmp_path / "manifest.json").read_text())["outputs"]) == ["a.txt"]
    (tmp_path / "folds" / "one" / "mine.txt").write_text("x")
    with pytest.raises(InputError, match=r"holds folds/one/mine\.txt"):
        publish_text(tmp_path, "5", "a.txt")


def test_files_are_claimed_before_the_work(tmp_path: Path) -> None:
    """A file that is there needs force; a folder cannot be replaced; a missing folder is made."""
    there = tmp_path / "there.csv"
    there.write_text("x")
    (tmp_path / "link.csv").symlink_to("nowhere")
    claim_file(tmp_path / "new" / "deep" / "file.csv")
    claim_file(there, force=True)
    for path, message in (
        (there, "is there already.*--force"),
        (tmp_path / "link.csv", "is there already"),
        (tmp_path, "a folder; expected the name of a file"),
        (there / "file.csv", "a file; expected a folder"),
    ):
        with pytest.raises(InputError, match=message):
            claim_file(path)
