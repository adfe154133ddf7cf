"""A service of the toy run, on a free port."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Queue
from typing import Any, cast

import pytest

from firth.serve.app import Service, limits_of
from firth.serve.server import serve_until_cancelled

TOKEN = "0123456789abcdef"


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve an application inside the block, and yield the address."""
    ready: Queue[Any] = Queue()

    async def run() -> None:
        task, loop = cast(Any, asyncio.current_task()), asyncio.get_running_loop()
        ready.put(lambda: loop.call_soon_threadsafe(task.cancel))
        with suppress(asyncio.CancelledError):
            await serve_until_cancelled(app, ready.put, "127.0.0.1", 0)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    stop = ready.get()
    try:
        yield ready.get(timeout=60).rstrip("/")
    finally:
        stop()
        thread.join()


@contextmanager
def running(folder: Path, token: str | None = None, **limits: Any) -> Iterator[str]:
    """Serve a run inside the block, and yield the address; `limits` are those of `limits_of`."""
    service = Service(folder, limits_of(**limits), token=token)
    try:
        service.start()
        with serving(service.app()) as address:
            yield address
    finally:
        service.stop()


@pytest.fixture(scope="session")
def address(toy_folder: Path) -> Iterator[str]:
    """A service of the toy run that asks for no token."""
    with running(toy_folder) as address:
        yield address
