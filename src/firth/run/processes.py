"""An engine of several processes of this machine, each of which does one shard at a time.

They write nothing: what they make goes back to the process that asks, in the order of the shards.
"""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.reduction import ForkingPickler
from threading import Thread
from typing import TYPE_CHECKING, Any

from firth.run.engine import Made, Shard, Work
from firth.run.errors import FirthError, InputError
from firth.run.progress import set_quiet
from firth.run.section import WORKER

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

_AHEAD = 3
"""Shards that are under way for each process, so that a slow one keeps nobody waiting."""


@dataclass(frozen=True)
class Processes:
    """Processes beside this one, which are started when there is a shard, and end with the last.

    Each starts with Python itself, so that a script that asks for them does what it does under
    `if __name__ == "__main__":`.

    Attributes:
        count: How many.
    """

    count: int

    def map(self, work: Work[Shard, Made], shards: Iterable[Shard]) -> Iterator[Made]:
        """As `firth.run.engine.Engine.map`.

        Raises:
            InputError: As the work does; or a process was killed.
        """
        waiting: deque[Future[Made | _Refusal]] = deque()
        left = iter(shards)
        packed = bytes(ForkingPickler.dumps(work))
        threads = max(1, (os.cpu_count() or 1) // self.count)
        # Not forked: libraries that have threads do not expect that.
        context = get_context("spawn")
        begin = packed, threads, context.Value("i", 0)
        pool = ProcessPoolExecutor(self.count, context, _begin, begin)
        try:
            while True:
                room = _AHEAD * self.count - len(waiting)
                waiting.extend(pool.submit(_do, shard) for shard in islice(left, room))
                if not waiting:
                    return
                yield _fetched(waiting.popleft())
        finally:
            pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class _Refusal:
    """What a process answers instead of raising: not every error survives the way."""

    text: str


_open: Callable[[], Callable[[Any], Any]]
"""In a process: opens the work that it does, once."""


def _begin(packed: bytes, threads: int, begun: "Synchronized[int]") -> None:
    """Make this process ready for a work, with so many threads for numerical libraries.

    Args:
        packed: The work.
        threads: Of numerical libraries.
        begun: How many processes were made ready before.
    """
    global _open
    with begun.get_lock():
        os.environ[WORKER] = str(begun.value)
        begun.value += 1
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C tells all of them; one speaks
    Thread(target=_end_with_parent, daemon=True).start()
    set_quiet(True)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = str(threads)  # read when the work, which imports them, is unpacked
    _open = cache(lambda: ForkingPickler.loads(packed).open())


def _end_with_parent() -> None:
    """A process that waits for work would not notice that nobody is left to give it any."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _do(shard: Any) -> Any:
    """In a process: what comes of a shard."""
    try:
        return _open()(shard)
    except FirthError as error:
        return _Refusal(str(error))


def _fetched(future: "Future[Made | _Refusal]") -> Made:
    try:
        found = future.result()
    except BrokenProcessPool as error:
        raise InputError(
            "a process that worked on a shard was killed. Was there too little memory? Ask for "
            "fewer of them (--workers)"
        ) from error
    if isinstance(found, _Refusal):
        raise InputError(found.text)
    return found
