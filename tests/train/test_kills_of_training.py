"""SIGKILL over adapt and fine-tune: the same command again ends with the same bytes."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from firth.run.run import Run

ROOT = Path(__file__).parent.parent.parent
ADAPT = """
import sys
from firth.run.run import Run
from firth.train import adapt
adapt._CHECKPOINT_STEPS = 5
run = Run.open(sys.argv[1]).changed({"adapt": {"steps": 60}})
adapt.adapt(run, sys.argv[2], sys.argv[4])
"""
FINETUNE = """
import sys
from firth.train import finetune
finetune._CHECKPOINT_STEPS = 5
finetune.finetune(sys.argv[2], sys.argv[3], sys.argv[4], epochs=10)
"""


def contents(folder: Path) -> dict[str, bytes]:
    """Return name → bytes of every file in a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def checkpoints(folder: Path) -> set[int]:
    """Return the times of the checkpoints near a folder, hidden ones included."""
    return {path.stat().st_mtime_ns for path in folder.rglob("checkpoint.safetensors")}


@pytest.mark.slow
@pytest.mark.parametrize("code", [ADAPT, FINETUNE], ids=["adapt", "finetune"])
def test_a_killed_training_ends_with_the_same_bytes(
    code: str, session_run: Run, tiny_bert: Path, scored: Path, tmp_path: Path
) -> None:
    """Kills come at random times, and right after a checkpoint that a later call continues."""

    def command(folder: Path) -> list[str]:
        given = (session_run.path, tiny_bert, scored, folder / "out")
        return [sys.executable, "-c", code, *map(str, given)]

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    start = time.monotonic()
    subprocess.run(command(undisturbed), check=True, env=environment)
    whole, rng = time.monotonic() - start, random.Random(5)
    killed, ended = {"time": 0, "checkpoint": 0}, 0
    while min(killed.values()) < 6:
        folder = tmp_path / str(ended)
        folder.mkdir(exist_ok=True)
        process = subprocess.Popen(command(folder), env=environment, stderr=subprocess.DEVNULL)
        waits = killed["checkpoint"] <= killed["time"]
        before, end = checkpoints(folder), time.monotonic() + rng.uniform(0.2, 0.9) * whole
        while process.poll() is None and (waits or time.monotonic() < end):
            if waits and checkpoints(folder) - before:
                break
            time.sleep(0.002)
        if process.poll() is None:
            process.kill()
            killed["checkpoint" if waits else "time"] += 1
        elif process.returncode == 0:
            assert contents(folder / "out") == contents(undisturbed / "out")
            ended += 1
        process.wait()
    subprocess.run(command(folder), check=True, env=environment)
    assert contents(folder / "out") == contents(undisturbed / "out")
