"""Whoever is refused gets to read why."""

import socket
from collections.abc import Iterator
from contextlib import closing
from threading import Thread

import pytest
from starlette.responses import PlainTextResponse

from firth.web.guard import Guard
from firth.web.server import listen, make_server

MOST_BYTES = 1 << 20
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    """A server that answers "taken" to every request of a bounded length."""
    server = make_server(Guard(PlainTextResponse("taken"), MOST_BYTES))
    with listen("127.0.0.1", 0) as listening:
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname()
        server.should_exit = True
        thread.join()


def ask(address: tuple[str, int], head: bytes, body: bytes) -> bytes:
    """What is answered to a sender that reads nothing until it has sent everything."""
    with closing(socket.create_connection(address, timeout=60)) as connection:
        connection.sendall(HEAD + head + b"\r\n")
        connection.sendall(body)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


@pytest.mark.parametrize("times", [1.5, 8])
@pytest.mark.parametrize("head", [b"", b"Origin: http://example.org\r\n"])
def test_a_sender_of_too_much_reads_why(
    address: tuple[str, int], times: float, head: bytes
) -> None:
    """The answer is not lost because the sender was still sending; nor of who is refused anyway."""
    size = int(times * MOST_BYTES)
    assert ask(address, b"Content-Length: 5\r\n", b"12345").endswith(b"taken")
    found = ask(address, head + b"Content-Length: %d\r\n" % size, b"x" * size)
    assert found.startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("head", [b"", b"Expect: 100-continue\r\n"])
def test_the_answer_waits_for_nothing(address: tuple[str, int], head: bytes) -> None:
    """Who asks for leave to send, or only says how much would come, is answered at once."""
    with closing(socket.create_connection(address, timeout=10)) as connection:
        connection.sendall(HEAD + head + b"Content-Length: %d\r\n\r\n" % (2 * MOST_BYTES))
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 413")


def test_what_never_ends_is_cut_off(address: tuple[str, int]) -> None:
    """Only some of a body is read in vain."""
    piece = b"%x\r\n%s\r\n" % (MOST_BYTES, b"x" * MOST_BYTES)
    with pytest.raises(ConnectionError):
        ask(address, b"Transfer-Encoding: chunked\r\n", piece * 200)
