"""Executors do the items of a work: in this process, in several, or on the machines of a cluster.

An item fixes all that comes of it, its random numbers included. So no byte depends on who does it,
where and how often. Results come in the order of the items. Executors write nothing: results go
back to the process that asks, which alone holds the lock of a run.
"""

import os
import signal
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.reduction import ForkingPickler
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from uuid import uuid4

from firth.run.console import set_quiet
from firth.run.errors import FirthError, InputError, first_line, require

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

RETRIES = 3
"""Workers of a cluster that may be lost over an item before it is blamed."""
WORKER = "FIRTH_WORKER"
"""Variable that numbers the processes of a work from 0, so that each can take another GPU."""
DEVICE = "FIRTH_DEVICE"
"""Variable that names the device of models: `auto`, `cpu`, `cuda`, `mps`."""
_AHEAD = 3
"""Items under way for each worker, so that a slow one keeps no other waiting."""

Item = TypeVar("Item")
Result = TypeVar("Result")
_Item = TypeVar("_Item", contravariant=True)
_Result = TypeVar("_Result", covariant=True)


class Work(Protocol[_Item, _Result]):
    """What is done with each item. A work is sent to workers, so it is small."""

    def open(self) -> Callable[[_Item], _Result]:
        """Open models and files, once for many items; return what makes a result of an item."""


class Executor(Protocol):
    """Does work."""

    def map(self, work: Work[Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield what the work makes of each item, in order.

        Items are taken when there is room for them, so they may be large and many. Without items
        nothing is opened. A `FirthError` of another process becomes an `InputError`.
        """


class Local:
    """This process, one item after the other."""

    def map(self, work: Work[Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        """Do as `Executor.map`."""
        opened = cache(work.open)
        for item in items:
            yield opened()(item)


@dataclass(frozen=True)
class _Refusal:
    """The answer of a worker in place of a `FirthError`, which may not survive pickling."""

    text: str


# --- Processes ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Processes:
    """Processes of this machine, each with one item at a time.

    Each starts with a new Python, so a script asks for them under `if __name__ == "__main__":`.
    """

    count: int

    def map(self, work: Work[Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        """Do as `Executor.map`."""
        pool = self._pool(bytes(ForkingPickler.dumps(work)))
        try:
            submitted = (pool.submit(_do, item) for item in items)
            yield from _in_order(submitted, _AHEAD * self.count, lambda future: future.result())
        except BrokenProcessPool:
            raise InputError(
                "a process was killed. Was there too little memory? Ask for fewer processes "
                "(--workers). The same command continues"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)

    def _pool(self, packed: bytes) -> ProcessPoolExecutor:
        threads = max(1, (os.cpu_count() or 1) // self.count)
        # Not forked: libraries that have threads do not expect that.
        context = get_context("spawn")
        return ProcessPoolExecutor(
            self.count, context, _begin, (packed, threads, context.Value("i", 0))
        )


def _in_order(submitted: Iterator[Any], room: int, fetched: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield what is fetched of each item that is submitted, with at most `room` under way."""
    waiting: deque[Any] = deque()
    while True:
        waiting.extend(islice(submitted, room - len(waiting)))
        if not waiting:
            return
        answer = fetched(waiting.popleft())
        if isinstance(answer, _Refusal):
            raise InputError(answer.text)
        yield answer


_open: Callable[[], Callable[[Any], Any]]
"""In a worker: opens its work, once."""


def _begin(packed: bytes, threads: int, begun: "Synchronized[int]") -> None:
    """Prepare this worker process for a work, as the next after those `begun` before."""
    global _open
    with begun.get_lock():
        os.environ[WORKER] = str(begun.value)
        begun.value += 1
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends all; the parent reports it.
    Thread(target=_end_with_parent, daemon=True).start()
    set_quiet(True)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = str(threads)  # Read when unpacking the work imports the libraries.
    _open = cache(lambda: ForkingPickler.loads(packed).open())


def _end_with_parent() -> None:
    """End this worker when its parent is gone; otherwise it would wait for items forever."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _do(item: Any) -> Any:
    try:
        return _open()(item)
    except FirthError as error:
        return _Refusal(str(error))


# --- Ray ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ray:
    """The workers of a Ray cluster, one a processor. They compute on processors.

    Ray decides who does which item, and gives the items of a lost worker to others. A worker reads
    the files that this process reads, at the same paths, with the same version of firth. A process
    that has called `ray.init` keeps its connection.

    The address is HOST:PORT of a cluster, or `auto` for one that runs on this machine. By default
    it is the variable RAY_ADDRESS, else a cluster of this machine for the time of the work.
    """

    address: str | None = None

    def __post_init__(self) -> None:
        _import_ray()

    def map(self, work: Work[Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        """Do as `Executor.map`."""
        with _connected(self.address or os.environ.get("RAY_ADDRESS") or "local") as ray:
            workers = ray.cluster_resources().get("CPU", 1)
            key, folder = uuid4().hex, os.getcwd()
            packed = ray.put(ray.cloudpickle.dumps(work))
            task = ray.remote(num_cpus=1, max_retries=RETRIES)(_do_on_cluster)
            submitted = (task.remote(key, folder, packed, item) for item in items)
            yield from _in_order(submitted, max(1, int(_AHEAD * workers)), partial(_fetched, ray))


_opened: dict[str, Callable[[Any], Any]] = {}
"""In a worker of a cluster: its opened work, by key."""


def _do_on_cluster(key: str, folder: str, packed: bytes, item: Any) -> Any:
    """Do an item of the work `key`, which a process in `folder` asks for."""
    from ray import cloudpickle

    try:
        if key not in _opened:
            _opened.clear()  # There is memory for one.
            set_quiet(True)
            os.environ[DEVICE] = "cpu"
            if not os.path.isdir(folder):
                raise InputError(
                    f"{folder}: no such folder. Workers read a run and its models where the "
                    "command does: put them where all machines see them"
                )
            os.chdir(folder)
            _opened[key] = cloudpickle.loads(packed).open()
        return _opened[key](item)
    except FirthError as error:
        return _Refusal(f"a worker on {socket.gethostname()}: {error}")


def _fetched(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        raise InputError(
            f"Ray: an item failed {RETRIES + 1} times ({type(error).__name__}). Was there too "
            "little memory? Each worker opens the models: start Ray with fewer workers "
            "(--num-cpus). The same command continues"
        ) from error


def _import_ray() -> Any:
    """Import Ray so that it prints nothing and reports its use to nobody."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "^")
    return require("ray", "ray", "--executor ray")


@contextmanager
def _connected(place: str) -> Iterator[Any]:
    """Yield Ray, connected to a cluster."""
    import logging
    import warnings

    ray = _import_ray()
    if ray.is_initialized():
        yield ray
        return
    options = {"include_dashboard": False} if place == "local" else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(place, log_to_driver=False, logging_level=logging.CRITICAL, **options)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise InputError(f"Ray cannot be reached at {place}: {first_line(error)}") from error
    try:
        yield ray
    finally:
        ray.shutdown()
