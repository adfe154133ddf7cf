"""An application on a port, with bounds on what a connection may take."""

import contextlib
import ipaddress
import signal
import socket
import sys
from asyncio import BaseTransport, TimerHandle
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from firth.run.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from starlette.types import ASGIApp
    from uvicorn import Server

LOOPBACK = "127.0.0.1"
_SWITCH = 0.0005
"""Seconds after which a thread that computes lets others on. With Python's own 0.005, a search of
many small steps, each of which waits so long, took eight seconds beside long work."""
_LATE = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True)
class Limits:
    """What connections may take: seconds until a request has arrived, headers and body; seconds
    until its answer has been taken (what lasts longer is cut off); seconds of a connection between
    two requests; how many connections at once (further ones are closed at once); and seconds in
    which a server that is told to stop finishes what has begun.
    """

    seconds: float = 30.0
    answer_seconds: float = 30.0
    idle_seconds: int = 5
    connections: int = 200
    stop_seconds: int = 30


def make_server(app: "ASGIApp", limits: Limits | None = None) -> "Server":
    """A server of an application, ready to be run; raise `MissingExtraError` without the extra
    `serve`.
    """
    try:
        import h11
        import uvicorn
        from uvicorn.protocols.http.h11_impl import H11Protocol
    except ImportError as error:
        raise MissingExtraError("A server", "serve") from error
    bounds = limits or Limits()

    class Bounded(H11Protocol):
        """HTTP that ends: uvicorn itself waits for ever for a request that has begun."""

        timer: TimerHandle | None = None
        waiting: tuple[bool, int] | None = None
        answered = 0
        begun = False

        def connection_made(self, transport: BaseTransport) -> None:
            super().connection_made(transport)  # type: ignore[arg-type]
            if len(self.connections) > bounds.connections:
                self.transport.abort()
            else:
                self.watch()

        def data_received(self, data: bytes) -> None:
            self.begun = True
            super().data_received(data)
            self.watch()

        def on_response_complete(self) -> None:
            self.begun = False
            self.answered += 1
            super().on_response_complete()
            self.watch()

        def connection_lost(self, exc: Exception | None) -> None:
            if self.timer is not None:
                self.timer.cancel()
            super().connection_lost(exc)

        def timeout_keep_alive_handler(self) -> None:
            if not self.transport.get_write_buffer_size():  # else the timer decides
                super().timeout_keep_alive_handler()

        def watch(self) -> None:
            """Give a request its time, and then its answer; a byte more gives no more of it."""
            arrived = self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)
            if (arrived, self.answered) != self.waiting and not self.transport.is_closing():
                if self.timer is not None:
                    self.timer.cancel()
                self.waiting = (arrived, self.answered)
                given = bounds.answer_seconds if arrived else bounds.seconds
                end = self.transport.abort if arrived else self.give_up
                self.timer = self.loop.call_later(given, end)

        def give_up(self) -> None:
            """End a connection on which no whole request has come; say so where one has begun."""
            unanswered = self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE)
            if self.begun and unanswered and not self.transport.get_write_buffer_size():
                self.transport.write(_LATE)
                self.transport.close()
            else:
                self.transport.abort()

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


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host: `localhost`, 127.0.0.0/8, ::1."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """A socket on which connections wait until a server takes them; port 0 is any that is free.

    Raises:
        InputError: The port is taken, or the host is none of this machine.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise InputError(f"--host {host}: {error.strerror}. Expected 127.0.0.1") from error
    # Of a socket that is not said to be TCP's, asyncio leaves Nagle's delay on: 40 ms an answer.
    listening = socket.socket(family, kind, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
    except OSError as error:
        listening.close()
        raise InputError(
            f"port {port} of {host}: {error.strerror}. Take another with --port"
        ) from error
    listening.listen(128)
    return listening


def address_of(listening: socket.socket) -> str:
    """Where a socket is reached: `http://127.0.0.1:8017/`."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def run(
    server: "Server", ready: Callable[[str], None], host: str = LOOPBACK, port: int = 0
) -> None:
    """Serve until interrupted or terminated: what has begun is finished; errors as `listen`.

    Args:
        server: Of `make_server`.
        ready: Told the address.
        host: Of this machine.
        port: 0 is any that is free.
    """
    # Ctrl+C is how it ends, or SIGTERM, which is made the same: uvicorn answers what it was asked
    # and closes the connections first, then raises the signal again.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    switched = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    try:
        with listen(host, port) as listening, contextlib.suppress(KeyboardInterrupt):
            # Connections are taken from here on, and wait until the server is up.
            ready(address_of(listening))
            server.run(sockets=[listening])
    finally:
        sys.setswitchinterval(switched)
        signal.signal(signal.SIGTERM, before)
