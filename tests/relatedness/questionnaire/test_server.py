"""What a connection may take: no endless bodies, no two lengths, no waiting for ever."""

import logging
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from firth.relatedness.questionnaire.app import MOST_BYTES
from firth.relatedness.questionnaire.store import Store
from firth.web.server import Limits

from .conftest import running, small

SECONDS = 0.6
HEAD = b"POST /start HTTP/1.1\r\nHost: 127.0.0.1\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    made = Store.create(folder / "db", small())
    yield made
    made.close()


@pytest.fixture
def port(store: Store) -> Iterator[int]:
    with running(store, Limits(SECONDS, idle_seconds=1, connections=4)) as found:
        yield found


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def read_all(connection: socket.socket) -> bytes:
    """All that comes until the server ends the connection."""
    found = b""
    try:
        while piece := connection.recv(1 << 16):
            found += piece
    except ConnectionResetError:
        pass
    return found


def ask(port: int, request: bytes) -> bytes:
    with closing(connect(port)) as connection:
        connection.sendall(request)
        return read_all(connection)


def chunks(size: int) -> bytes:
    piece = b"name=" + b"x" * 1019
    return (b"400\r\n" + piece + b"\r\n") * (size // 1024) + b"0\r\n\r\n"


def test_a_chunked_body_is_counted_as_it_is_read(
    port: int, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """A form without a length is read up to the limit, and refused above it: 413, nothing kept."""
    assert ask(port, HEAD + CHUNKED + b"\r\n" + b"6\r\nname=a\r\n0\r\n\r\n").startswith(
        b"HTTP/1.1 303"
    )
    assert store.overview().annotators == 1
    long = ask(port, HEAD + CHUNKED + b"\r\n" + chunks(2 * MOST_BYTES))
    assert long.startswith(b"HTTP/1.1 413")
    assert store.overview().annotators == 1
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


@pytest.mark.parametrize("length", [b"6", b"5"])
def test_two_lengths_are_refused(port: int, store: Store, length: bytes) -> None:
    """A small Content-Length beside chunks told nothing of what came: 400."""
    both = b"Content-Length: " + length + b"\r\n" + CHUNKED
    for order in (both, CHUNKED + b"Content-Length: " + length + b"\r\n"):
        found = ask(port, HEAD + order + b"\r\n" + chunks(2 * MOST_BYTES))
        assert found.startswith(b"HTTP/1.1 400")
    assert store.overview().annotators == 0


@pytest.mark.parametrize(
    "path", [b"/static/%00", b"/%00", b"/static/../app.py", b"/static/%2e%2e/app.py"]
)
def test_odd_paths_are_not_found(port: int, path: bytes) -> None:
    """Neither an error of the server nor a file beside the pages."""
    found = ask(port, b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert found.startswith(b"HTTP/1.1 404")


@pytest.mark.parametrize("host", [b"[", b"[::1", b"]", b"a[b"])
def test_a_host_that_is_none_is_no_fault_of_the_server(port: int, host: bytes) -> None:
    """A bracket that does not end was an error 500."""
    status = ask(port, b"GET / HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n")
    assert status.split()[1] in (b"400", b"421")


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        HEAD + b"Content-Length: 9\r\n\r\na",
    ],
)
def test_a_request_has_so_long_to_arrive(
    port: int, begun: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Headers or a body that come drop by drop, or not at all, end with the connection: 408."""
    start, found = time.monotonic(), b""
    with closing(connect(port)) as connection:
        connection.sendall(begun)
        connection.settimeout(0.1)
        while time.monotonic() - start < 10:
            try:
                if begun:
                    connection.sendall(b"a")
                if (piece := connection.recv(1 << 16)) == b"":
                    break
                found += piece
            except TimeoutError:
                continue
            except OSError:
                break
    assert SECONDS - 0.1 < time.monotonic() - start < 5
    assert found.startswith(b"HTTP/1.1 408") if begun else found == b""
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


def test_a_connection_may_be_used_again(port: int) -> None:
    """The bound is on a request, not on the connection; between two there is one of its own."""
    get = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with closing(connect(port)) as connection:
        for _ in range(4):
            connection.sendall(get)
            found = b""
            while b"</html>" not in found:
                found += connection.recv(1 << 16)
            assert found.startswith(b"HTTP/1.1 200")
            time.sleep(SECONDS / 2)
        start = time.monotonic()
        assert read_all(connection) == b""
        assert time.monotonic() - start < 5


def test_there_are_only_so_many_connections(port: int) -> None:
    """One more is closed at once; when the idle ones have been cut off, there is room again."""
    idle = [connect(port) for _ in range(4)]
    time.sleep(0.2)
    start = time.monotonic()
    with closing(connect(port)) as one_more:
        assert read_all(one_more) == b""
    assert time.monotonic() - start < SECONDS / 2
    for connection in idle:
        assert read_all(connection) == b""
        connection.close()
    answer = ask(port, b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200")
