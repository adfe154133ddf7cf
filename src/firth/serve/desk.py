"""Who does the work: one thread that asks the models, and one for what takes long."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Event
from typing import Any, TypeVar

from firth.index.encoder import Vectors
from firth.run.progress import told_to
from firth.serve.bounds import Load
from firth.serve.problems import too_many, too_slow

T = TypeVar("T")
_TOLD_EVERY = 0.2
"""Seconds between two lines of progress."""


class _StoppedError(Exception):
    """Nobody waits for the work any more."""


class Desk:
    """Takes requests in turn, as many as there is room for.

    One thread asks the models: stemmers and tokenizers hold the word they are at, and the
    libraries below use all cores. What takes long has a thread of its own, one request at a time.
    """

    def __init__(self, load: Load) -> None:
        self.load = load
        self.under_way = 0
        self._thread = ThreadPoolExecutor(1, "firth-ask")
        self._long = ThreadPoolExecutor(1, "firth-long")
        self._long_busy = False

    @contextmanager
    def taken(self) -> Iterator[None]:
        """A request under way; raise `Problem` 429 where there are too many."""
        if self.under_way >= self.load.requests:
            raise too_many()
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1

    async def ask(self, work: Callable[[], T]) -> T:
        """Do work in turn; work that has not begun when the caller is cancelled is not done."""
        return await asyncio.wrap_future(self._thread.submit(work))

    async def tell(self, work: Callable[[], T]) -> AsyncIterator[dict[str, Any]]:
        """Do long work: give how far it is, now and then, as `progress`, and at last its `result`.

        Raises:
            Problem: 429 where other long work is under way; 504 where it takes too long.
        """
        if self._long_busy:
            raise too_many("Other long work is")
        loop, stop = asyncio.get_running_loop(), Event()
        told: dict[str, Any] = {}
        new: dict[str, Any] = {}

        def listen(what: str, done: float, of: float | None) -> None:
            if stop.is_set():
                raise _StoppedError
            new.update(what=what, done=done, of=of)

        def listened() -> T | None:
            try:
                with told_to(listen):
                    return work()
            except _StoppedError:
                return None  # which nobody reads
            finally:
                self._long_busy = False

        self._long_busy = True
        future = asyncio.wrap_future(self._long.submit(listened))
        begun = loop.time()
        try:
            while not future.done():
                await asyncio.wait([future], timeout=_TOLD_EVERY)
                if (now := {**new}) != told:
                    told = now
                    yield {"progress": told}
                if loop.time() - begun > self.load.long_seconds and not future.done():
                    raise too_slow()
            yield {"result": future.result()}
        finally:
            stop.set()

    def close(self) -> None:
        """Begin nothing more."""
        for pool in (self._thread, self._long):
            pool.shutdown(wait=False, cancel_futures=True)


class Batcher:
    """Encodes the texts of requests that wait together: the next batch is what came meanwhile.

    Args:
        desk: Whose thread encodes.
        encode: Gives vectors, (n, d); a vector must not depend on the other texts.
        told: Called with the size of each batch, in texts.
    """

    def __init__(
        self,
        desk: Desk,
        encode: Callable[[Sequence[str]], Vectors],
        told: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._desk, self._encode, self._told = desk, encode, told
        self._waiting: deque[tuple[Sequence[str], asyncio.Future[Vectors]]] = deque()
        self._worker: asyncio.Task[None] | None = None

    async def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of `texts`, (n, d)."""
        answer: asyncio.Future[Vectors] = asyncio.get_running_loop().create_future()
        self._waiting.append((texts, answer))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        try:
            while batch := self._next():
                texts = [text for some, _ in batch for text in some]
                self._told(len(texts))
                try:
                    vectors = await self._desk.ask(partial(self._encode, texts))
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
            self._worker = None

    def _next(self) -> list[tuple[Sequence[str], "asyncio.Future[Vectors]"]]:
        """Requests that still wait, of as many texts as a batch has; one at least."""
        batch: list[tuple[Sequence[str], asyncio.Future[Vectors]]] = []
        size = 0
        while self._waiting:
            texts, answer = self._waiting[0]
            if batch and size + len(texts) > self._desk.load.batch:
                break
            self._waiting.popleft()
            if not answer.done():
                batch.append((texts, answer))
                size += len(texts)
        return batch
