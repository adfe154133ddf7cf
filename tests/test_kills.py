"""A run killed in every stage and started again ends with the bytes of an uninterrupted run.

The process kills itself with SIGKILL, at a chosen write inside the stage's workspace: nothing can
be cleaned up, as when the machine loses power.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from firth.pipeline import STEPS
from firth.run import CONFIG

NAMES = [step.stage.name for step in STEPS if step.stage.name != "evaluation"]
"""Stages of the tiny run, which has no task to evaluate."""

DRIVER = """
import os, signal, sys
from pathlib import Path

from firth import artifacts, progress
from firth.pipeline import bring_up_to_date
from firth.run import Run

progress.set_quiet(True)
stage, left = sys.argv[2], int(sys.argv[3])
replace, sync = os.replace, artifacts._sync

def count(path):
    global left
    if f".{stage}.work" in str(path):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

def counted_replace(source, target):
    count(source)
    replace(source, target)

def counted_sync(path):
    count(path)
    sync(path)

os.replace, artifacts._sync = counted_replace, counted_sync
names = [s for s in sys.argv[4].split(",")]
from firth.pipeline import STEPS
bring_up_to_date(Run.open(sys.argv[1]), *[s.stage for s in STEPS if s.stage.name in names])
"""


def contents(run: Path) -> dict[str, bytes]:
    return {
        path.relative_to(run).as_posix(): path.read_bytes()
        for folder in NAMES
        for path in sorted((run / folder).rglob("*"))
        if path.is_file()
    }


def drive(run: Path, stage: str, writes: int, stages: list[str]) -> int:
    command = [sys.executable, "-c", DRIVER, str(run), stage, str(writes), ",".join(stages)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


@pytest.mark.parametrize("writes", [2, 5])
def test_killed_in_every_stage_and_resumed(tiny_run: Path, tmp_path: Path, writes: int) -> None:
    """Kill each stage at its n-th write; what the last start completes equals the quiet run."""
    run = tmp_path / "run"
    run.mkdir()
    (run / CONFIG).write_bytes((tiny_run / CONFIG).read_bytes())
    names = NAMES
    killed = []
    for place, name in enumerate(names):
        # One process finishes the stage before, and dies in this one.
        status = drive(run, name, writes, names[max(0, place - 1) : place + 1])
        if status == -signal.SIGKILL:
            killed.append(name)
            assert not (run / name / "manifest.json").exists()
    assert killed == names, "every stage writes often enough to be killed"
    assert drive(run, "none", 1, names) == 0
    assert contents(run) == contents(tiny_run)
    leftovers = [path.name for path in run.iterdir() if path.name.startswith(".")]
    assert set(leftovers) <= {".lock"}


def test_the_comparison_sees_differences(tiny_run: Path) -> None:
    """The premise: a finished run has files in every stage to compare."""
    found = {name.split("/")[0] for name in contents(tiny_run)}
    assert found == set(NAMES)
    assert os.path.getsize(tiny_run / "harvest" / "train.parquet") > 0
