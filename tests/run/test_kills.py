"""Killed at every step: what is read is the old or the new, and the same call completes it.

A forked process kills itself with SIGKILL before its n-th change of a file or folder; n grows
until the work comes to its end. Nothing can be cleaned up, as when the machine loses power.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from firth.run.files import write_json, write_text
from firth.run.outputs import write_file, write_folder
from firth.run.run import CONFIG, Run
from firth.run.settings import Settings
from firth.run.stage import SCRATCH, Stage, files_in

CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
TOY = Stage("wing/toy", 1)


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process loses nothing that it wrote; only a machine without power would."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def killed_at(place: Path, step: int, work: Callable[[], object]) -> bool:
    """Do the work in a forked process; return whether it was killed before the n-th change."""
    child = os.fork()
    if child == 0:
        left = step

        def count(event: str, arguments: Any) -> None:
            nonlocal left
            is_change = event in CHANGES or (event == "open" and arguments[2] & WRITING)
            if is_change and str(place) in str(arguments[0]):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    _, waited = os.waitpid(child, 0)
    status = os.waitstatus_to_exitcode(waited)
    assert status in (0, -signal.SIGKILL)
    return status != 0


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in files_in(folder) if name != ".lock"}


def fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    """Write two files, with a checkpoint that a later call continues."""
    checkpoint = workspace / SCRATCH / "state.json"
    if not checkpoint.is_file():
        write_json(checkpoint, run.settings.seed)
    write_text(workspace / "data" / "a.txt", f"{run.settings.seed}" * 100)
    (workspace / "b.txt").write_text("b")
    return {"files": 2}


def build(path: Path, seed: int) -> None:
    run = Run.open(path) if (path / CONFIG).exists() else Run(path, Settings())
    run.changed({"seed": seed}).build(TOY, fill, settings=["seed"])


def test_a_stage_killed_at_every_step(tmp_path: Path) -> None:
    """First built, then replaced: a reader always sees a whole stage, and nothing is lost."""
    expected = {}
    for seed in (1, 2):
        build(tmp_path / f"whole-{seed}", seed)
        expected[seed] = contents(tmp_path / f"whole-{seed}")
    for old, new in ((None, 1), (1, 2)):
        step, run = 0, tmp_path / f"run-{new}"
        while True:
            step += 1
            place = run / str(step)
            if old is not None:
                shutil.copytree(tmp_path / f"whole-{old}", place)
            if not killed_at(place, step, partial(build, place, new)):
                break
            if (place / CONFIG).exists() and old is not None:
                text = (Run.open(place).folder(TOY) / "data" / "a.txt").read_text()
                assert text in (str(old) * 100, str(new) * 100)
            if (place / CONFIG).exists():
                assert Run.open(place).verify().get(TOY.name, []) == []
            build(place, new)
            assert contents(place) == expected[new], step
        assert step > 25, "the premise: there are many steps"


def fill_result(workspace: Path) -> Mapping[str, Any]:
    write_text(workspace / "result.txt", "whole")
    return {}


@pytest.mark.parametrize(
    "write",
    [
        lambda out: write_file(out / "d.jsonl", "whole", force=True),
        lambda out: write_folder(out / "results", fill_result, command="x", settings={}),
    ],
    ids=["file", "folder"],
)
def test_results_killed_at_every_step_leave_nothing_else(
    tmp_path: Path, write: Callable[[Path], object]
) -> None:
    """The next call writes the result and removes what the killed one left."""
    write(tmp_path / "whole")
    expected = contents(tmp_path / "whole")
    step = 1
    while killed_at(place := tmp_path / str(step), step, lambda: write(place)):
        if place.exists():
            assert not {name for name in contents(place) if name[0] != "."} - {*expected}
        write(place)
        assert contents(place) == expected
        assert all(path.name[0] != "." for path in place.iterdir())
        step += 1
    assert step > 5, "the premise"
