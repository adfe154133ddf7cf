"""Many, slow, heavy and hostile clients: ordinary ones are answered meanwhile."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from tests.serve.conftest import running, serving
from tests.serve.test_api import A, B, ask, problem

from firth.serve.endpoints import ENDPOINTS
from firth.serve.schemas import MAX_TEXTS

OTHER = "127.0.0.2"
"""Another address of this machine, as of another client."""
WORDS = " ".join(f"word{number}" for number in range(1_900))
HEAVY = {"text1": WORDS, "text2": WORDS + " b"}
"""An explanation that takes many seconds."""
ORDINARY: list[tuple[str, Any]] = [
    ("/api/search", {"query": "ship"}),
    ("/api/explain", {"text1": A, "text2": B}),
    ("/api/encode", {"texts": [A, B]}),
    ("/api/document/doc-1", None),
]


def sent(
    address: str, path: str, body: Any, length: int | None = None, source: str = ""
) -> socket.socket:
    """Send a request, or what it has of `length` bytes, and return the connection."""
    data = json.dumps(body).encode()
    place = urlsplit(address)
    host = place.hostname or "", place.port or 0
    client = socket.create_connection(host, 60, (source, 0) if source else None)
    client.sendall(
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length or len(data)}\r\n\r\n".encode()
        + data
    )
    return client


def measured(address: str, line: str) -> int:
    """Return the value of a line of the metrics; 0 where there is none."""
    with urlopen(f"{address}/metrics", timeout=60) as reply:
        lines = dict(one.rsplit(" ", 1) for one in reply.read().decode().splitlines())
    return int(lines.get(line, 0))


def wait_for(happened: Callable[[], bool]) -> None:
    """Wait for something that surely happens, on a busy machine in a minute."""
    end = time.monotonic() + 60
    while not happened() and time.monotonic() < end:
        time.sleep(0.05)
    assert happened()


def is_busy(address: str) -> bool:
    """Return whether long work goes on, so that other long work is refused."""
    try:
        return not ask(address, "/api/reuse", {})
    except HTTPError as error:
        return error.code == 429


def test_heavy_work_keeps_nobody_waiting_and_ends_with_its_client(toy_folder: Path) -> None:
    """Ordinary requests are answered while it goes on; when its client leaves, so does it."""
    progress = "firth_requests_in_progress"
    with running(toy_folder, seconds=300.0) as address:
        client = sent(address, "/api/explain", HEAVY)
        wait_for(lambda: measured(address, progress) == 1)
        for path, body in ORDINARY:
            ask(address, path, body)
        assert measured(address, progress) == 1, "the heavy one has not been answered"
        client.close()
        left = 'firth_requests_total{path="/api/explain",status="499"}'
        wait_for(lambda: measured(address, left) == 1)
        assert measured(address, progress) == 0
        long = sent(address, "/api/duplicates", {})
        long.close()
        wait_for(lambda: not is_busy(address))


def test_few_heavy_requests_wait(toy_folder: Path) -> None:
    """Beyond the limit they are refused at once, and ordinary ones are not."""
    with running(toy_folder, seconds=300.0, heavy=2) as address:
        clients = [sent(address, "/api/explain", HEAVY) for _ in range(2)]
        wait_for(lambda: measured(address, "firth_requests_in_progress") == 2)
        code, error = problem(address, "/api/explain", HEAVY)
        assert (code, error["code"]) == (429, "too_many_requests")
        for path, body in ORDINARY:
            ask(address, path, body)
        for client in clients:
            client.close()
        wait_for(lambda: measured(address, "firth_requests_in_progress") == 0)


def test_heavy_work_ends_at_its_deadline(toy_folder: Path) -> None:
    """It is status 504."""
    with running(toy_folder, seconds=1.0) as address:
        code, error = problem(address, "/api/explain", HEAVY)
        assert (code, error["code"]) == (504, "timeout")


async def large(_: object) -> Response:
    """Answer with more than the system's own buffers hold."""
    return Response(bytes(24 << 20))


async def small(request: Request) -> Response:
    """Answer when the body has arrived."""
    return Response(await request.body() + b"small")


APP = Starlette(routes=[Route("/large", large), Route("/small", small, methods=["GET", "POST"])])


def test_a_flood_of_connections_keeps_nobody_out() -> None:
    """A client takes half of the seats, and waits outside for more; another one comes in.

    Nobody who was let in is closed for it, and a seat that is free goes to one that waits.
    """
    with serving(APP, connections=6) as address:
        held = [sent(address, "/small", "", length=4, source=OTHER) for _ in range(3)]
        last = sent(address, "/small", "", source=OTHER)
        assert urlopen(f"{address}/small", timeout=60).read() == b"small"
        last.settimeout(0.3)
        with pytest.raises(TimeoutError):
            last.recv(100)
        for client in held:
            client.sendall(b"zz")
            assert client.recv(100).startswith(b"HTTP/1.1 200 ")
        last.settimeout(60)
        held[0].close()
        assert last.recv(100).startswith(b"HTTP/1.1 200 ")
        for client in [*held, last]:
            client.close()


def test_a_full_service_accepts_nobody_until_a_seat_is_free() -> None:
    """The next connection waits in the system's queue, and is answered then."""
    with serving(APP, connections=1) as address:
        held = [sent(address, "/small", "", length=4) for _ in range(2)]
        with ThreadPoolExecutor(1) as pool:
            last = pool.submit(lambda: urlopen(f"{address}/small", timeout=60).read())
            time.sleep(0.3)
            assert not last.done()
            for client in held:
                client.close()
            assert last.result() == b"small"


def test_answers_that_nobody_takes_use_bounded_memory() -> None:
    """Beyond the limit, the client that waits longest is cut off, and others get their answers."""
    with serving(APP, unsent=30 << 20) as address:
        place = urlsplit(address)
        held = [socket.create_connection((place.hostname or "", place.port or 0)) for _ in range(2)]
        for client in held:
            client.sendall(b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert client.recv(1)
        assert len(urlopen(f"{address}/large", timeout=60).read()) == 24 << 20
        for client in held:
            taken = 0
            with contextlib.suppress(ConnectionResetError):
                while part := client.recv(1 << 20):
                    taken += len(part)
            assert taken < 24 << 20
            client.close()


def test_many_clients_at_once(address: str) -> None:
    """Each gets its answer, or is sent away with 429."""

    def one(_: int) -> int:
        try:
            ask(address, "/api/search", {"query": "ship", "top": 3})
        except HTTPError as error:
            return error.code
        return 200

    with ThreadPoolExecutor(200) as pool:
        codes = Counter(pool.map(one, range(200)))
    assert codes[200] + codes[429] == 200
    assert codes[200] >= 32


LEGAL: dict[str, Any] = {
    "/v1/embeddings": {"input": ["a b"] * MAX_TEXTS, "model": "encoder"},
    "/api/encode": {"texts": [WORDS] * 200},
    "/api/search": {"query": WORDS, "top": 1_000},
    "/api/similarity": {"pairs": [[A, B]] * 1_000},
    "/api/explain": HEAVY,
    "/api/differences": {"text1": WORDS[:3_000], "text2": WORDS[3_000:6_000]},
    "/api/documents/compare": {"first": {"text": WORDS * 20}, "second": {"text": WORDS * 20}},
    "/api/duplicates": {},
}
"""The largest requests that are allowed."""


@pytest.mark.parametrize("path", LEGAL)
def test_health_is_told_during_every_legal_request(path: str, toy_folder: Path) -> None:
    """The event loop never works for longer than 0.2 s of processor time at a stretch.

    Processor time of its thread is measured, and not the clock: other work on this machine, and
    other threads of the service, take none of it.
    """
    stretches: list[float] = []
    handle = asyncio.Handle._run

    def timed(self: asyncio.Handle) -> None:
        began = time.thread_time()
        handle(self)
        stretches.append(time.thread_time() - began)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio.Handle, "_run", timed)
        with running(toy_folder, seconds=300.0) as address, ThreadPoolExecutor(1) as pool:
            client = sent(address, path, LEGAL[path])
            answer = pool.submit(client.recv, 1)
            for _ in range(20):
                assert ask(address, "/health") == {"status": "ok"}
                if answer.done():
                    break
            client.close()
    assert len(stretches) > 10, "premise"
    assert max(stretches) < 0.2


def test_a_client_of_many_requests_waits_for_its_own(
    toy_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Next to sixty that wait, another client's request is the next; and beyond the limit the
    first client's last is sent away."""
    go_on, order = threading.Event(), list[str]()

    def slow(_: Any, request: Any) -> dict[str, Any]:
        order.append(request.text1)
        go_on.wait(60)
        return {}

    endpoint = next(one for one in ENDPOINTS if one.path == "/api/differences")
    monkeypatch.setattr(type(endpoint), "answer", property(lambda _: slow), raising=False)
    with running(toy_folder, requests=8, seconds=300.0) as address:

        def send(text: str, source: str) -> socket.socket:
            return sent(address, "/api/differences", {"text1": text, "text2": "b"}, source=source)

        greedy = [send("first", OTHER)]
        wait_for(lambda: order == ["first"])
        greedy += [send(f"greedy {number}", OTHER) for number in range(7)]
        wait_for(lambda: measured(address, "firth_requests_in_progress") == 8)
        another = send("another", "127.0.0.1")
        assert greedy[-1].recv(100).startswith(b"HTTP/1.1 429 ")
        go_on.set()
        for client in [another, *greedy[:-1]]:
            assert client.recv(100).startswith(b"HTTP/1.1 200 ")
            client.close()
    assert order[:2] == ["first", "another"]
    assert len(order) == 8
