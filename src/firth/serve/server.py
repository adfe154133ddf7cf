"""A server on a port, with limits on what a connection may take, and `firth serve`."""

import asyncio
import contextlib
import ipaddress
import logging
import math
import os
import re
import secrets
import signal
import socket
import sys
from asyncio import BaseProtocol, BaseTransport, TimerHandle
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from firth.run.console import say
from firth.run.errors import InputError, require
from firth.serve.turns import Seats, client_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp
    from uvicorn import Server

LOOPBACK = "127.0.0.1"
TOKEN_VARIABLE = "FIRTH_TOKEN"
_SHORTEST_TOKEN = 16
_FIRST_USER, _NOBODY = 1_000, 65_534
"""Numbers of people's accounts, from the first on and below the second."""
_SWITCH = 0.0005
"""Seconds after which a computing thread lets others run. Python's 0.005 makes a search of many
small steps wait seconds while long work runs."""
_LATE = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_BACKLOG = 1_024
"""Connections that the system keeps until they are accepted."""
_AT_ONCE = 64
"""Connections that are accepted before others are served."""


Leave = Callable[[], None]
"""What a connection calls at its end."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of connections.

    Attributes:
        seconds: Time for a request to arrive, headers and body.
        answer_seconds: Time for the answer to be taken; a slower one is cut off.
        idle_seconds: Time between two requests of a connection.
        connections: Connections at a time (`Seats`). As many more wait, unread; beyond that nothing
            is accepted until one ends, except that a client with too many of them loses the last.
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
    logging.getLogger("uvicorn.error").addFilter(Sparing())

    class Bounded(H11Protocol):
        """HTTP with deadlines: uvicorn waits without end for a request that has begun."""

        timer: TimerHandle | None = None
        waiting: tuple[bool, int] | None = None
        answered = 0
        begun = False

        def __init__(self, server: uvicorn.Server, leave: Leave) -> None:
            super().__init__(config, server.server_state, {})
            self.leave = leave

        def connection_made(self, transport: BaseTransport) -> None:
            super().connection_made(transport)  # type: ignore[arg-type]
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
            held = {one: one.transport.get_write_buffer_size() for one in incomplete}
            if sum(held.values()) > bounds.unsent:
                next(one for one in held if held[one]).give_up()

        def connection_lost(self, exc: Exception | None) -> None:
            incomplete.pop(self, None)
            if self.timer is not None:
                self.timer.cancel()
            self.leave()
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

        def give_up(self) -> None:
            """Close a connection that waits for its client; answer a request that has begun."""
            incomplete.pop(self, None)
            self.connections.discard(self)
            if self.transport.get_write_buffer_size():
                self.transport.abort()
                return
            if self.begun and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                self.transport.write(_LATE)
            self.transport.close()

    class Entered(uvicorn.Server):
        """A server whose connections come through the door."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup([])
            for listening in sockets or []:
                door.open(listening, partial(Bounded, self))

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            door.close()
            await super().shutdown(sockets)

    config = uvicorn.Config(
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
    door = Door(bounds.connections)
    return Entered(config)


class Door:
    """Accepts the connections of a socket, so many at a time, and of each client its share.

    A connection for which there is no seat waits outside, unread. Where as many wait as there are
    seats, no more are accepted.
    """

    def __init__(self, connections: int) -> None:
        self._inside, self._outside = Seats(connections), Seats(connections)
        self._waiting: deque[tuple[str, socket.socket]] = deque()
        self._listening: socket.socket | None = None
        self._is_accepting = False
        self._entering: set[asyncio.Task[Any]] = set()

    def open(self, listening: socket.socket, make: Callable[[Leave], BaseProtocol]) -> None:
        """Accept connections of a socket; `make` makes what serves each, and leaves at its end."""
        listening.setblocking(False)
        self._listening, self._make = listening, make
        self._loop = asyncio.get_running_loop()
        self._go_on()

    def close(self) -> None:
        """Accept no more, and close what waits outside."""
        self._pause()
        self._listening = None
        while self._waiting:
            self._waiting.popleft()[1].close()

    def _leave(self, client: str) -> None:
        """Give the seat of a connection to one that waits."""
        self._inside.leave(client)
        for client, connection in [*self._waiting]:
            if self._inside.is_full:
                break
            if self._inside.take(client):
                self._waiting.remove((client, connection))
                self._outside.leave(client)
                self._enter(client, connection)
        self._go_on()

    def _go_on(self) -> None:
        if self._listening is not None and not self._is_accepting and not self._outside.is_full:
            self._loop.add_reader(self._listening, self._accept)
            self._is_accepting = True

    def _pause(self) -> None:
        if self._listening is not None and self._is_accepting:
            self._loop.remove_reader(self._listening)
        self._is_accepting = False

    def _accept(self) -> None:
        assert self._listening is not None
        for _ in range(_AT_ONCE):
            if self._outside.is_full:
                self._pause()
                return
            try:
                connection, address = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # No file is free: the next one that ends frees one.
                self._pause()
                self._loop.call_later(1.0, self._go_on)
                return
            client = client_of(address[0])
            if self._inside.take(client):
                self._enter(client, connection)
            elif self._outside.take(client):
                self._waiting.append((client, connection))
            else:
                connection.close()

    def _enter(self, client: str, connection: socket.socket) -> None:
        connection.setblocking(False)
        make = partial(self._make, partial(self._leave, client))
        entering = self._loop.create_task(self._loop.connect_accepted_socket(make, connection))
        self._entering.add(entering)
        entering.add_done_callback(self._entering.discard)


class Sparing(logging.Filter):
    """Lets one message pass a minute, and says how many did not.

    A client can cause as many as it likes.
    """

    def __init__(self, seconds: float = 60.0) -> None:
        super().__init__()
        self._seconds, self._last, self._left_out = seconds, -math.inf, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a message is shown."""
        if record.levelno > logging.WARNING:
            return True
        if monotonic() - self._last < self._seconds:
            self._left_out += 1
            return False
        if self._left_out:
            record.msg = f"{record.getMessage()} {self._left_out} like it were not shown."
            record.args = None
        self._last, self._left_out = monotonic(), 0
        return True


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
    listening.listen(_BACKLOG)
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
    """Serve a run until interrupted.

    Other machines need the token of the variable FIRTH_TOKEN, unless `auth` is false. Where other
    people use this machine, a token is made, and is part of the address that is printed.
    `allowed` are further names under which clients reach the service.
    """
    token, everywhere = read_token(), kind_of_host(host) != "local"
    made = secrets.token_urlsafe() if token is None and auth and has_other_users() else ""
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

    service = Service(model, limits, token or made or None, is_ours)
    bounds = Limits(answer_seconds=limits.long_seconds + limits.seconds)
    key = f"#token={made}" if made else ""
    run_server(
        make_server(service.app(), bounds),
        lambda address: say(f"{run} is served at {address}{key} (Ctrl+C stops it)"),
        host,
        port,
    )


def has_other_users() -> bool:
    """Return whether people other than the one who runs this can log in to this machine."""
    try:
        import pwd
    except ImportError:  # as on Windows
        return False
    return any(
        entry.pw_uid != os.getuid()
        and _FIRST_USER <= entry.pw_uid < _NOBODY
        and Path(entry.pw_shell).name not in ("nologin", "false", "")
        for entry in pwd.getpwall()
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
