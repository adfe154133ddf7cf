"""A server that is told to stop finishes what it has begun, and ends well."""

import signal
import socket
import subprocess
import sys
import urllib.request
from threading import Thread

import pytest

from firth.run.errors import InputError
from firth.web.server import is_loopback, listen

SCRIPT = """
import asyncio
from firth.web.server import make_server, run

async def app(scope, receive, send):
    print("begun", flush=True)
    await asyncio.sleep(0.5)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"whole"})

run(make_server(app), lambda address: print(address, flush=True))
print("ended", flush=True)
"""


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_what_has_begun_is_finished(told: signal.Signals) -> None:
    """The answer under way arrives whole, the process goes on to its end, with status 0."""
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        address = it.stdout.readline().strip()
        found: list[bytes] = []

        def ask() -> None:
            with urllib.request.urlopen(address, timeout=60) as answer:
                found.append(answer.read())

        asking = Thread(target=ask)
        asking.start()
        assert it.stdout.readline() == "begun\n"
        it.send_signal(told)
        asking.join()
        assert it.stdout.read() == "ended\n"
        assert it.wait(timeout=60) == 0
    assert found == [b"whole"]


def test_a_port_that_is_taken_is_told() -> None:
    """So is a host that is none."""
    with listen("127.0.0.1", 0) as first, pytest.raises(InputError, match="Take another"):
        listen("127.0.0.1", first.getsockname()[1])
    with pytest.raises(InputError, match="--host"):
        listen("no such host", 0)
    with listen("::1", 0) if socket.has_ipv6 else listen("127.0.0.1", 0) as other:
        assert other.getsockname()[1]


def test_answers_are_not_held_back() -> None:
    """The socket is said to be TCP's, or asyncio would leave Nagle's delay on."""
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


def test_loopback_is_known() -> None:
    """By name and address; what merely looks like it is not."""
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "localhost.example", "")))
