"""Work on behalf of requests: a thread for ordinary ones, and processes that can be ended."""

import asyncio
import os
import re
import signal
import traceback
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import numpy as np
from pydantic import ValidationError

from firth.encoders.encoder import UnitEncoder
from firth.run.console import complain, listening
from firth.run.errors import (
    ChangedError,
    DamagedError,
    FirthError,
    MissingExtraError,
    MissingStageError,
)
from firth.text.types import Singles

T = TypeVar("T")
_EVERY = 0.2
"""Seconds between two lines of progress."""
_NICENESS = 10
"""Heavy work gets the processor time that ordinary requests leave."""
_PART, _PART_CHARACTERS = 256, 20_000
"""Texts of one request that are encoded before those of others get their turn."""
_SHOWN_PROBLEMS = 5
Answer = Callable[[Any, Any], dict[str, Any]]
"""A function from the model and a request to an answer; it is sent by name."""


class Problem(Exception):  # noqa: N818
    """An error that a client receives: status of HTTP, a word for programs, and for people what
    happened, what was expected, and what to do.
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
        heavy: The same of requests that another process answers, one at a time.
        batch: Texts of several requests that are encoded together, at most.
        seconds: Time until an answer; after that it is status 504.
        long_seconds: The same for work that reports its progress.
    """

    requests: int = 64
    heavy: int = 8
    batch: int = 256
    seconds: float = 30.0
    long_seconds: float = 1_800.0


class Worker:
    """Runs ordinary requests one after the other in a thread, and heavy ones in other processes.

    One thread uses the models, because stemmers and tokenizers keep state, and the libraries below
    use all cores. Whatever takes long is done elsewhere, so an ordinary request waits for ordinary
    ones only.
    """

    def __init__(self, load: Load, run: Path) -> None:
        self.load = load
        self.in_progress = self._waiting = 0
        self._thread = ThreadPoolExecutor(1, "firth-requests")
        self._heavy, self._long = Side(run), Side(run)

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
        """Run ordinary work in turn. Cancelled work does not begin."""
        return await asyncio.wrap_future(self._thread.submit(work))

    async def ask_heavy(self, answer: Answer, request: Any) -> dict[str, Any]:
        """Return the answer to a heavy request, one at a time; a cancelled one is ended."""
        if self._waiting >= self.load.heavy:
            raise busy("Too many heavy requests are in progress.")
        self._waiting += 1
        result: dict[str, Any] = {}
        try:
            async for line in self._heavy.lines(answer, request):
                result = line.get("result", result)
        finally:
            self._waiting -= 1
        return result

    async def ask_long(self, answer: Answer, request: Any) -> AsyncIterator[dict[str, Any]]:
        """Run long work: yield its `progress` now and then, and its `result` at last."""
        if self._long.is_busy:
            raise busy("Other long work is in progress.")
        lines = self._long.lines(answer, request)
        end = asyncio.get_running_loop().time() + self.load.long_seconds
        try:
            while True:
                async with asyncio.timeout_at(end):
                    line = await anext(lines, None)
                if line is None:
                    return
                yield line
        finally:
            await lines.aclose()


class Side:
    """A process that opens a run and answers requests. It is ended where nobody waits any more."""

    def __init__(self, run: Path) -> None:
        self._run, self._lock = run, asyncio.Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a request is in progress."""
        return self._lock.locked()

    async def lines(self, answer: Answer, request: Any) -> AsyncGenerator[dict[str, Any]]:
        """Yield progress, and the result at last; raise the `Problem` of the work."""
        async with self._lock:
            is_done = False
            try:
                pipe = self._begun()
                await asyncio.to_thread(pipe.send, (answer, request))
                while not is_done:
                    line = await asyncio.to_thread(pipe.recv)
                    is_done = "progress" not in line
                    if "problem" in line:
                        raise Problem(*line["problem"])
                    yield line
            except (EOFError, OSError):
                raise Problem(500, "ended", "The work was ended.", "Ask for less.") from None
            finally:
                if not is_done:
                    self._end()

    def _begun(self) -> Connection:
        """Return the connection to the process, which is started where there is none."""
        if self._process is None or not self._process.is_alive() or self._pipe is None:
            context = get_context("spawn")  # Libraries that have threads do not expect a fork.
            self._pipe, theirs = context.Pipe()
            process = context.Process(target=_answer, args=(self._run, theirs), daemon=True)
            process.start()
            self._process = process
            theirs.close()
        return self._pipe

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
        self._process = None


def _answer(run: Path, pipe: Connection) -> None:
    """Answer requests in this process until the other end of the pipe is closed."""
    from firth.model import load

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent ends this process.
    os.nice(_NICENESS)
    sent = 0.0

    def listen(title: str, done: float, total: float | None) -> None:
        nonlocal sent
        if (now := monotonic()) - sent > _EVERY:
            sent = now
            pipe.send({"progress": {"what": title, "done": done, "of": total}})

    model = load(run)
    with suppress(EOFError, BrokenPipeError), listening(listen):
        while True:
            answer, request = pipe.recv()
            try:
                line = {"result": answer(model, request)}
            except BrokenPipeError:
                return
            except BaseException as error:  # noqa: BLE001
                problem = problem_of(error)
                line = {"problem": (problem.status, problem.code, problem.message, problem.hint)}
            pipe.send(line)


@dataclass(frozen=True)
class _Part:
    """Texts of a request that wait for their vectors."""

    encoder: UnitEncoder
    texts: Sequence[str]
    answer: "asyncio.Future[Singles]"


class Batcher:
    """Encodes the texts of waiting requests together, in the thread of a worker.

    No vector depends on the other texts, and all of a request are of one encoder. `count` is called
    with the number of texts of each batch.
    """

    def __init__(self, worker: Worker, count: Callable[[int], None]) -> None:
        self._worker, self._count = worker, count
        self._waiting: deque[_Part] = deque()
        self._task: asyncio.Task[None] | None = None

    async def encode(self, encoder: UnitEncoder, texts: Sequence[str]) -> Singles:
        """Return the vectors of texts, (n, d), a part at a time."""
        parts = [await self._encode_part(encoder, part) for part in _parts(texts)]
        return np.concatenate(parts)

    async def _encode_part(self, encoder: UnitEncoder, texts: Sequence[str]) -> Singles:
        answer: asyncio.Future[Singles] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Part(encoder, texts, answer))
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        try:
            while batch := self._next_batch():
                texts = [text for part in batch for text in part.texts]
                self._count(len(texts))
                try:
                    vectors = await self._worker.ask(partial(batch[0].encoder.encode, texts))
                except Exception as error:  # noqa: BLE001
                    for part in batch:
                        if not part.answer.done():
                            part.answer.set_exception(error)
                    continue
                start = 0
                for part in batch:
                    if not part.answer.done():
                        part.answer.set_result(vectors[start : start + len(part.texts)])
                    start += len(part.texts)
        finally:
            self._task = None

    def _next_batch(self) -> list["_Part"]:
        """Return waiting parts of one encoder, of at most `batch` texts, but at least one part."""
        batch: list[_Part] = []
        size = 0
        while self._waiting:
            part = self._waiting[0]
            is_full = size + len(part.texts) > self._worker.load.batch
            if batch and (is_full or part.encoder is not batch[0].encoder):
                break
            self._waiting.popleft()
            if not part.answer.done():
                batch.append(part)
                size += len(part.texts)
        return batch


def _parts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the texts in parts of bounded size, and at least one text each."""
    start = size = 0
    for end, text in enumerate(texts):
        if end > start and (end - start == _PART or size + len(text) > _PART_CHARACTERS):
            yield texts[start:end]
            start, size = end, 0
        size += len(text)
    yield texts[start:]


def busy(message: str) -> Problem:
    """Return the problem of work for which there is no room now."""
    return Problem(429, "too_many_requests", message, "Ask again in a moment.")


def problem_of(error: BaseException) -> Problem:
    """Return the answer to an error; the details of an unexpected one go to the log only."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, TimeoutError):
        return Problem(504, "timeout", "The answer took too long.", "Ask for less at a time.")
    if isinstance(error, ValidationError):
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        lines = [
            ": ".join(filter(None, (_place(one["loc"]), one["msg"])))
            for one in problems[:_SHOWN_PROBLEMS]
        ]
        return Problem(422, "invalid", "; ".join(lines), "GET /openapi.json describes requests")
    if isinstance(error, ChangedError):
        return Problem(503, "changed", str(error).partition(". ")[0], "Ask again in a moment.")
    if isinstance(error, FirthError):
        is_missing = isinstance(error, MissingStageError | MissingExtraError)
        status = 409 if is_missing or isinstance(error, DamagedError) else 422
        code = "missing" if is_missing else "damaged" if status == 409 else "invalid"
        # An option of the command line is a field of the request here.
        message, _, hint = re.sub(r"^--([a-z-]+)", r"\1", str(error)).partition(". ")
        return Problem(status, code, message, hint)
    complain("".join(traceback.format_exception(error)).rstrip())
    return Problem(500, "internal", "The service failed.", "The log of the service has the cause.")


def _place(parts: tuple[int | str, ...]) -> str:
    """Return the place in a request, without the names that pydantic gives to alternatives."""
    return ".".join(str(part) for part in parts if isinstance(part, int) or part.isidentifier())
