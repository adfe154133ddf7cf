"""Other processes of this Python, and limits of what they may use.

A small file can ask a library for any memory or time, and a fault in such a library ends its
process. So what strangers wrote is opened in a process that can be lost.
"""

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PROGRAM = """
import sys
sys.path[:] = {path!r}
from {module} import {function}
{function}(*sys.argv[1:])
"""


def command_of(module: str, function: str, *arguments: object) -> list[str]:
    """Return the command line of a process that calls a function with arguments as strings."""
    program = _PROGRAM.format(path=sys.path, module=module, function=function)
    return [sys.executable, "-c", program, *map(str, arguments)]


def limit(memory: int, seconds: int | None = None) -> None:
    """Let what follows in this process use so much more than was used until here.

    Args:
        memory: Bytes of data, mapped ones included, where the system counts them (Linux).
        seconds: Processor time; after it the system ends the process (SIGXCPU). By default any.
    """
    try:
        import resource
    except ImportError:  # Windows has none.
        return
    limits = {resource.RLIMIT_CORE: 0}
    if seconds is not None:
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
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[5])
        before = resource.getrlimit(resource.RLIMIT_DATA)
        most = pages * resource.getpagesize() + memory
        limits = [most, *(limit for limit in before if limit != resource.RLIM_INFINITY)]
        resource.setrlimit(resource.RLIMIT_DATA, (min(limits), before[1]))
    except (ImportError, OSError, ValueError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
