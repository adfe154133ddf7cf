"""A service of the toy run, on a free port."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from firth.model import load as load_model
from firth.serve.app import Service
from firth.serve.server import Limits, listen, make_server
from firth.serve.worker import Load

TOKEN = "0123456789abcdef"


@contextmanager
def serving(app: Any, **limits: Any) -> Iterator[str]:
    """Serve an application inside the block, and yield the address."""
    server = make_server(app, Limits(**{"seconds": 3, "answer_seconds": 60, **limits}))
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def running(folder: Path, token: str | None = None, **load: Any) -> Iterator[str]:
    """Serve a run inside the block, and yield the address."""
    with serving(Service(load_model(folder), Load(**load), token).app()) as address:
        yield address


@pytest.fixture(scope="session")
def address(toy_folder: Path) -> Iterator[str]:
    """A service of the toy run that asks for no token."""
    with running(toy_folder) as address:
        yield address
