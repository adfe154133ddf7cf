"""torchrun with two processes, killed once, and Ray: the bytes of an undisturbed build."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from firth.run.settings import parse_settings, settings_text

from .conftest import SMALL, tiny_documents

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "--"]
SHARED = {"coherence": "micro_batches", "generator": "accumulate", "surrogate": "micro_batches"}
"""What divides a step between two processes."""


def contents(folder: Path) -> dict[str, bytes]:
    """Return name → bytes of the artefacts of the paper's method in a run."""
    files = (path for path in (folder / "paper").rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.slow
def test_a_killed_build_of_two_processes_ends_with_the_same_bytes(tmp_path: Path) -> None:
    """Both processes are killed in the training of the generator, and the build is continued."""
    documents = tmp_path / "documents.jsonl"
    documents.write_text("".join(json.dumps(one) + "\n" for one in tiny_documents(80)))
    paper = {
        name: {**section, SHARED[name]: 2} if name in SHARED else section
        for name, section in SMALL.items()
    }
    settings = tmp_path / "settings.toml"
    values = {"paper": paper, "corpus": {"held_out_fraction": 0.2}}
    settings.write_text(settings_text(parse_settings(values, "test")))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "FIRTH_DEVICE": "cpu"}

    def command(run: Path) -> list[str]:
        build = ["firth", "paper", "build", str(documents), "--set", str(settings), "--run"]
        return [*TORCHRUN, *build, str(run), "--to", "surrogate", "-q"]

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run(command(whole), check=True, env=environment)
    process = subprocess.Popen(command(broken), env=environment)
    while not list(broken.glob("paper/.generator*/scratch/*/checkpoint.safetensors")):
        assert process.poll() is None, "the build ended before it was killed"
        time.sleep(0.005)
    listed = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True)
    for number in (*map(int, listed.stdout.split()), process.pid):
        os.kill(number, signal.SIGKILL)
    process.wait()
    assert not (broken / "paper" / "generator").exists()
    subprocess.run(command(broken), check=True, env=environment)
    assert contents(broken) == contents(whole)

    if find_spec("ray") is None:
        return
    command_of_ray = [sys.executable, "-m", "firth", "paper", "build", "--run", str(broken)]
    harvest = broken / "paper" / "harvest"
    harvest.rename(tmp_path / "harvest")
    subprocess.run(
        [*command_of_ray, "--to", "harvest", "--ray", "local", "--workers", "2", "-q"],
        check=True,
        env=environment,
    )
    assert contents(broken) == contents(whole)
