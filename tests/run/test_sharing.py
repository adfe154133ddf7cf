"""Processes that torchrun starts share a training: the bytes of one that did it all."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from firth.paper.generation import GENERATOR
from firth.paper.generation.build import train_generator
from firth.run.run import Run

SETTINGS = {"generator": {"accumulate": 2, "steps": 6, "checkpoint_steps": 2, "shared": False}}


def test_two_processes_train_as_one(tiny_run: Path, tmp_path: Path) -> None:
    """Each step's two batches by two processes (gloo): weights, history and summary are those of
    one process, and one of them speaks."""
    alone = Run.open(shutil.copytree(tiny_run, tmp_path / "alone")).changed(SETTINGS)
    train_generator(alone)
    shared = shutil.copytree(tiny_run, tmp_path / "shared")
    options = [f"--set=generator.{name}={value}" for name, value in SETTINGS["generator"].items()]
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "--"]
    asked = ["firth", "train", "generator", "--run", str(shared), *options]
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    done = subprocess.run(
        [sys.executable, *start, *asked],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path, "FIRTH_DEVICE": "cpu"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("generator: built") == 1
    assert sum(line.startswith("generator") for line in done.stdout.splitlines()) == 1
    one, two = (Run.open(path).folder(GENERATOR) for path in (alone.path, shared))
    assert {path.name: path.read_bytes() for path in one.iterdir()} == {
        path.name: path.read_bytes() for path in two.iterdir()
    }
