"""Work on behalf of requests: one thread that uses the models, and one for long work."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any, TypeVar

from firth.run.console import listening
from firth.run.errors import FirthError
from firth.text.arrays import Singles

T = TypeVar("T")
_EVERY = 0.2
"""Seconds between two lines of progress."""


class Problem(Exception):  # noqa: N818
    """An error that a client receives.

    Args:
        status: HTTP status.
        code: A word for programs.
        message: What happened, and what was expected.
        hint: What to do, or "".
    """

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.hint = status, code, message, hint

    def as_dict(self) -> dict[str, dict[str, str]]:
        """Return the body of the answer."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}


@dataclass(frozen=True)
class Load:
    """Limits of the work.

    Attributes:
        requests: Requests in progress, waiting ones included; more are refused with status 429.
        batch: Texts of several requests that are encoded together, at most.
        seconds: Time until an answer; after that it is status 504.
        long_seconds: The same for work that reports its progress.
    """

    requests: int = 64
    batch: int = 256
    seconds: float = 30.0
    long_seconds: float = 1_800.0


class _CancelledError(FirthError):
    """Nobody waits for the result any more."""


class Worker:
    """Runs requests one after the other, and long work next to them.

    One thread uses the models, because stemmers and tokenizers keep state, and the libraries below
    use all cores. A request that times out stops at its next step of progress.
    """

    def __init__(self, load: Load) -> None:
        self.load = load
        self.in_progress = 0
        self._thread = ThreadPoolExecutor(1, "firth-requests")
        self._long_thread = ThreadPoolExecutor(1, "firth-long")
        self._is_busy = False

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a request inside; raise `Problem` 429 where there are too many."""
        if self.in_progress >= self.load.requests:
            raise busy("Too many requests are in progress.")
        self.in_progress += 1
        try:
            yield
        finally:
            self.in_progress -= 1

    async def ask(self, work: Callable[[], T]) -> T:
        """Run work in turn. Cancelled work does not begin, or stops at its next step."""
        stop = Event()

        def listened() -> T:
            with listening(partial(_stop_if, stop)):
                return work()

        try:
            return await asyncio.wrap_future(self._thread.submit(listened))
        except asyncio.CancelledError:
            stop.set()
            raise

    async def ask_long(self, work: Callable[[], T]) -> AsyncIterator[dict[str, Any]]:
        """Run long work: yield its `progress` now and then, and its `result` at last.

        Raises:
            Problem: 429 where other long work is in progress; 504 where it takes too long.
        """
        if self._is_busy:
            raise busy("Other long work is in progress.")
        loop, stop = asyncio.get_running_loop(), Event()
        latest: dict[str, Any] = {}

        def listen(title: str, done: float, total: float | None) -> None:
            _stop_if(stop)
            latest.update(what=title, done=done, of=total)

        def listened() -> T | None:
            try:
                with listening(listen):
                    return work()
            except _CancelledError:
                return None  # which nobody reads
            finally:
                self._is_busy = False

        self._is_busy = True
        future = asyncio.wrap_future(self._long_thread.submit(listened))
        began, sent = loop.time(), dict[str, Any]()
        try:
            while not future.done():
                await asyncio.wait([future], timeout=_EVERY)
                if latest != sent:
                    sent = dict(latest)
                    yield {"progress": sent}
                if loop.time() - began > self.load.long_seconds and not future.done():
                    raise too_slow()
            yield {"result": future.result()}
        finally:
            stop.set()


class Batcher:
    """Encodes the texts of waiting requests together.

    Args:
        worker: Its thread encodes.
        encode: Gives vectors, (n, d). No vector depends on the other texts.
        count: Called with the number of texts of each batch.
    """

    def __init__(
        self,
        worker: Worker,
        encode: Callable[[Sequence[str]], Singles],
        count: Callable[[int], None],
    ) -> None:
        self._worker, self._encode, self._count = worker, encode, count
        self._waiting: deque[tuple[Sequence[str], asyncio.Future[Singles]]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def encode(self, texts: Sequence[str]) -> Singles:
        """Return the vectors of texts, (n, d)."""
        answer: asyncio.Future[Singles] = asyncio.get_running_loop().create_future()
        self._waiting.append((texts, answer))
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        try:
            while batch := self._next_batch():
                texts = [text for some, _ in batch for text in some]
                self._count(len(texts))
                try:
                    vectors = await self._worker.ask(partial(self._encode, texts))
                except Exception as error:  # noqa: BLE001
                    for _, answer in batch:
                        if not answer.done():
                            answer.set_exception(error)
                    continue
                start = 0
                for some, answer in batch:
                    if not answer.done():
                        answer.set_result(vectors[start : start + len(some)])
                    start += len(some)
        finally:
            self._task = None

    def _next_batch(self) -> list[tuple[Sequence[str], "asyncio.Future[Singles]"]]:
        """Return requests that still wait, of at most `batch` texts, but at least one request."""
        batch: list[tuple[Sequence[str], asyncio.Future[Singles]]] = []
        size = 0
        while self._waiting:
            texts, answer = self._waiting[0]
            if batch and size + len(texts) > self._worker.load.batch:
                break
            self._waiting.popleft()
            if not answer.done():
                batch.append((texts, answer))
                size += len(texts)
        return batch


def busy(message: str) -> Problem:
    """Return the problem of work for which there is no room now."""
    return Problem(429, "too_many_requests", message, "Ask again in a moment.")


def too_slow() -> Problem:
    """Return the problem of work that was stopped."""
    return Problem(504, "timeout", "The answer took too long.", "Ask for less at a time.")


def _stop_if(stop: Event, *_: Any) -> None:
    if stop.is_set():
        raise _CancelledError("cancelled")
