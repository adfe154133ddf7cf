"""An engine of many machines: shards are tasks of a Ray cluster.

Ray decides who does which, and gives the shard of a worker that is lost to another. A worker opens
the work once and keeps it. It reads what this process reads, at the same paths, and writes nothing:
what it makes goes back to this process, which alone holds the run's lock and writes into it.
"""

import logging
import os
import shutil
import socket
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

from firth.run.engine import Made, Shard, Work
from firth.run.errors import FirthError, InputError, MissingExtraError
from firth.run.files import fingerprint_file, fingerprint_value
from firth.run.progress import set_quiet
from firth.run.section import Device

RETRIES = 3
"""Workers that a shard may lose beside the first, before it is taken for what kills them."""
_AHEAD = 4
"""Shards that are under way for each processor, so that a slow one keeps nobody waiting."""
_PATIENCE = 5.0
"""Seconds for an address to answer."""
_LIBRARIES = ("numpy", "pyarrow", "scikit-learn", "scipy", "sentence-transformers", "tokenizers",
              "torch", "transformers")  # fmt: skip
_ROOT = Path(__file__).parents[1]
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # tells nobody of its use
    "RAY_DEDUP_LOGS_SKIP_REGEX": "^",  # prints no line of what raylets say
}
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""What begins a connection of HTTP/2, and settings, none changed; settings answer it (RFC 9113)."""
_SETTINGS = 4


@dataclass(frozen=True)
class Cluster:
    """The workers of a Ray cluster, one a processor, or as many as have accelerators.

    A process that has called `ray.init` is connected as it said.

    Attributes:
        address: HOST:PORT of a cluster, or `auto`, the one that runs on this machine. None: what
            the variable RAY_ADDRESS says, or a cluster of this machine alone, for as long as
            something is mapped.
        gpus: Accelerators that a worker has, or the share of one, as Ray counts them. At 0 workers
            compute on processors.

    Raises:
        MissingExtraError: Ray is not installed.
        InputError: Nobody answers at the address.
    """

    address: str | None = None
    gpus: float = 0

    def __post_init__(self) -> None:
        if not find_spec("ray"):
            raise MissingExtraError("--engine ray", "ray")
        if self._place not in ("local", "auto"):
            _call(self._place)

    @property
    def _place(self) -> str:
        return self.address or os.environ.get("RAY_ADDRESS") or "local"

    def map(self, work: Work[Shard, Made], shards: Iterable[Shard]) -> Iterator[Made]:
        """As `firth.run.engine.Engine.map`.

        Raises:
            InputError: As the work does, with the name of the machine; the cluster cannot be
                reached or lacks accelerators, a worker is not as this process is, or a shard kills
                its workers.
        """
        waiting: deque[Any] = deque()
        left = iter(shards)
        with _connected(self._place) as ray:
            there = ray.cluster_resources()
            if self.gpus > there.get("GPU", 0):
                raise InputError(
                    f"--gpus {self.gpus:g}: the cluster has {there.get('GPU', 0):g}. Machines say "
                    "how many they have when they join it (ray start --num-gpus)"
                )
            device = os.environ.get("FIRTH_DEVICE", Device.AUTO) if self.gpus else Device.CPU
            began = _Began(uuid4().hex, os.getcwd(), device, _made_of())
            packed = ray.put(ray.cloudpickle.dumps(work))
            task = ray.remote(num_cpus=1, num_gpus=self.gpus, max_retries=RETRIES)(_do)
            while True:
                # Machines come and go while shards are under way.
                there = ray.cluster_resources()
                workers = there.get("CPU", 1)
                if self.gpus:
                    workers = min(workers, there.get("GPU", 0) // self.gpus)
                room = max(1, int(_AHEAD * workers))
                more = islice(left, max(0, room - len(waiting)))
                waiting.extend(task.remote(began, packed, shard) for shard in more)
                if not waiting:
                    return
                yield _fetched(ray, waiting.popleft())


@dataclass(frozen=True)
class _Began:
    """Where a work was begun.

    Attributes:
        key: Of the work; no other's.
        folder: In which relative paths are meant.
        device: On which workers compute.
        made_of: Firth's code and the libraries, by name.
    """

    key: str
    folder: str
    device: str
    made_of: Mapping[str, str]

    def enter(self) -> None:
        """Make this process like the one there; raise `InputError` where that cannot be."""
        set_quiet(True)
        os.environ["FIRTH_DEVICE"] = self.device
        if not os.path.isdir(self.folder):
            raise InputError(
                f"{self.folder}: no such folder. Workers read a run, and the models it names, "
                "where the command does: put them where all machines see them"
            )
        os.chdir(self.folder)
        here = _made_of()
        others = [f"{name} is {here[name]}, not {known}" for name, known in self.made_of.items()
                  if here[name] != known]  # fmt: skip
        if others:
            raise InputError(f"{'; '.join(others)}. Install the same versions on all machines")


@dataclass(frozen=True)
class _Refusal:
    """What a worker answers instead of raising: Ray would print what is raised beside it."""

    text: str


_opened: dict[str, Callable[[Any], Any]] = {}
"""In a worker: the work that it does, by its key."""


def _do(began: _Began, packed: bytes, shard: Any) -> Any:
    """In a worker: what comes of a shard."""
    from ray import cloudpickle

    try:
        if began.key not in _opened:
            _opened.clear()  # there is room for one
            began.enter()
            _opened[began.key] = cloudpickle.loads(packed).open()
        return _opened[began.key](shard)
    except FirthError as error:
        return _Refusal(f"a worker on {socket.gethostname()}: {error}")


def _fetched(ray: Any, reference: Any) -> Any:
    """What came of a shard, when it is done."""
    try:
        found = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, ImportError):
            raise InputError(
                f"a worker cannot import firth ({error.cause}): install the same versions on all "
                "machines"
            ) from error
        raise
    except ray.exceptions.RayError as error:
        raise InputError(
            f"Ray: a shard could not be done, though it was tried {RETRIES + 1} times "
            f"({type(error).__name__}). Was there too little memory? Each worker opens the models: "
            "start Ray with fewer of them (--num-cpus). The same command continues"
        ) from error
    if isinstance(found, _Refusal):
        raise InputError(found.text)
    return found


def quiet_ray() -> Any:
    """The module, imported so that it prints nothing of its own, and tells nobody anything."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    import ray

    return ray


@contextmanager
def _connected(place: str) -> Iterator[Any]:
    """Ray, connected to a cluster."""
    ray = quiet_ray()
    if ray.is_initialized():
        yield ray
        return
    own = {"include_dashboard": False} if place == "local" else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ray.init(place, log_to_driver=False, logging_level=logging.CRITICAL, **own)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        said = str(error).partition("\n")[0]
        raise InputError(f"Ray cannot be reached at {place}: {said}") from error
    try:
        yield ray
    finally:
        ray.shutdown()
    if own:  # its logs are of use where something went wrong
        shutil.rmtree(found.address_info["session_dir"], ignore_errors=True)


def _call(address: str) -> None:
    """Raise `InputError` where nobody answers who could be Ray, which itself tries for minutes."""
    host, _, port = address.rpartition(":")
    if not host or "/" in address or not port.isdecimal():
        raise InputError(f"--address {address}: expected HOST:PORT of a Ray cluster, or auto")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _PATIENCE) as there:
            there.sendall(_HELLO)
            if there.recv(9)[3:4] != bytes([_SETTINGS]):
                raise ConnectionError("not Ray")
    except (OSError, OverflowError) as error:
        raise InputError(
            f"--address {address}: no Ray cluster answers ({error}). Start one there: ray start "
            "--head; or leave --address out, for this machine's processors"
        ) from error


def _made_of() -> dict[str, str]:
    """What decides, with the kind of processor, which bytes are made of a shard."""
    files = {path.relative_to(_ROOT).as_posix(): fingerprint_file(path)
             for path in sorted(_ROOT.rglob("*.py"))}  # fmt: skip
    return {"firth's code": fingerprint_value(files)} | {name: version(name) for name in _LIBRARIES}
