"""Worker processes: each holds the model, and is killed where an answer takes too long."""

import asyncio
import json
import os
import re
import signal
import traceback
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any

from pebble import CONSTS, ProcessExpired, ProcessPool
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from firth.encoders.kinds import find_encoder
from firth.model import Model, load
from firth.run.console import complain, listening
from firth.run.errors import (
    ChangedError,
    DamagedError,
    FirthError,
    MissingExtraError,
    MissingStageError,
)
from firth.run.limits import limit
from firth.serve.endpoints import ENDPOINTS, Endpoint
from firth.serve.guard import Problem

_PROGRESS_SECONDS = 0.2
"""Time between two lines of progress."""
_PIECE = 1 << 14
"""Bytes of an answer that are sent at a time."""
_START_SECONDS = 60.0
"""Time for a worker to open the model, before the deadline of its first request."""
_RUN = "FIRTH_SERVED_RUN"
"""Variable with the run whose scorer is opened before workers are forked."""
_RETURNED = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), f"{4 << 20}")
"""Variables of glibc: memory of 4 MiB or more goes back to the system when it is not in use."""
_FORKED = frozenset({"package", "static"})
"""Kinds of encoders of NumPy alone. Others have threads, which a fork does not copy."""
Reply = bytes | Problem
"""JSON, or what went wrong."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of the workers of one kind.

    Attributes:
        workers: Processes.
        waiting: Requests that wait for a process; half of these and of those in progress may be one
            client's.
        body: Bytes of the body of a request.
        seconds: Time until an answer; after that its process is killed.
        memory: Bytes that a process may take beyond the model.
        grows: Bytes by which a process may have grown after an answer; beyond, it is replaced.
        niceness: Others get the processor first.
        is_kept: Whether a process stays, with its model open, when it has answered.
    """

    workers: int = 1
    waiting: int = 127
    body: int = 1 << 16
    seconds: float = 5.0
    memory: int = 2 << 30
    grows: int = 16 << 20
    niceness: int = 0
    is_kept: bool = True


class Workers:
    """Processes that answer requests about a run, one request a process.

    A request has a seat from its first byte until its answer was sent, and waits there for its
    turn. Where no seat is free, it is refused at once.
    """

    def __init__(self, run: Path, limits: Limits) -> None:
        self.limits, self.ended = limits, 0
        self._run, self._seats = run, Counter[str]()
        self._turns = asyncio.Semaphore(limits.workers)
        # Libraries that have threads do not expect a fork.
        is_posix = "forkserver" in get_all_start_methods()
        self._context: Any = get_context("forkserver" if is_posix else "spawn")
        if is_posix:
            os.environ |= {_RUN: str(run), **_RETURNED}
            self._context.set_forkserver_preload([__name__])
        self._progress: Any = self._context.Array("c", 400)
        self._pool: Any = self._opened()

    def _opened(self) -> ProcessPool:
        CONSTS.term_timeout = 0.5  # Then a worker that ignores its end is killed.
        tasks = 0 if self.limits.is_kept else 1
        arguments = (self._run, self.limits, self._progress)
        return ProcessPool(self.limits.workers, tasks, _begin, arguments, self._context)

    def start(self) -> None:
        """Start the processes; wait until one has opened the model."""
        self._scheduled(_memory).result(_START_SECONDS)

    def stop(self) -> None:
        """End the processes."""
        _stop(self._pool)

    @contextmanager
    def seat(self, client: str) -> Iterator[None]:
        """Take a seat inside the block; raise a `Problem` where there is none for the client."""
        most = self.limits.workers + self.limits.waiting
        if self._seats.total() >= most or self._seats[client] >= max(1, most // 2):
            raise _busy()
        self._seats[client] += 1
        try:
            yield
        finally:
            self._seats -= Counter([client])

    async def pieces(self, endpoint: Endpoint, body: bytes) -> AsyncGenerator[bytes]:
        """Yield an answer. Work that has begun goes on to its end without its client."""
        reply = await asyncio.shield(await self._begun(endpoint, body))
        if isinstance(reply, Problem):
            raise reply
        for start in range(0, len(reply), _PIECE):
            yield reply[start : start + _PIECE]

    async def lines(self, endpoint: Endpoint, body: bytes) -> AsyncGenerator[bytes]:
        """Yield lines of JSON: progress, then the result or the error; end work that is left.

        Raises:
            Problem: The work ended before its first line.
        """
        work, shown = await self._begun(endpoint, body), b""
        self._progress.value = b""
        try:
            while not work.done():
                await asyncio.wait([work], timeout=_PROGRESS_SECONDS)
                progress = self._progress.value
                if progress not in (b"", shown) and not work.done():
                    shown = progress
                    yield b'{"progress":' + progress + b"}\n"
            reply = await work
            if isinstance(reply, bytes):
                yield b'{"result":' + reply + b"}\n"
            elif shown:
                yield reply.as_json() + b"\n"
            else:
                raise reply
        finally:
            work.cancel()

    async def _begun(self, endpoint: Endpoint, body: bytes) -> "asyncio.Task[Reply]":
        """Return work in its turn, which is over when the work is."""
        try:
            async with asyncio.timeout(self.limits.seconds):
                await self._turns.acquire()
        except TimeoutError:
            raise _busy() from None
        work = asyncio.ensure_future(self._reply(endpoint, body))
        work.add_done_callback(lambda _: self._turns.release())
        return work

    async def _reply(self, endpoint: Endpoint, body: bytes) -> Reply:
        try:
            async with asyncio.timeout(self.limits.seconds + _START_SECONDS):
                future = self._scheduled(_answer, endpoint.answer.__name__, body)
                reply: Reply = await asyncio.wrap_future(future)
        except TimeoutError:
            self.ended += 1
            message = f"The answer took more than {self.limits.seconds:g} s."
            return Problem(504, "timeout", message, "Ask for less at a time.")
        except (ProcessExpired, RuntimeError):  # A broken pool is a RuntimeError.
            self.ended += 1
            message = "The process that made the answer was ended."
            return Problem(503, "ended", message, "Ask again; or for less at a time.")
        if self.limits.is_kept:
            self._scheduled(_end_if_grown)
        return reply

    def _scheduled(self, function: Any, *arguments: Any) -> Any:
        seconds = self.limits.seconds
        try:
            return self._pool.schedule(function, arguments, timeout=seconds)
        except RuntimeError:  # A process was ended from outside while it had nothing to do.
            Thread(target=_stop, args=[self._pool]).start()
            self._pool = self._opened()
            return self._pool.schedule(function, arguments, timeout=seconds)


def _stop(pool: Any) -> None:
    pool.stop()
    pool.join()


# --- In a worker -------------------------------------------------------------------------------


class _State:
    """What a worker process keeps."""

    run: Path
    limits: Limits
    progress: Any
    model: Model | None = None
    begun = 0


_state = _State()


def _begin(run: Path, limits: Limits, progress: Any) -> None:
    """Begin a worker: open the model, and then allow it so much memory."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # It ends at once, whatever it does.
    if hasattr(os, "nice"):
        os.nice(limits.niceness)
    _state.run, _state.limits, _state.progress = run, limits, progress
    if limits.is_kept:
        with suppress(Exception):  # A request tells what is wrong.
            _state.model = _state.model or load(run, quiet=True)
            _state.model.search("a", top=1)
            _state.model.explain("a", "b")
    limit(limits.memory)
    _state.begun = _memory()


def _end_if_grown() -> None:
    """End a worker that has grown after its answer; the pool starts another one."""
    if _memory() - _state.begun > _state.limits.grows:
        os._exit(1)


def _memory() -> int:
    """Return the bytes of memory that this process alone has; 0 where the system does not tell."""
    with suppress(OSError):
        if match := re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text()):
            return 1024 * int(match[1])
    return 0


def _answer(name: str, body: bytes) -> Reply:
    endpoint, last = ENDPOINTS[name], 0.0

    def listen(title: str, done: float, total: float | None) -> None:
        nonlocal last
        if monotonic() - last > _PROGRESS_SECONDS:
            last = monotonic()
            _state.progress.value = to_json({"what": title[:100], "done": done, "of": total})

    try:
        fields = dict(endpoint.request.model_validate_json(body, strict=True))
        if _state.model is None:
            _state.model = load(_state.run, quiet=True)
        with listening(listen):
            return written(endpoint.answer(_state.model, **fields))
    except Exception as error:  # noqa: BLE001
        return _problem_of(error)


def written(value: object) -> bytes:
    """Return JSON; half of a surrogate pair, which UTF-8 lacks, is an escape."""
    try:
        return to_json(value, inf_nan_mode="null")
    except PydanticSerializationError:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


def _problem_of(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, MemoryError):
        message = "The answer needs more memory than a process may take."
        return Problem(503, "memory", message, "Ask for less at a time.")
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        # Without the names that pydantic gives to alternatives.
        place = (str(p) for p in first["loc"] if isinstance(p, int) or p.isidentifier())
        message = ": ".join(filter(None, (".".join(place), first["msg"])))
        return Problem(422, "invalid", message, "GET /openapi.json describes requests")
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
    return Problem(500, "internal", "The service failed.", "Its log has the cause.")


def _busy() -> Problem:
    return Problem(503, "busy", "Too many requests are in progress.", "Ask again in a moment.")


def _share(run: str) -> None:
    """Open the scorer of a run in the process from which workers are forked: they share it.

    The database is opened in each worker: a fork must not take a connection along.
    """
    model = load(run, quiet=True)
    if find_encoder(str(model.run.settings.encoder.model)).kind.name in _FORKED:
        model.explain("a", "b")
        _state.model = model


if _RUN in os.environ:
    with suppress(Exception):  # Each worker opens it, then.
        _share(os.environ[_RUN])
