"""Processes as engine: several of them, in any order, make the bytes of one."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from typer.testing import CliRunner

from firth.cli.main import app
from firth.run.engine import HERE
from firth.run.errors import InputError
from firth.run.processes import Processes

ROOTS = """
import os, signal

from firth.run.errors import InputError


class Roots:
    def open(self):
        def root(number):
            if number == 666:
                os.kill(os.getpid(), signal.SIGKILL)
            if number < 0:
                raise InputError(f"{number}: expected none below 0")
            return number**0.5, os.getpid(), os.environ["FIRTH_WORKER"]

        return root
"""
"""Of numbers, and who found them; there is none of what is negative, and one kills. A module of its
own, which other processes find."""


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The work."""
    folder = tmp_path_factory.mktemp("roots")
    (folder / "roots_of_numbers.py").write_text(ROOTS)
    sys.path.insert(0, str(folder))
    yield import_module("roots_of_numbers").Roots()
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def made(roots: Any) -> tuple[list[tuple[float, int, str]], list[int]]:
    """What two processes made of 20 numbers, and how many were taken when the first was there."""
    taken: list[int] = []

    def shards() -> Iterator[int]:
        for number in range(20):
            taken.append(number)
            yield number

    found = Processes(2).map(roots, shards())
    first = next(found)
    early = list(taken)
    return [first, *found], early


def test_order_and_room(made: tuple[list[tuple[float, int, str]], list[int]], roots: Any) -> None:
    """What comes of shards comes in their order; they are taken as room for them comes; no work is
    done by the process that asks."""
    found, early = made
    assert [root for root, _, _ in found] == [n**0.5 for n in range(20)]
    assert len(early) == 6, "three for each of two processes"
    assert os.getpid() not in {process for _, process, _ in found}
    assert len({(process, number) for _, process, number in found}) <= 2
    assert {number for _, _, number in found} <= {"0", "1"}, "which accelerator is its own"
    assert list(Processes(2).map(roots, [])) == []


def test_errors_come_back(roots: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """Once, as they were raised, and without a trace; what kills a process ends the work."""
    with pytest.raises(InputError, match=r"^-1: expected none below 0$"):
        list(Processes(2).map(roots, [4, -1, 9, -2]))
    with pytest.raises(InputError, match=r"was killed.*--workers"):
        list(Processes(1).map(roots, [666]))
    assert capfd.readouterr() == ("", "")


ASKING = """
import os, signal
from firth.run.processes import Processes
from roots_of_numbers import Roots

if __name__ == "__main__":
    for _, process, _ in Processes(2).map(Roots(), iter(range(10**9))):
        print(process, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nobody_is_left(roots: Any, tmp_path: Path) -> None:
    """When who asks is killed, its processes end by themselves."""
    (tmp_path / "asking.py").write_text(ASKING)
    done = subprocess.run(
        [sys.executable, tmp_path / "asking.py"],
        stdout=subprocess.PIPE,  # which its processes hold open
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
    )
    assert done.returncode == -signal.SIGKILL
    process, until = int(done.stdout), monotonic() + 10
    while Path(f"/proc/{process}").exists() and monotonic() < until:
        sleep(0.05)
    assert not Path(f"/proc/{process}").exists()


def test_what_is_asked_for() -> None:
    """One is this process itself; a cluster has its own."""
    from firth.cli.options import engine_of
    from firth.run.engine import EngineKind

    assert engine_of(EngineKind.HERE, None, 1, 0) is HERE
    assert engine_of(EngineKind.HERE, None, 3, 0) == Processes(3)
    options = ["harvest", "--run", "x", "--engine", "ray", "--workers", "2"]
    done = CliRunner().invoke(app, options)
    assert isinstance(done.exception, InputError)
    assert "expected --engine here" in str(done.exception)
