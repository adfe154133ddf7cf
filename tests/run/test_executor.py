"""Executors: several workers, in any order and killed or not, make the bytes of one process."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from firth.run import executor as module
from firth.run.errors import InputError, MissingExtraError
from firth.run.executor import Executor, Local, Processes, Ray

WORK = """
import os, signal
from dataclasses import dataclass
from pathlib import Path

from firth.run.errors import InputError


@dataclass(frozen=True)
class Roots:
    '''Of numbers, and who computed them. -1 has none; 666 kills a worker, the first `deaths` times
    (`folder` counts them).'''

    folder: Path
    deaths: int = 0

    def open(self):
        def root(number):
            if number == 666 and len(list(self.folder.iterdir())) < self.deaths:
                (self.folder / str(os.getpid())).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            if number < 0:
                raise InputError(f"{number}: expected no negative number")
            return number**0.5, os.getpid(), *map(os.environ.get, ("FIRTH_WORKER", "FIRTH_DEVICE"))

        return root
"""
"""In a module that other processes can import."""


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("roots")
    (folder / "roots_of_numbers.py").write_text(WORK)
    sys.path.insert(0, str(folder))
    yield import_module("roots_of_numbers").Roots
    sys.path.remove(str(folder))


# --- This process ------------------------------------------------------------------------------


def test_local_opens_once_and_takes_items_one_by_one() -> None:
    """Without items nothing is opened."""
    taken: list[int] = []
    opened: list[int] = []

    def items() -> Iterator[int]:
        for item in range(4):
            taken.append(item)
            yield item

    class Doubling:
        def open(self) -> Callable[[int], int]:
            opened.append(1)
            return lambda item: 2 * item

    assert list(Local().map(Doubling(), [])) == []
    assert opened == []
    results = Local().map(Doubling(), items())
    assert (next(results), taken, opened) == (0, [0], [1])
    assert list(results) == [2, 4, 6]
    assert opened == [1]


# --- Workers -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster(roots: Any) -> Iterator[Any]:
    """A Ray cluster of this machine with two workers; more machines can be added, and lost."""
    pytest.importorskip("ray")
    ray = module._import_ray()
    from ray.cluster_utils import Cluster

    ray.cloudpickle.register_pickle_by_value(sys.modules[roots.__module__])
    # A lost machine is noticed within a second or two, not fifteen.
    health = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 300,
              "health_check_failure_threshold": 3}  # fmt: skip
    head = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": 80 << 20,
            "_system_config": health}  # fmt: skip
    machines: Any = Cluster(initialize_head=True, head_node_args=head)
    session = ray.init(machines.address, log_to_driver=False).address_info["session_dir"]
    yield machines
    ray.shutdown()
    machines.shutdown()
    shutil.rmtree(session, ignore_errors=True)


@pytest.fixture(params=["processes", "ray"])
def workers(request: pytest.FixtureRequest) -> Executor:
    if request.param == "processes":
        return Processes(2)
    request.getfixturevalue("cluster")
    return Ray()


def test_workers_keep_the_order_and_take_items_as_there_is_room(
    workers: Executor, roots: Any, tmp_path: Path
) -> None:
    """None of the work is done by the process that asks."""
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(30):
            taken.append(number)
            yield number

    results: Iterator[Any] = workers.map(roots(tmp_path), items())
    first = next(results)
    assert len(taken) == 6, "three for each of two workers"
    made = [first, *results]
    assert [root for root, *_ in made] == [n**0.5 for n in range(30)]
    assert os.getpid() not in {process for _, process, *_ in made}
    if isinstance(workers, Ray):
        assert {device for *_, device in made} == {"cpu"}
    else:
        assert {number for _, _, number, _ in made} <= {"0", "1"}
    assert list(workers.map(roots(tmp_path), [])) == []


def test_a_killed_process_ends_the_work(roots: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a process was killed"):
        list(Processes(2).map(roots(tmp_path, deaths=1), [1, 2, 666, 3]))


def test_a_killed_worker_of_a_cluster_is_replaced(
    cluster: Any, roots: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its items are done again, in their places. An item that always kills ends the work after the
    ones before it."""
    numbers = [1, 2, 666, 3, 4, 5]
    made: list[Any] = list(Ray().map(roots(tmp_path, deaths=1), numbers))
    assert len(list(tmp_path.iterdir())) == 1, "the premise: one was killed"
    assert [root for root, *_ in made] == [n**0.5 for n in numbers]
    monkeypatch.setattr(module, "RETRIES", 1)
    results: Iterator[Any] = Ray().map(roots(tmp_path, deaths=99), numbers)
    assert [next(results)[0], next(results)[0]] == [1, 2**0.5]
    with pytest.raises(InputError, match="failed 2 times"):
        next(results)


def test_errors_of_the_work_come_back_once(
    roots: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As they were raised, in the place of the item, without a trace on the screen."""
    made = Processes(2).map(roots(tmp_path), [4, -1, 9, -2])
    assert next(made)[0] == 2
    with pytest.raises(InputError, match=r"^-1: expected no negative number$"):
        next(made)
    printed = "".join(capfd.readouterr()).splitlines()
    # The cluster of other tests may still tell of the workers that they killed.
    assert [line for line in printed if "(raylet)" not in line] == []


ASKING = """
import os, signal
from pathlib import Path
from firth.run.executor import Processes
from roots_of_numbers import Roots

if __name__ == "__main__":
    for _, process, *_ in Processes(2).map(Roots(Path("."), 0), iter(range(10**9))):
        print(process, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_processes_end_with_their_parent(roots: Any, tmp_path: Path) -> None:
    """Also when it is killed and can say nothing."""
    (tmp_path / "asking.py").write_text(ASKING)
    done = subprocess.run(
        [sys.executable, tmp_path / "asking.py"],
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
    )
    assert done.returncode == -signal.SIGKILL
    process, until = int(done.stdout), monotonic() + 10
    while Path(f"/proc/{process}").exists() and monotonic() < until:
        sleep(0.05)
    assert not Path(f"/proc/{process}").exists()


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[ray\]"):
        Ray()
