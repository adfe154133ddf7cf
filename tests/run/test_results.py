"""Results replace nothing that is not firth's: folders, files, and what stands in them."""

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from firth.run.errors import InputError
from firth.run.results import claim_folder, publish, write_folder
from firth.run.stage import Outcome

NAMES = ("*.txt", "plots/*.png")
"""What `publish_text` may write."""


def write(out: Path, seed: int, replace: bool = True) -> Outcome:
    def build(folder: Path) -> str:
        (folder / "result.txt").write_text(f"{seed}")
        return f"seed\n{seed}"

    return write_folder(
        out, command="firth test", inputs={}, config={"seed": seed}, build=build, replace=replace
    )


def publish_text(
    out: Path, text: str, *names: str, force: bool = False, command: str = "firth test"
) -> None:
    def results(folder: Path) -> None:
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)

    claim_folder(out, command, NAMES, force)
    publish(out, results, {"text": text}, command=command, force=force)


def contents(folder: Path) -> dict[str, str | None]:
    """Every file and link of a folder but its manifest."""
    return {
        path.relative_to(folder).as_posix(): None if path.is_symlink() else path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.name != "manifest.json" and (path.is_symlink() or not path.is_dir())
    }


def manifest_of(folder: Path) -> dict[str, dict[str, str]]:
    """Name → digest, as the manifest has it."""
    found: dict[str, dict[str, str]] = json.loads((folder / "manifest.json").read_text())["outputs"]
    return found


Writer = Callable[[Path, int], object]
WRITERS = pytest.mark.parametrize(
    "again", [write, lambda out, seed: publish_text(out, str(seed), "result.txt")],
    ids=["write_folder", "publish"],
)  # fmt: skip


def test_the_same_request_is_answered_once(tmp_path: Path) -> None:
    """Another one replaces the folder; lines for the screen are kept; missing folders are made."""
    out = tmp_path / "deep" / "results"
    assert not write(out, 1).reused
    again = write(out, 1)
    assert again.reused
    assert again.manifest.summary["report"] == ["seed", "1"]
    assert not write(out, 2).reused
    assert contents(out) == {"result.txt": "2"}


@pytest.mark.parametrize("strange", ["answers.sqlite", "mine/notes.txt", "link", "manifest.json"])
def test_a_folder_of_results_as_a_whole_holds_nothing_else(tmp_path: Path, strange: str) -> None:
    """A folder with files of the user's is refused, naming them, and left as it is: beside firth's
    manifest or without one, in a folder of their own, or behind a link."""
    out = tmp_path / "out"
    if strange == "manifest.json":
        out.mkdir()
    else:
        write(out, 1)
    path = out / strange
    path.parent.mkdir(exist_ok=True)
    if strange == "link":
        path.symlink_to(tmp_path)
    else:
        path.write_text("precious")
    with pytest.raises(InputError, match=rf"holds {strange}, which firth test did not write"):
        write(out, 2)
    assert path.is_symlink() or path.read_text() == "precious"


@pytest.mark.parametrize("name", ["result.txt", "plots/a.png", "manifest.json", "link.txt"])
@pytest.mark.parametrize("known", [True, False], ids=["beside results", "without a manifest"])
def test_a_name_in_the_way_is_refused(tmp_path: Path, name: str, known: bool) -> None:
    """A file of the user's under a name that is needed: refused before the work, unless forced.
    Other files stay where they are."""
    out = tmp_path / "out"
    if known and name != "manifest.json":
        publish_text(out, "1", "other.txt")
    mine = out / name
    mine.parent.mkdir(parents=True, exist_ok=True)
    if name == "link.txt":
        mine.symlink_to(tmp_path / "nowhere")
    else:
        mine.write_text("precious")
    (out / "thesis.pdf").write_text("mine")
    (out / "plots").mkdir(exist_ok=True)
    (out / "plots" / "mine.svg").write_text("mine")
    before = contents(out)
    with pytest.raises(InputError, match=rf"holds {name}, which firth test did not.*--force"):
        claim_folder(out, "firth test", NAMES)
    with pytest.raises(InputError, match=rf"holds {name}, which"):
        publish(out, lambda work: publish_text(work, "2", name), {}, command="firth test")
    assert contents(out) == before
    written = "result.txt" if name == "manifest.json" else name
    publish_text(out, "2", written, force=True)
    assert (out / written).read_text() == "2"
    assert set(manifest_of(out)) == {written}
    for other in ("thesis.pdf", "plots/mine.svg"):
        assert (out / other).read_text() == "mine"


def test_a_folder_in_the_way_is_refused_even_when_forced(tmp_path: Path) -> None:
    """And so is a file where a folder is needed."""
    (tmp_path / "result.txt").mkdir()
    with pytest.raises(InputError, match=r"result\.txt: a folder; expected the name of a file"):
        claim_folder(tmp_path, "firth test", NAMES, force=True)
    (tmp_path / "result.txt").rmdir()
    (tmp_path / "plots").write_text("mine")
    with pytest.raises(InputError, match="plots: a file; expected a folder"):
        claim_folder(tmp_path, "firth test", NAMES, force=True)


@WRITERS
def test_a_result_that_was_changed_is_not_lost(tmp_path: Path, again: Writer) -> None:
    """What a user corrected by hand under its old name is theirs."""
    out = tmp_path / "out"
    again(out, 1)
    (out / "result.txt").write_text("corrected")
    for seed in (1, 2):
        with pytest.raises(InputError, match=r"result\.txt, which changed after firth test wrote"):
            again(out, seed)
    assert contents(out) == {"result.txt": "corrected"}


def test_a_changed_result_is_replaced_when_forced_and_never_removed(tmp_path: Path) -> None:
    """Of a name that is made no more it stays, and is the user's from then on."""
    publish_text(tmp_path, "1", "a.txt", "b.txt", "c.txt")
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("corrected")
    publish_text(tmp_path, "2", "a.txt", force=True)
    assert contents(tmp_path) == {"a.txt": "2", "b.txt": "corrected"}
    assert set(manifest_of(tmp_path)) == {"a.txt"}


@WRITERS
@pytest.mark.parametrize("garbled", ["", "{}", "[]", "null", '{"outputs": []}', "\xff"])
def test_a_garbled_manifest_is_no_manifest(tmp_path: Path, again: Writer, garbled: str) -> None:
    """The folder counts as the user's: a message, no traceback, and nothing is replaced."""
    again(tmp_path / "out", 1)
    (tmp_path / "out" / "manifest.json").write_text(garbled, encoding="latin-1")
    with pytest.raises(InputError, match=r"holds manifest\.json, result\.txt, which firth test"):
        again(tmp_path / "out", 2)
    assert (tmp_path / "out" / "result.txt").read_text() == "1"


@WRITERS
def test_what_another_command_wrote_is_not_its_own(tmp_path: Path, again: Writer) -> None:
    """Results, or a stage of a run: a folder that is firth's is not for every command's results."""
    publish_text(tmp_path, "1", "result.txt", command="firth other")
    with pytest.raises(InputError, match=r"manifest\.json, result\.txt, which firth test did not"):
        again(tmp_path, 2)
    assert contents(tmp_path) == {"result.txt": "1"}


@WRITERS
def test_a_file_is_no_folder(tmp_path: Path, again: Writer) -> None:
    """In its place, or above it; nor is a link into nothing."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for out in (tmp_path / "file", tmp_path / "file" / "deep", tmp_path / "link"):
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
    with pytest.raises(InputError, match=r"other results \(seed: 1 there, 2 here\).*--force"):
        write(tmp_path / "out", 2, replace=False)
    assert write(tmp_path / "out", 2).manifest.config["seed"] == 2
    (tmp_path / "out" / "result.txt").unlink()
    with pytest.raises(InputError, match=r"result\.txt is gone.*--force"):
        write(tmp_path / "out", 2, replace=False)


def test_what_is_refused_leaves_nothing(tmp_path: Path) -> None:
    """An error of the user's leaves no hidden folder beside the results."""

    def refuse(folder: Path) -> str:
        (folder / "half.txt").touch()
        raise InputError("too few items")

    with pytest.raises(InputError, match="too few"):
        write_folder(tmp_path / "out", command="x", inputs={}, config={}, build=refuse)
    assert not list(tmp_path.iterdir())


def test_published_results_keep_what_is_beside_them(tmp_path: Path) -> None:
    """Kept stages and files of others stay; results that are made no more go; a stopped call leaves
    what was there."""
    publish_text(tmp_path, "1", "a.txt", "b.txt", "plots/b.png")
    (tmp_path / "folds").mkdir()
    write(tmp_path / "folds" / "one", 1)
    (tmp_path / "mine.csv").write_text("mine")
    publish_text(tmp_path, "2", "a.txt")
    beside = {"folds/one/result.txt": "1", "mine.csv": "mine"}
    assert contents(tmp_path) == {"a.txt": "2", **beside}

    def stops(folder: Path) -> None:
        (folder / "a.txt").write_text("3")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish(tmp_path, stops, {}, command="firth test")
    assert contents(tmp_path) == {"a.txt": "2", **beside}
    publish_text(tmp_path, "4", "a.txt")
    assert set(manifest_of(tmp_path)) == {"a.txt"}


@pytest.mark.parametrize("calls", range(1, 5))
def test_the_manifest_names_all_that_is_ours_at_any_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    """Stopped at any rename, and again, the next call knows its files and needs no force."""
    publish_text(tmp_path, "1", "a.txt", "b.txt", "c.txt")
    replace, count = os.replace, 0

    def stops(source: Path, target: Path) -> None:
        nonlocal count
        count += 1
        if count >= calls and Path(target).parent == tmp_path:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", stops)
    for text in ("2", "3"):
        count = 0
        with pytest.raises(KeyboardInterrupt):
            publish_text(tmp_path, text, "a.txt", "b.txt", "d.txt")
        assert set(contents(tmp_path)) <= set(manifest_of(tmp_path))
    monkeypatch.setattr(os, "replace", replace)
    publish_text(tmp_path, "4", "a.txt", "d.txt")
    assert contents(tmp_path) == {"a.txt": "4", "d.txt": "4"}


def test_a_manifest_names_nothing_outside_its_folder(tmp_path: Path) -> None:
    """One that leads out is none of firth's: the folder is refused, and nothing is touched."""
    out, outside = tmp_path / "out", tmp_path / "a.txt"
    publish_text(out, "1", "a.txt")
    outside.write_text("1")
    values = json.loads((out / "manifest.json").read_text())
    known = values["outputs"]["a.txt"]
    for leading_out in ("../a.txt", str(outside), ""):
        made_up = values | {"outputs": {"a.txt": known, leading_out: known}}
        (out / "manifest.json").write_text(json.dumps(made_up))
        with pytest.raises(InputError, match="did not write"):
            publish_text(out, "2", "b.txt")
        assert contents(out) == {"a.txt": "1"}
        assert outside.read_text() == "1"


def test_a_manifest_is_no_list_of_files_to_delete(tmp_path: Path) -> None:
    """What has other contents than it says is not firth's, and stays."""
    publish_text(tmp_path, "1", "a.txt")
    (tmp_path / "notes.md").write_text("mine")
    values = json.loads((tmp_path / "manifest.json").read_text())
    values["outputs"]["notes.md"] = values["outputs"]["a.txt"]
    (tmp_path / "manifest.json").write_text(json.dumps(values))
    publish_text(tmp_path, "2", "b.txt")
    assert contents(tmp_path) == {"b.txt": "2", "notes.md": "mine"}


def test_a_folder_is_made_by_one_process_at_a_time(tmp_path: Path) -> None:
    """Two would share what lies beside it for a later call; the lock is gone afterwards."""

    def build(folder: Path) -> str:
        with ThreadPoolExecutor(1) as other:
            refused = other.submit(write, tmp_path / "out", 1).exception()
        assert "another firth test is at work" in str(refused)
        (folder / "result.txt").write_text("1")
        return ""

    write_folder(tmp_path / "out", command="firth test", inputs={}, config={}, build=build)
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
