"""`firth.run.stage`: what is written is whole, what is reused is what was asked for, what is not
firth's stays."""

import errno
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from firth.run import stage as module
from firth.run.errors import DamagedError, InputError
from firth.run.files import write_json
from firth.run.stage import MANIFEST, SCRATCH, Manifest, Outcome, execute

HALF = (
    '{"stage": "toy", "inputs": {}, "config": {}, "code": "", "libraries": {}, "request": "", '
    '"summary": {}, "outputs": {"data.txt": {}}}'
)
"""A manifest of which only the outputs are not what they were."""


class Builder:
    """Writes one file, and counts how often it was called and what it found of its checkpoint."""

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


def wanted(code: str = "code", **config: Any) -> Manifest:
    return Manifest("toy", {"text": "abc"}, config, code, {"pydantic": "2"}).requested()


def build(run: Path, builder: Builder, **config: Any) -> Outcome:
    return execute(run / "toy", wanted(**config), builder)


def test_a_finished_stage_is_reused(tmp_path: Path) -> None:
    """The same inputs, settings and code build once; scratch does not survive."""
    builder = Builder()
    assert not build(tmp_path, builder, x=1).reused
    again = build(tmp_path, builder, x=1)
    assert again.reused
    assert builder.calls == 1
    assert set(again.manifest.outputs) == {"data.txt"}
    assert again.manifest.summary == {"letters": 3}
    assert {p.name for p in (tmp_path / "toy").iterdir()} == {"data.txt", MANIFEST}


@pytest.mark.parametrize("change", [{"x": 2}, {"x": 1, "code": "other"}])
def test_a_change_rebuilds(tmp_path: Path, change: dict[str, Any]) -> None:
    """Other settings or other code replace the stage, and its old files are gone."""
    build(tmp_path, Builder("one"), x=1)
    assert not build(tmp_path, Builder("other"), **change).reused
    assert (tmp_path / "toy" / "data.txt").read_text() == "other"
    assert [p.name for p in tmp_path.iterdir()] == ["toy"]


def test_every_flipped_byte_is_seen(tmp_path: Path) -> None:
    """Whichever byte of an output differs, the stage is built again and is what it was."""
    build(tmp_path, Builder("whole"))
    path = tmp_path / "toy" / "data.txt"
    for place in range(5):
        damaged = bytearray(b"whole")
        damaged[place] ^= 1
        path.write_bytes(damaged)
        manifest = Manifest.read(tmp_path / "toy")
        assert manifest is not None
        assert manifest.damage(path.parent) == []  # the premise: sizes do not tell
        assert manifest.damage(path.parent, bytes_too=True)
        builder = Builder("whole")
        assert not build(tmp_path, builder).reused
        assert (builder.calls, path.read_text()) == (1, "whole")


@pytest.mark.parametrize(
    "text", ["{}", "[]", "null", "3", "{", "", '{"stage": "toy"}', "\udcff", HALF]
)
def test_a_garbled_manifest_is_named_and_the_stage_rebuilt(tmp_path: Path, text: str) -> None:
    """The folder whose manifest tells nothing is set aside, whole, and the stage built again."""
    build(tmp_path, Builder("old"))
    (tmp_path / "toy" / MANIFEST).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DamagedError, match=r"manifest\.json"):
        Manifest.read(tmp_path / "toy")
    assert not build(tmp_path, Builder("new")).reused
    assert (tmp_path / "toy" / "data.txt").read_text() == "new"
    assert (tmp_path / "toy.damaged" / "data.txt").read_text() == "old"


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "", "a\\\\b"])
def test_a_manifest_that_leads_out_of_its_folder_is_none(tmp_path: Path, name: str) -> None:
    """No file elsewhere is read, or written by a copy, because a manifest says so."""
    build(tmp_path, Builder())
    path = tmp_path / "toy" / MANIFEST
    stored = json.loads(path.read_text())
    stored["outputs"][name] = {"bytes": 1, "blake2b": "x"}
    path.write_text(json.dumps(stored))
    with pytest.raises(DamagedError, match="not a manifest"):
        Manifest.read(tmp_path / "toy")


@pytest.mark.parametrize("place", ["toy", ".toy.work", ".toy.stale"])
def test_a_folder_that_firth_did_not_write_is_never_replaced(tmp_path: Path, place: str) -> None:
    """The user's own files where a stage would stand: refused, and they stay."""
    own = tmp_path / place / "thesis.txt"
    own.parent.mkdir()
    own.write_text("ten years")
    with pytest.raises(InputError, match="did not write"):
        build(tmp_path, Builder())
    assert own.read_text() == "ten years"
    own.unlink()
    assert not build(tmp_path, Builder()).reused  # an empty folder costs nobody anything


def test_files_put_into_a_stage_are_not_replaced_with_it(tmp_path: Path) -> None:
    """A stage that holds something else is not replaced; what systems leave behind is nothing."""
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


def test_a_link_or_a_file_in_place_of_a_stage_is_refused(tmp_path: Path) -> None:
    """Neither is a folder of firth's, wherever it leads."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "toy").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="a link"):
        build(tmp_path, Builder())
    (tmp_path / "toy").unlink()
    (tmp_path / "toy").write_text("a file")
    with pytest.raises(InputError, match="a file"):
        build(tmp_path, Builder())
    assert (tmp_path / "toy").read_text() == "a file"


def test_an_interrupted_build_is_continued_only_for_the_same_request(tmp_path: Path) -> None:
    """Scratch of an interrupted build is found again, unless something else is asked for; what was
    being written when it was killed is gone."""

    def interrupted(workspace: Path) -> Mapping[str, Any]:
        (workspace / SCRATCH).mkdir()
        (workspace / SCRATCH / "checkpoint").write_text("5")
        (workspace / ".data.txt.1.partial").write_text("torn")
        (workspace / SCRATCH / ".tmp2F7DbR").write_text("torn")
        (workspace / ".tmpzlL4S5").write_text("torn")  # as safetensors writes
        raise KeyboardInterrupt

    for config, expected in (({"x": 1}, 1), ({"x": 2}, 0)):
        with pytest.raises(KeyboardInterrupt):
            execute(tmp_path / "toy", wanted(x=1), interrupted)
        assert not (tmp_path / "toy").exists()
        builder = Builder()
        build(tmp_path, builder, **config)
        assert builder.resumed == expected
        assert {p.name for p in (tmp_path / "toy").iterdir()} == {"data.txt", MANIFEST}
        shutil.rmtree(tmp_path / "toy")


def test_an_output_of_a_name_too_long_is_gone(tmp_path: Path) -> None:
    """Of a manifest that was damaged: no such file can be, and nothing is raised."""
    name = "a" * 5_000
    found = replace(wanted(x=1), outputs={name: {"bytes": 1, "blake2b": "0"}}).damage(tmp_path)
    assert found == [f"{name} is gone"]


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
    assert {p.name for p in (tmp_path / "toy").iterdir()} == {"data.txt", MANIFEST}


def test_a_stage_killed_between_manifest_and_renaming_is_moved_into_place(tmp_path: Path) -> None:
    """A finished workspace is used as it is: nothing is built twice."""
    builder = Builder()
    build(tmp_path, builder)
    (tmp_path / "toy").rename(tmp_path / ".toy.work")
    assert not build(tmp_path, builder).reused
    assert builder.calls == 1
    assert (tmp_path / "toy" / "data.txt").is_file()


@pytest.mark.parametrize("damaged", [MANIFEST, "data.txt", "request.json"])
def test_a_damaged_workspace_is_not_believed(tmp_path: Path, damaged: str) -> None:
    """Finished or half, with any file of it garbled: built again, and nothing is left behind."""
    builder = Builder()
    build(tmp_path, builder)
    work = tmp_path / ".toy.work"
    (tmp_path / "toy").rename(work)
    write_json(work / "request.json", wanted().request)
    (work / damaged).write_text("[")
    assert not build(tmp_path, builder).reused
    assert builder.calls == (1 if damaged == "request.json" else 2)
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]
    assert {p.name for p in (tmp_path / "toy").iterdir()} == {"data.txt", MANIFEST}


def test_the_digest_depends_on_the_outputs_only(tmp_path: Path) -> None:
    """A rebuild with the same bytes does not make later stages stale."""
    first = build(tmp_path, Builder("same"), x=1).manifest
    second = build(tmp_path, Builder("same"), x=2).manifest
    third = build(tmp_path, Builder("else"), x=2, y=1).manifest
    assert first.request != second.request
    assert first.digest == second.digest != third.digest
