"""A distillation killed in the middle and started again ends with the bytes of a quiet one."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from firth.run.run import Run
from firth.surrogate.distill import distill

DRIVER = """
import os, signal, sys
from firth.run import progress
from firth.run.run import Run
from firth.surrogate import training
from firth.surrogate.distill import build_surrogate

progress.set_quiet(True)
steps = 0

def die(self, *given, **named):
    global steps
    steps += 1
    if steps == 2:
        os.kill(os.getpid(), signal.SIGKILL)

training.Progress.on_step_end = die
build_surrogate(Run.open(sys.argv[1]))
"""


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_killed_while_distilling_and_resumed(fresh: Callable[..., Run]) -> None:
    """SIGKILL leaves no finished stage and no trace in what the next start builds."""
    quiet, killed = fresh("quiet"), fresh("killed")
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(killed.path)], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert (killed.path / ".surrogate.work" / "scratch").is_dir()
    assert not (killed.path / "surrogate").exists()
    assert not distill(killed).reused
    assert contents(killed.path / "surrogate") == contents(distill(quiet).path)
    assert not (killed.path / ".surrogate.work").exists()
