"""Work on behalf of requests: a thread for ordinary ones, and processes that can be ended."""

import asyncio
import os
import re
import signal
import traceback
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
from firth.serve.turns import Turns
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
        requests: Requests in progress, waiting ones included. For one more, the last of the client
            who has most is sent away with status 429.
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


class Lane:
    """Runs work one at a time, in fair turns of its clients; too much of it is refused."""

    def __init__(self, most: int) -> None:
        self._turns = Turns["_Task"](most)
        self._going: asyncio.Task[None] | None = None

    async def ask(self, client: str, task: "_Task") -> Any:
        """Return the result of a task. Work that nobody waits for does not begin, or is ended."""
        away = self._turns.add(client, task)
        if away is not None and not away.answer.done():
            away.answer.set_exception(busy("Too many requests are in progress."))
        if self._going is None:
            self._going = asyncio.create_task(self._go_on())
        try:
            return await task.answer
        finally:
            self._turns.remove(client, task)
            if task.going is not None:
                task.going.cancel()

    async def _go_on(self) -> None:
        try:
            while turn := self._turns.next():
                await self._do([turn])
        finally:
            self._going = None

    async def _do(self, turns: list[tuple[str, "_Task"]]) -> None:
        """Do the work of the first turn, and set its answer."""
        [(client, task)] = turns
        began = monotonic()
        task.going = asyncio.ensure_future(task.work())
        await asyncio.wait([task.going])
        self._turns.end(client, monotonic() - began)
        task.take(task.going)


class ThreadLane(Lane):
    """A lane in one thread, whose work goes on to its end; texts are encoded together."""

    def __init__(self, most: int, batch: int, count: Callable[[int], None]) -> None:
        super().__init__(most)
        self._batch, self._count = batch, count
        self._thread = ThreadPoolExecutor(1, "firth-requests")

    async def _do(self, turns: list[tuple[str, "_Task"]]) -> None:
        first, began = turns[0][1], monotonic()
        work = first.work
        if first.texts:
            self._add_texts(turns)
            texts = [text for _, task in turns for text in task.texts]
            self._count(len(texts))
            work = partial(first.work, texts)
        doing = asyncio.wrap_future(self._thread.submit(work))
        await asyncio.wait([doing])
        total, start = sum(len(task.texts) for _, task in turns), 0
        for client, task in turns:
            share = len(task.texts) / total if total else 1.0
            self._turns.end(client, share * (monotonic() - began))
            end = start + len(task.texts)
            task.take(doing, slice(start, end) if total else None)
            start = end

    def _add_texts(self, turns: list[tuple[str, "_Task"]]) -> None:
        """Add the turns of others whose texts go to the same encoder, up to `batch` texts."""
        first = turns[0][1]
        left = self._batch - len(first.texts)

        def fits(task: "_Task") -> bool:
            return 0 < len(task.texts) <= left and task.work == first.work

        while turn := self._turns.next(fits):
            left -= len(turn[1].texts)
            turns.append(turn)


class _Task:
    """Work, and the answer that a request waits for. Work with texts gets those of others, too."""

    def __init__(self, work: Callable[..., Any], texts: Sequence[str] = ()) -> None:
        self.work, self.texts = work, texts
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.going: asyncio.Future[Any] | None = None

    def take(self, done: "asyncio.Future[Any]", rows: slice | None = None) -> None:
        """Take the answer, or some of its rows, from work that is done."""
        error = None if done.cancelled() else done.exception()
        if self.answer.done() or done.cancelled():
            return
        if error is not None:
            self.answer.set_exception(error)
        else:
            self.answer.set_result(done.result() if rows is None else done.result()[rows])


class Worker:
    """Runs ordinary requests one after the other in a thread, and heavy ones in other processes.

    One thread uses the models, because stemmers and tokenizers keep state, and the libraries below
    use all cores. Whatever takes long is done elsewhere, so an ordinary request waits for ordinary
    ones only. Clients take turns, so that one of many requests waits for its own.

    `count` is called with the number of texts that are encoded together.
    """

    def __init__(
        self, load: Load, run: Path, count: Callable[[int], None] = lambda _: None
    ) -> None:
        self.load = load
        self.in_progress = 0
        self._ordinary, self._heavy = ThreadLane(load.requests, load.batch, count), Lane(load.heavy)
        self._writing = ThreadLane(load.requests, 1, count)
        self._heavy_side, self._long = Side(run), Side(run)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a request inside."""
        self.in_progress += 1
        try:
            yield
        finally:
            self.in_progress -= 1

    async def ask(self, client: str, work: Callable[[], T]) -> T:
        """Run ordinary work in turn."""
        result: T = await self._ordinary.ask(client, _Task(work))
        return result

    async def write(self, client: str, work: Callable[[], T]) -> T:
        """Read a large body or write a large answer, in turn; no other work waits for it."""
        result: T = await self._writing.ask(client, _Task(work))
        return result

    async def encode(self, client: str, encoder: UnitEncoder, texts: Sequence[str]) -> Singles:
        """Return the vectors of texts, (n, d), a part at a time, with texts of other requests.

        No vector depends on the other texts, and all of a request are of one encoder.
        """
        tasks = (_Task(encoder.encode, part) for part in _parts(texts))
        return np.concatenate([await self._ordinary.ask(client, task) for task in tasks])

    async def ask_heavy(self, client: str, answer: Answer, request: Any) -> dict[str, Any]:
        """Return the answer to a heavy request, one at a time; a cancelled one is ended."""

        async def work() -> dict[str, Any]:
            lines = [line async for line in self._heavy_side.lines(answer, request)]
            result: dict[str, Any] = lines[-1]["result"]
            return result

        result: dict[str, Any] = await self._heavy.ask(client, _Task(work))
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
