"""A server on a port, with limits on what a connection may take, and `firth serve`."""

import contextlib
import ipaddress
import os
import re
import signal
import socket
import sys
from asyncio import BaseTransport, TimerHandle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from firth.run.console import say
from firth.run.errors import InputError, require

if TYPE_CHECKING:
    from starlette.types import ASGIApp
    from uvicorn import Server

LOOPBACK = "127.0.0.1"
TOKEN_VARIABLE = "FIRTH_TOKEN"
_SHORTEST_TOKEN = 16
_SWITCH = 0.0005
"""Seconds after which a computing thread lets others run. Python's 0.005 makes a search of many
small steps wait seconds while long work runs."""
_LATE, _FULL = (
    b"HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status
    for status in (b"408 Request Timeout", b"503 Service Unavailable")
)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of connections.

    Attributes:
        seconds: Time for a request to arrive, headers and body.
        answer_seconds: Time for the answer to be taken; a slower one is cut off.
        idle_seconds: Time between two requests of a connection.
        connections: Connections at a time; for one more, the oldest without a whole request is
            closed, so that a flood of idle ones keeps no client out.
        unsent: Bytes of answers that wait for their clients; beyond them, the one that waits
            longest is given up.
        stop_seconds: Time in which a server that stops finishes its requests.
    """

    seconds: float = 30.0
    answer_seconds: float = 30.0
    idle_seconds: int = 5
    connections: int = 500
    unsent: int = 256 << 20
    stop_seconds: int = 30


def make_server(app: "ASGIApp", limits: Limits | None = None) -> "Server":
    """Return a server of an application, ready to run."""
    require("uvicorn", "serve", "A server")
    import h11
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    bounds = limits or Limits()
    incomplete: dict[Any, None] = {}  # connections, the oldest first

    class Bounded(H11Protocol):
        """HTTP with deadlines: uvicorn waits without end for a request that has begun."""

        timer: TimerHandle | None = None
        waiting: tuple[bool, int] | None = None
        answered = 0
        begun = False

        def connection_made(self, transport: BaseTransport) -> None:
            super().connection_made(transport)  # type: ignore[arg-type]
            self.watch()
            if len(self.connections) > bounds.connections:
                next(iter(incomplete), self).give_up(_FULL)

        def data_received(self, data: bytes) -> None:
            self.begun = True
            super().data_received(data)
            self.watch()

        def on_response_complete(self) -> None:
            self.begun = False
            self.answered += 1
            super().on_response_complete()
            self.watch()
            held = {one: one.transport.get_write_buffer_size() for one in incomplete}
            if sum(held.values()) > bounds.unsent:
                next(one for one in held if held[one]).give_up()

        def connection_lost(self, exc: Exception | None) -> None:
            incomplete.pop(self, None)
            if self.timer is not None:
                self.timer.cancel()
            super().connection_lost(exc)

        def timeout_keep_alive_handler(self) -> None:
            if not self.transport.get_write_buffer_size():  # else the timer decides
                super().timeout_keep_alive_handler()

        def watch(self) -> None:
            """Start the deadline of a request, then of its answer; more bytes do not extend it."""
            whole = self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)
            works = whole and not (self.cycle and self.cycle.response_complete)
            if (works, self.answered) != self.waiting:
                if self.timer is not None:
                    self.timer.cancel()
                self.waiting = (works, self.answered)
                incomplete.pop(self, None)
                if not works:
                    incomplete[self] = None
                seconds = bounds.answer_seconds if works else bounds.seconds
                end = self.transport.abort if works else self.give_up
                self.timer = self.loop.call_later(seconds, end)

        def give_up(self, answer: bytes = _LATE) -> None:
            """Close a connection that waits for its client; answer a request that has begun."""
            incomplete.pop(self, None)
            self.connections.discard(self)
            if self.transport.get_write_buffer_size():
                self.transport.abort()
                return
            if self.begun and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                self.transport.write(answer)
            self.transport.close()

    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=Bounded,
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_keep_alive=bounds.idle_seconds,
            timeout_graceful_shutdown=bounds.stop_seconds,
        )
    )


def kind_of_host(host: str) -> Literal["local", "address", "name"]:
    """Return whether only this machine reaches a host, or else what it is."""
    try:
        is_local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        return "local" if host == "localhost" else "name"
    return "local" if is_local else "address"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket on which connections wait until a server takes them; port 0 is a free one."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise InputError(f"--host {host}: {error.strerror}. Expected 127.0.0.1") from error
    # Without the protocol, asyncio leaves Nagle's delay on: 40 ms an answer.
    listening = socket.socket(family, kind, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
    except OSError as error:
        listening.close()
        raise InputError(f"port {port} of {host}: {error.strerror}. Choose another: --port") from (
            error
        )
    listening.listen(128)
    return listening


def run_server(
    server: "Server", ready: Callable[[str], None], host: str = LOOPBACK, port: int = 0
) -> None:
    """Serve until interrupted or terminated; requests that have begun are finished.

    `ready` is called with the address, as soon as connections are accepted. Port 0 is a free one.
    """
    # SIGTERM is made the same as Ctrl+C, after which uvicorn finishes and raises the signal again.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    switched = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    try:
        with listen(host, port) as listening, contextlib.suppress(KeyboardInterrupt):
            name, number = listening.getsockname()[:2]
            ready(f"http://[{name}]:{number}/" if ":" in name else f"http://{name}:{number}/")
            server.run(sockets=[listening])
    finally:
        sys.setswitchinterval(switched)
        signal.signal(signal.SIGTERM, before)


def serve(
    run: Path,
    *,
    host: str = LOOPBACK,
    port: int = 8017,
    auth: bool = True,
    allowed: Sequence[str] = (),
) -> None:
    """Serve a run, which must not be built meanwhile, until interrupted.

    Other machines need the token of the variable FIRTH_TOKEN, unless `auth` is false. `allowed` are
    further names under which clients reach the service.
    """
    token, everywhere = read_token(), kind_of_host(host) != "local"
    if token is None and auth and everywhere:
        raise InputError(
            f"--host {host}: other machines reach it and {TOKEN_VARIABLE} has no token. Set one, "
            "or let everybody in: --no-auth"
        )
    require("starlette", "serve", "firth serve")
    from firth.model import load
    from firth.serve.app import Service
    from firth.serve.guard import LOCAL
    from firth.serve.worker import Load

    limits, model = Load(), load(run)
    model.explain("a", "b")
    model.search("a", top=1)
    known = {name.lower() for name in (*LOCAL, host, *allowed)}

    def is_ours(name: str) -> bool:
        # No foreign name can be pointed at this machine where it is called by its address.
        return name in known or (everywhere and kind_of_host(name) != "name")

    service = Service(model, limits, token, is_ours)
    bounds = Limits(answer_seconds=limits.long_seconds + limits.seconds)
    run_server(
        make_server(service.app(), bounds),
        lambda address: say(f"{run} is served at {address} (Ctrl+C stops it)"),
        host,
        port,
    )


def read_token() -> str | None:
    """Return the token of the variable FIRTH_TOKEN, or None."""
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        return None
    if len(token) < _SHORTEST_TOKEN or not re.fullmatch("[!-~]+", token):
        raise InputError(
            f"{TOKEN_VARIABLE} has {len(token)} characters; expected a token of "
            f"{_SHORTEST_TOKEN} ASCII characters or more, without blanks: openssl rand -hex 32"
        )
    return token
