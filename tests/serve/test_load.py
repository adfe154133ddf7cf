"""Many, slow, heavy and hostile clients: ordinary ones are answered meanwhile."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.serve.conftest import running
from tests.serve.test_api import A, B, ask, problem

from firth.serve.app import Service, limits_of
from firth.serve.endpoints import ENDPOINTS, Work
from firth.serve.guard import Problem
from firth.serve.workers import Limits, Workers

WORDS = " ".join(f"word{number}" for number in range(900))
HEAVY = {"pairs": [[WORDS, WORDS + " b"]] * 60}
"""Pairs that take many seconds."""
ORDINARY: list[tuple[str, Any]] = [
    ("/api/search", {"query": "ship"}),
    ("/api/explain", {"text1": A, "text2": B}),
    ("/api/differences", {"text1": A, "text2": B}),
    ("/api/document", {"id": "doc-1"}),
]


def sent(address: str, path: str, body: Any, length: int | None = None) -> socket.socket:
    """Send a request, or what it has of `length` bytes, and return the connection."""
    data = json.dumps(body).encode()
    place = urlsplit(address)
    client = socket.create_connection((place.hostname or "", place.port or 0), 60)
    client.sendall(
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length or len(data)}\r\n\r\n".encode()
        + data
    )
    return client


def measured(address: str, line: str) -> float:
    """Return the value of a line of the metrics; 0 where there is none."""
    with urlopen(f"{address}/metrics", timeout=60) as reply:
        lines = dict(one.rsplit(" ", 1) for one in reply.read().decode().splitlines())
    return float(lines.get(line, 0))


def wait_for(happened: Callable[[], bool]) -> None:
    """Wait for something that surely happens, on a busy machine in a minute."""
    end = time.monotonic() + 60
    while not happened() and time.monotonic() < end:
        time.sleep(0.05)
    assert happened()


def is_busy(address: str) -> bool:
    """Return whether long work goes on, so that other long work is refused."""
    try:
        return not ask(address, "/api/check", {})
    except HTTPError as error:
        return error.code == 503 and error.headers["retry-after"] == "1"


def test_slow_work_keeps_nobody_waiting(toy_folder: Path) -> None:
    """Quick requests are answered while it goes on, and a client that leaves is counted."""
    progress = "firth_requests_in_progress"
    with running(toy_folder, seconds=300.0) as address:
        client = sent(address, "/api/similarity", HEAVY)
        wait_for(lambda: measured(address, progress) == 1)
        for path, body in ORDINARY:
            ask(address, path, body)
        assert measured(address, progress) == 1, "the slow one has not been answered"
        client.close()
        left = 'firth_requests_total{path="/api/similarity",status="499"}'
        wait_for(lambda: measured(address, left) == 1)


def test_long_work_is_one_at_a_time_and_ends_with_its_client(toy_folder: Path) -> None:
    """Other long work is refused meanwhile; when the client leaves, there is room at once."""
    with running(toy_folder) as address:
        client = sent(address, "/api/duplicates", {})
        wait_for(lambda: measured(address, "firth_requests_in_progress") == 1)
        assert is_busy(address)
        client.close()
        wait_for(lambda: not is_busy(address))


def test_work_ends_at_its_deadline(toy_folder: Path) -> None:
    """It is status 504, its process is ended, and the next request has a new one."""
    with running(toy_folder, seconds=1.0) as address:
        code, error = problem(address, "/api/similarity", HEAVY)
        assert (code, error["code"]) == (504, "timeout")
        assert measured(address, "firth_workers_ended") == 1
        assert ask(address, "/api/similarity", {"pairs": [[A, A]]})["scores"] == [1.0]


def kill_workers(process: int) -> int:
    """Kill the processes below those below a process, and return how many there were."""
    below = [Path(f"/proc/{process}/task/{process}/children")]
    for _ in range(2):
        numbers = [number for path in below for number in path.read_text().split()]
        below = [Path(f"/proc/{number}/task/{number}/children") for number in numbers]
    for number in numbers:
        os.kill(int(number), signal.SIGKILL)
    return len(numbers)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_killed_workers_are_replaced(toy_folder: Path) -> None:
    """All of them are killed, while they have nothing to do and while they have: the client of
    that moment gets 503, and the next one its answer."""

    async def status(name: str, body: Any) -> int:
        try:
            await anext(workers.pieces(ENDPOINTS[name], json.dumps(body).encode()))
        except Problem as error:
            return error.status
        return 200

    async def statuses() -> list[int]:
        first = await status("search", {"query": "ship"})
        assert kill_workers(os.getpid())
        await asyncio.sleep(0.5)
        second = await status("search", {"query": "ship"})
        task = asyncio.ensure_future(status("similarity", HEAVY))
        await asyncio.sleep(1.0)
        assert kill_workers(os.getpid())
        return [first, second, await task, await status("search", {"query": "ship"})]

    workers = Workers(toy_folder, Limits(waiting=4))
    try:
        workers.start()
        assert asyncio.run(statuses()) == [200, 200, 503, 200]
    finally:
        workers.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts a process's data")
def test_a_worker_has_bounded_memory(toy_folder: Path) -> None:
    """More is an error, and one that has grown is replaced after its answer, which is right. What
    it does not use goes back to the system."""
    workers = Workers(toy_folder, Limits(memory=256 << 20, grows=-(1 << 40)))
    try:
        assert workers._scheduled(os.getenv, "MALLOC_TRIM_THRESHOLD_").result(60) == f"{4 << 20}"
        first = workers._scheduled(os.getpid).result(60)
        with pytest.raises(MemoryError):
            workers._scheduled(bytes, 1 << 30).result(60)

        async def twice() -> list[bytes]:
            body = json.dumps({"query": "ship"}).encode()
            return [await anext(workers.pieces(ENDPOINTS["search"], body)) for _ in range(2)]

        assert all(b'"hits":[' in answer for answer in asyncio.run(twice()))
        assert workers._scheduled(os.getpid).result(60) != first
    finally:
        workers.stop()


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abc")), max_size=60), st.integers(1, 9))
@example([(True, "a"), (True, "b"), (True, "c")], 1)
def test_a_client_takes_half_of_the_seats(moves: list[tuple[bool, str]], waiting: int) -> None:
    """So another one comes in, and a seat that is left is free."""
    workers, seats = Workers(Path(), Limits(waiting=waiting)), list[tuple[str, Any]]()
    for comes, client in moves:
        taken = Counter(name for name, _ in seats)
        if not comes:
            for seat in [seat for name, seat in seats if name == client]:
                seat.__exit__(None, None, None)
            seats = [(name, seat) for name, seat in seats if name != client]
            continue
        seat = workers.seat(client)
        is_free = len(seats) <= waiting and taken[client] < max(1, (1 + waiting) // 2)
        with contextlib.nullcontext() if is_free else pytest.raises(Problem):
            seat.__enter__()
            seats.append((client, seat))


def test_who_sends_slowly_is_cut_off(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that does not end gets 408, headers that do not are closed, and to a path that does
    not exist none is read. Others are answered meanwhile."""
    monkeypatch.setattr("firth.serve.guard._READ_SECONDS", 0.3)
    place = urlsplit(address)
    with socket.create_connection((place.hostname or "", place.port or 0), 60) as drip:
        drip.sendall(b"GET /health HTTP/1.1\r\nHost: 127")
        with sent(address, "/api/search", {}, 99) as client:
            assert ask(address, "/health") == {"status": "ok"}
            assert client.recv(1_000).startswith(b"HTTP/1.1 408 ")
        with sent(address, "/api/nothing", "", 1 << 40) as client:
            assert client.recv(1_000).startswith(b"HTTP/1.1 404 ")
        with sent(address, "/api/search", "", 1 << 40) as client:
            assert client.recv(1_000).startswith(b"HTTP/1.1 413 ")
        with contextlib.suppress(ConnectionResetError):
            assert b" 200 " not in drip.recv(100)


def test_a_body_is_bounded(address: str) -> None:
    """One that does not say how long it is ends at its limit; of many problems, one is named."""
    place = urlsplit(address)
    with socket.create_connection((place.hostname or "", place.port or 0), 60) as client:
        client.sendall(
            b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        with contextlib.suppress(ConnectionError):
            for _ in range(4):
                client.sendall(b"8000\r\n" + b" " * 0x8000 + b"\r\n")
        assert client.recv(1_000).startswith(b"HTTP/1.1 413 ")
    fields = {"query": "ship", **{f"field{number}": 1 for number in range(100)}}
    code, error = problem(address, "/api/search", fields)
    assert (code, error["code"]) == (422, "invalid")
    assert "field0" in error["message"]
    assert "field99" not in str(error)


@pytest.mark.parametrize(
    ("path", "work"), [("/api/documents", Work.QUICK), ("/api/duplicates", Work.LONG)]
)
def test_answers_that_nobody_takes_are_given_up(
    path: str, work: Work, toy_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's seat is free after its time."""
    monkeypatch.setattr("firth.serve.app._SEND_SECONDS", 0.2)
    service = Service(toy_folder, limits_of())
    headers = {b"host": b"localhost", b"content-type": b"application/json", b"content-length": b"2"}
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"",
             "headers": [*headers.items()], "client": ("10.0.0.1", 1)}  # fmt: skip
    received = [{"type": "http.request", "body": b"{}"}]

    async def receive() -> dict[str, Any]:
        if not received:
            await asyncio.Event().wait()
        return received.pop()

    async def send(message: Any) -> None:
        messages.append(message["type"])
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def error() -> BaseException | None:
        answering = asyncio.ensure_future(service.app()(scope, receive, send))
        await asyncio.wait([answering], timeout=60)
        return answering.exception()

    messages: list[str] = []
    try:
        service.start()
        assert isinstance(asyncio.run(error()), TimeoutError)
        assert messages == ["http.response.start", "http.response.body"]
        assert service.registry.get_sample_value("firth_requests_in_progress") == 0
        assert not service.workers[work]._seats.total()
    finally:
        service.stop()
