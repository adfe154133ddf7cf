"""Stages: whole when written, reused when nothing changed, and never in place of others' files."""

import errno
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from firth.run import stage as module
from firth.run.errors import DamagedError, InputError
from firth.run.files import write_json
from firth.run.stage import MANIFEST, SCRATCH, Manifest, Outcome, execute

HALF = (
    '{"stage": "toy", "version": 1, "inputs": {}, "settings": {}, "request": "", "summary": {}, '
    '"outputs": {"data.txt": {}}}'
)
"""A manifest of which only the outputs are wrong."""


class Builder:
    """Writes one file, and counts its calls and the checkpoints that it met."""

    def __init__(self, text: str = "one") -> None:
        self.calls = 0
        self.resumed = 0
        self.text = text

    def __call__(self, workspace: Path) -> Mapping[str, Any]:
        self.calls += 1
        checkpoint = workspace / SCRATCH / "checkpoint"
        self.resumed += checkpoint.is_file()
        checkpoint.parent.mkdir(exist_ok=True)
        checkpoint.write_text("half")
        (workspace / "data.txt").write_text(self.text)
        return {"letters": len(self.text)}


def wanted(version: int = 1, inputs: str = "abc", **settings: Any) -> Manifest:
    return Manifest.requested("toy", version, {"text": inputs}, settings)


def build(run: Path, builder: Builder, **request: Any) -> Outcome:
    return execute(run / "toy", wanted(**request), builder)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_every_flipped_bit_is_seen(tmp_path: Path) -> None:
    """Whichever byte of an output differs, the stage is built again with the same result."""
    build(tmp_path, Builder("whole"))
    path = tmp_path / "toy" / "data.txt"
    for place in range(5):
        damaged = bytearray(b"whole")
        damaged[place] ^= 1
        path.write_bytes(damaged)
        manifest = Manifest.read(tmp_path / "toy")
        assert manifest is not None
        assert len(manifest.damage(path.parent)) == 1
        builder = Builder("whole")
        assert not build(tmp_path, builder).reused
        assert (builder.calls, path.read_text()) == (1, "whole")


@pytest.mark.parametrize(
    "text", ["{}", "[]", "null", "3", "{", "", '{"stage": "toy"}', "\udcff", HALF]
)
def test_a_stage_without_a_valid_manifest_is_not_replaced(tmp_path: Path, text: str) -> None:
    """It is unknown whose files are in it; the message says what to do."""
    build(tmp_path, Builder("old"))
    (tmp_path / "toy" / MANIFEST).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DamagedError, match=r"manifest\.json"):
        Manifest.read(tmp_path / "toy")
    with pytest.raises(InputError, match="toy if no file in it is yours"):
        build(tmp_path, Builder("new"))
    assert (tmp_path / "toy" / "data.txt").read_text() == "old"


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "", "a\\\\b"])
def test_a_manifest_that_leads_out_of_its_folder_is_damaged(tmp_path: Path, name: str) -> None:
    """No file elsewhere is read or copied because a manifest names it."""
    build(tmp_path, Builder())
    path = tmp_path / "toy" / MANIFEST
    stored = json.loads(path.read_text())
    stored["outputs"][name] = {"bytes": 1, "blake2b": "x"}
    path.write_text(json.dumps(stored))
    with pytest.raises(DamagedError, match="not a manifest"):
        Manifest.read(tmp_path / "toy")


@pytest.mark.parametrize("place", ["toy", ".toy.work", ".toy.stale"])
def test_a_folder_that_firth_did_not_write_is_never_replaced(tmp_path: Path, place: str) -> None:
    """A user's files where a stage or its workspace would be: refused, and they stay."""
    own = tmp_path / place / "thesis.txt"
    build(tmp_path, Builder("old"), x=1)
    shutil.rmtree(tmp_path / place, ignore_errors=True)
    own.parent.mkdir()
    own.write_text("ten years")
    with pytest.raises(InputError, match="did not write"):
        build(tmp_path, Builder(), x=2)
    assert own.read_text() == "ten years"
    own.unlink()
    assert not build(tmp_path, Builder(), x=2).reused, "an empty folder is nobody's loss"


def test_files_put_into_a_stage_are_not_replaced_with_it(tmp_path: Path) -> None:
    """The stage is refused while they are there; files of operating systems do not count."""
    build(tmp_path, Builder(), x=1)
    own = tmp_path / "toy" / "notes" / "mine.txt"
    own.parent.mkdir()
    own.write_text("mine")
    with pytest.raises(InputError, match=r"notes/mine\.txt, which firth did not write"):
        build(tmp_path, Builder(), x=2)
    assert own.read_text() == "mine"
    shutil.rmtree(own.parent)
    (tmp_path / "toy" / ".DS_Store").write_bytes(b"")
    assert not build(tmp_path, Builder(), x=2).reused


@pytest.mark.parametrize(("mask", "expected"), [(0o077, 0o600), (0o022, 0o644)])
def test_the_umask_decides_who_may_read(tmp_path: Path, mask: int, expected: int) -> None:
    """Also of a file that a library writes for its owner alone."""

    def fill(workspace: Path) -> Mapping[str, Any]:
        (workspace / "private").touch(0o600)
        (workspace / "ordinary").touch()
        return {}

    before = os.umask(mask)
    try:
        execute(tmp_path / "toy", wanted(x=1), fill)
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "toy").iterdir()}
    assert modes == {expected}


def test_a_link_in_place_of_a_stage_is_refused(tmp_path: Path) -> None:
    """It is no folder that firth wrote, wherever it leads."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "toy").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="a link"):
        build(tmp_path, Builder())


def test_an_interrupted_build_is_continued_for_the_same_request_only(tmp_path: Path) -> None:
    """Its checkpoint is used again, unless the request differs; torn files are removed."""

    def interrupted(workspace: Path) -> Mapping[str, Any]:
        (workspace / SCRATCH / ".firth-0123456789abcdef").mkdir(parents=True)
        (workspace / SCRATCH / ".firth-0123456789abcdef" / "lock").touch()
        (workspace / SCRATCH / ".firth-0123456789abcdef" / "partial").write_text("torn")
        (workspace / SCRATCH / "checkpoint").write_text("5")
        (workspace / ".tmpzlL4S5").write_text("torn, as by safetensors")
        raise KeyboardInterrupt

    for x, expected in ((1, 1), (2, 0)):
        with pytest.raises(KeyboardInterrupt):
            execute(tmp_path / "toy", wanted(x=1), interrupted)
        assert not (tmp_path / "toy").exists()

        class Looking(Builder):
            def __call__(self, workspace: Path) -> Mapping[str, Any]:
                hidden = [path.name for path in workspace.rglob(".*")]
                assert hidden == []
                return super().__call__(workspace)

        builder = Looking()
        build(tmp_path, builder, x=x)
        assert builder.resumed == expected
        assert names(tmp_path / "toy") == {"data.txt", MANIFEST}
        shutil.rmtree(tmp_path / "toy")


@pytest.mark.parametrize("step", ["fingerprint_file", "sync", "write_json"])
def test_a_full_disk_at_the_end_costs_no_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """No space while hashing, syncing or writing the manifest: the checkpoint is still there."""

    def full(*arguments: Any) -> None:
        if step != "write_json" or arguments[0].name == MANIFEST:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_json(*arguments)

    builder = Builder()
    with monkeypatch.context() as patch:
        patch.setattr(module, step, full)
        with pytest.raises(OSError, match="No space"):
            build(tmp_path, builder)
    assert not (tmp_path / "toy").exists()
    build(tmp_path, builder)
    assert (builder.calls, builder.resumed) == (2, 1)
    assert names(tmp_path / "toy") == {"data.txt", MANIFEST}


@pytest.mark.parametrize("damaged", [MANIFEST, "data.txt", "request.json"])
def test_a_damaged_workspace_is_not_used(tmp_path: Path, damaged: str) -> None:
    """Whichever file of it is garbled, the result is whole and nothing else is left."""
    builder = Builder()
    build(tmp_path, builder)
    work = tmp_path / ".toy.work"
    (tmp_path / "toy").rename(work)
    write_json(work / "request.json", wanted().request)
    (work / damaged).write_text("[")
    assert not build(tmp_path, builder).reused
    assert builder.calls == (1 if damaged == "request.json" else 2)
    assert names(tmp_path) == {"toy"}
    assert names(tmp_path / "toy") == {"data.txt", MANIFEST}
    shutil.copytree(tmp_path / "toy", work)
    assert build(tmp_path, builder).reused
    assert names(tmp_path) == {"toy"}, "what a killed process left is removed"
