"""Executors do the items of a work: in this process, in several, or on the machines of a cluster.

An item fixes all that comes of it, its random numbers included. So no byte depends on who does it,
where and how often. Results come in the order of the items. Executors write nothing: results go
back to the process that asks, which alone holds the lock of a run.
"""

import os
import signal
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from uuid import uuid4

from firth.run.console import set_quiet
from firth.run.errors import FirthError, InputError, require
from firth.run.files import fingerprint_file, fingerprint_value

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

RETRIES = 3
"""Workers that may be lost over an item before it is blamed."""
WORKER = "FIRTH_WORKER"
"""Variable that numbers the processes of a work from 0, so that each can take another GPU."""
DEVICE = "FIRTH_DEVICE"
"""Variable that names the device of models: `auto`, `cpu`, `cuda`, `mps`."""
_AHEAD = 3
"""Items under way for each worker, so that a slow one keeps no other waiting."""
_PATIENCE = 5.0
"""Seconds for an address to answer."""

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
        nothing is opened.

        Raises:
            FirthError: As the work does; from another process, it is an `InputError`.
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
    """Processes of this machine, each with one item at a time. Killed ones are replaced.

    Each starts with a new Python, so a script asks for them under `if __name__ == "__main__":`.

    Attributes:
        count: Number of processes.
    """

    count: int

    def map(self, work: Work[Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        """Do as `Executor.map`.

        Raises:
            InputError: As the work does; or an item has killed its process several times.
        """
        left = iter(items)
        packed = bytes(ForkingPickler.dumps(work))
        waiting: deque[tuple[Item, Future[Any] | None]] = deque()
        pool, losses = self._pool(packed), 0
        try:
            while True:
                try:
                    more = islice(left, _AHEAD * self.count - len(waiting))
                    waiting.extend((item, None) for item in more)
                    for place, (item, future) in enumerate(waiting):
                        if future is None:
                            waiting[place] = item, pool.submit(_do, item)
                    if not waiting:
                        return
                    first = waiting[0][1]
                    assert first is not None
                    answer = first.result()
                except BrokenProcessPool:
                    losses += 1
                    if losses > RETRIES:
                        raise InputError(
                            f"processes were killed {losses} times over the same items. Was there "
                            "too little memory? Ask for fewer processes (--workers)"
                        ) from None
                    pool.shutdown(cancel_futures=True)
                    pool = self._pool(packed)
                    waiting = deque(
                        (item, future if future and _is_done(future) else None)
                        for item, future in waiting
                    )
                    continue
                waiting.popleft()
                losses = 0
                yield _accepted(answer)
        finally:
            pool.shutdown(cancel_futures=True)

    def _pool(self, packed: bytes) -> ProcessPoolExecutor:
        threads = max(1, (os.cpu_count() or 1) // self.count)
        # Not forked: libraries that have threads do not expect that.
        context = get_context("spawn")
        return ProcessPoolExecutor(
            self.count, context, _begin, (packed, threads, context.Value("i", 0))
        )


def _is_done(future: "Future[Any]") -> bool:
    """Return whether a result came before the processes were lost."""
    return future.done() and not future.cancelled() and future.exception() is None


def _accepted(answer: Any) -> Any:
    if isinstance(answer, _Refusal):
        raise InputError(answer.text)
    return answer


_open: Callable[[], Callable[[Any], Any]]
"""In a worker: opens its work, once."""


def _begin(packed: bytes, threads: int, begun: "Synchronized[int]") -> None:
    """Prepare this worker process.

    Args:
        packed: The work.
        threads: Number of threads for numerical libraries.
        begun: Number of workers that were prepared before.
    """
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

_ROOT = Path(__file__).parents[1]
_LIBRARIES = ("numpy", "scipy", "tokenizers", "onnxruntime", "torch", "transformers")
_QUIET_RAY = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS_SKIP_REGEX": "^"}
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The start of an HTTP/2 connection with default settings; a server answers with its settings
(RFC 9113)."""
_SETTINGS_FRAME = 4


@dataclass(frozen=True)
class Ray:
    """The workers of a Ray cluster: one a processor, or as many as have GPUs.

    Ray decides who does which item, and gives the items of a lost worker to others. A worker reads
    the files that this process reads, at the same paths. A process that has called `ray.init`
    keeps its connection.

    Attributes:
        address: HOST:PORT of a cluster, or `auto` for one that runs on this machine. None: the
            variable RAY_ADDRESS, else a cluster of this machine for the time of the work.
        gpus: GPUs of a worker, or the share of one. With 0, workers compute on processors.

    Raises:
        MissingExtraError: Ray is not installed.
        InputError: No cluster answers at the address.
    """

    address: str | None = None
    gpus: float = 0

    def __post_init__(self) -> None:
        _import_ray()
        if self._place not in ("local", "auto"):
            _call(self._place)

    @property
    def _place(self) -> str:
        return self.address or os.environ.get("RAY_ADDRESS") or "local"

    def map(self, work: Work[Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        """Do as `Executor.map`.

        Raises:
            InputError: As the work does, with the name of the machine; or the cluster cannot be
                reached or has too few GPUs, a worker has other versions, or an item kills its
                workers.
        """
        left = iter(items)
        waiting: deque[Any] = deque()
        with _connected(self._place) as ray:
            gpus = ray.cluster_resources().get("GPU", 0)
            if self.gpus > gpus:
                raise InputError(
                    f"--gpus {self.gpus:g}: the cluster has {gpus:g}. A machine says how many it "
                    "has when it joins (ray start --num-gpus)"
                )
            device = os.environ.get(DEVICE, "auto") if self.gpus else "cpu"
            origin = _Origin(uuid4().hex, os.getcwd(), device, _versions())
            packed = ray.put(ray.cloudpickle.dumps(work))
            # Without `max_calls`, Ray would start a new process for each item on a GPU.
            options = {"num_cpus": 1, "num_gpus": self.gpus, "max_retries": RETRIES, "max_calls": 0}
            task = ray.remote(**options)(_do_on_cluster)
            while True:
                there = ray.cluster_resources()  # Machines come and go during the work.
                workers = there.get("CPU", 1)
                if self.gpus:
                    workers = min(workers, there.get("GPU", 0) // self.gpus)
                room = max(1, int(_AHEAD * workers)) - len(waiting)
                waiting.extend(
                    task.remote(origin, packed, item) for item in islice(left, max(0, room))
                )
                if not waiting:
                    return
                yield _fetched(ray, waiting.popleft())


@dataclass(frozen=True)
class _Origin:
    """The process that a work comes from.

    Attributes:
        key: Identifies the work.
        folder: Folder that relative paths start from.
        device: Device of the workers' models.
        versions: Versions of firth's code and of the libraries.
    """

    key: str
    folder: str
    device: str
    versions: Mapping[str, str]

    def enter(self) -> None:
        """Make this worker like the origin; raise `InputError` where that cannot be."""
        set_quiet(True)
        os.environ[DEVICE] = self.device
        if not os.path.isdir(self.folder):
            raise InputError(
                f"{self.folder}: no such folder. Workers read a run and its models where the "
                "command does: put them where all machines see them"
            )
        os.chdir(self.folder)
        here = _versions()
        others = [
            f"{name} is {here.get(name)}, not {known}"
            for name, known in self.versions.items()
            if here.get(name) != known
        ]
        if others:
            raise InputError(f"{'; '.join(others)}. Install the same versions on all machines")


_opened: dict[str, Callable[[Any], Any]] = {}
"""In a worker of a cluster: its opened work, by key."""


def _do_on_cluster(origin: _Origin, packed: bytes, item: Any) -> Any:
    from ray import cloudpickle

    try:
        if origin.key not in _opened:
            _opened.clear()  # There is memory for one.
            origin.enter()
            _opened[origin.key] = cloudpickle.loads(packed).open()
        return _opened[origin.key](item)
    except FirthError as error:
        return _Refusal(f"a worker on {socket.gethostname()}: {error}")


def _fetched(ray: Any, reference: Any) -> Any:
    try:
        return _accepted(ray.get(reference))
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, ImportError):
            raise InputError(
                f"a worker cannot import firth ({error.cause}): install the same versions on all "
                "machines"
            ) from error
        raise
    except ray.exceptions.RayError as error:
        raise InputError(
            f"Ray: an item failed {RETRIES + 1} times ({type(error).__name__}). Was there too "
            "little memory? Each worker opens the models: start Ray with fewer workers "
            "(--num-cpus). The same command continues"
        ) from error


def _import_ray() -> Any:
    """Import Ray so that it prints nothing and reports its use to nobody."""
    for name, value in _QUIET_RAY.items():
        os.environ.setdefault(name, value)
    return require("ray", "ray", "--executor ray")


@contextmanager
def _connected(place: str) -> Iterator[Any]:
    """Yield Ray, connected to a cluster."""
    import logging
    import shutil
    import warnings

    ray = _import_ray()
    if ray.is_initialized():
        yield ray
        return
    is_local = place == "local"
    options = {"include_dashboard": False} if is_local else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            context = ray.init(
                place, log_to_driver=False, logging_level=logging.CRITICAL, **options
            )
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"Ray cannot be reached at {place}: {first}") from error
    try:
        yield ray
    finally:
        ray.shutdown()
    if is_local:  # The logs are kept where something went wrong.
        shutil.rmtree(context.address_info["session_dir"], ignore_errors=True)


def _call(address: str) -> None:
    """Raise `InputError` where no Ray cluster answers; Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if not host or "/" in address or not port.isdecimal():
        raise InputError(f"--address {address}: expected HOST:PORT of a Ray cluster, or auto")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _PATIENCE) as connection:
            connection.sendall(_HELLO)
            if connection.recv(9)[3:4] != bytes([_SETTINGS_FRAME]):
                raise ConnectionError("not Ray")
    except (OSError, OverflowError) as error:
        raise InputError(
            f"--address {address}: no Ray cluster answers ({error}). Start one there: ray start "
            "--head; or leave --address out, for this machine's processors"
        ) from error


def _versions() -> dict[str, str]:
    """Return what decides, with the kind of processor, the bytes of a result."""
    code = {str(path.relative_to(_ROOT)): fingerprint_file(path) for path in _ROOT.rglob("*.py")}
    versions = {"firth's code": fingerprint_value(code)}
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "missing"
    return versions
