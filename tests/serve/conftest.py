"""A service of the tiny run, asked in this process or over a port."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from firth.run.run import Run
from firth.serve.app import Service
from firth.serve.bounds import Load
from firth.serve.opened import Opened
from firth.serve.server import make_server

A, B = "The captain remembered a storm.", "The sailor feared the wave near the ship."


@pytest.fixture(scope="session")
def ensemble_run(tiny_run: Path) -> Run:
    """The tiny run, asked for its default Origin."""
    return Run.open(tiny_run).changed({"origin": {"method": "ensemble"}})


@pytest.fixture(scope="session")
def opened(ensemble_run: Run) -> Opened:
    """Its parts."""
    return Opened(ensemble_run)


def client_of(service: Service) -> TestClient:
    """A client of this machine, in this process."""
    return TestClient(service.app(), base_url="http://127.0.0.1")


@pytest.fixture(scope="module")
def client(opened: Opened) -> TestClient:
    """A client of a service without a token."""
    return client_of(Service(opened))


@contextmanager
def running(run: Run, **options: Any) -> Iterator[str]:
    """A server of a run in a thread; its address."""
    server = make_server(run, **options)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    end = time.monotonic() + 60
    while not server.started and time.monotonic() < end:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
    assert not thread.is_alive()


def quick() -> Load:
    """Little room and little time."""
    return Load(requests=2, batch=4, seconds=0.5, long_seconds=1.0)
