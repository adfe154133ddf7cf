"""Limits of what a process may use: a small file can ask a library for any memory or time."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

try:
    resource: Any = import_module("resource")
except ImportError:  # Windows has none.
    resource = None


def limit(memory: int, seconds: int | None = None) -> None:
    """Let what follows in this process use so much more than was used until here.

    Args:
        memory: Bytes of data, mapped ones included, where the system counts them (Linux).
        seconds: Processor time; after it the system ends the process (SIGXCPU). By default any.
    """
    if resource is None:
        return
    limits = {}
    if seconds is not None:
        limits[resource.RLIMIT_CORE] = 0
        limits[resource.RLIMIT_CPU] = math.ceil(time.process_time()) + seconds
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[5])
        limits[resource.RLIMIT_DATA] = pages * resource.getpagesize() + memory
    for what, most in limits.items():
        with suppress(OSError, ValueError):  # A lower limit holds already.
            resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


@contextmanager
def bounded(memory: int) -> Iterator[None]:
    """Let this process use so many more bytes of data inside the block, where they are counted.

    A library that asks for more gets none, and its error is that of the model that it opens.
    """
    if resource is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    if before[0] == resource.RLIM_INFINITY:  # A worker of the service has its own limit.
        limit(memory)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
