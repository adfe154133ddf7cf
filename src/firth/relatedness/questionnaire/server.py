"""The questionnaire on a port of this machine, with bounds on what a connection may take."""

import contextlib
import socket
from asyncio import BaseTransport, TimerHandle
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from firth.relatedness.questionnaire.store import Store
from firth.run.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from uvicorn import Server

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Limits:
    """What connections may take: seconds until a request has arrived, headers and body, and again
    until its answer has been taken (what lasts longer is cut off); seconds of a connection between
    two requests; and how many connections at once (further ones are closed at once).
    """

    seconds: float = 30.0
    idle_seconds: int = 5
    connections: int = 200


def make_server(store: Store, limits: Limits | None = None) -> "Server":
    """A server of the questionnaire, ready to be run; raise `MissingExtraError` without the extra
    `serve`.
    """
    try:
        import h11
        import uvicorn
        from uvicorn.protocols.http.h11_impl import H11Protocol

        from firth.relatedness.questionnaire.app import Pages
    except ImportError as error:
        raise MissingExtraError("A questionnaire in the browser", "serve") from error
    bounds = limits or Limits()

    class Bounded(H11Protocol):
        """HTTP that ends: uvicorn itself waits for ever for a request that has begun."""

        timer: TimerHandle | None = None
        waiting: tuple[bool, int] | None = None
        answered = 0

        def connection_made(self, transport: BaseTransport) -> None:
            super().connection_made(transport)  # type: ignore[arg-type]
            if len(self.connections) > bounds.connections:
                self.transport.abort()
            else:
                self.watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self.watch()

        def on_response_complete(self) -> None:
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
                self.timer = self.loop.call_later(bounds.seconds, self.transport.abort)

    return uvicorn.Server(
        uvicorn.Config(
            Pages(store).app(),
            http=Bounded,
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_keep_alive=bounds.idle_seconds,
        )
    )


def serve(
    store: Store, port: int, ready: Callable[[str], None], limits: Limits | None = None
) -> None:
    """Serve the questionnaire on 127.0.0.1 until interrupted; `ready` is told the address. Port 0
    is any that is free; raise `InputError` if it is taken, `MissingExtraError` as `make_server`.
    """
    server = make_server(store, limits)
    listening: Any = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with listening:
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise InputError(f"port {port}: {error.strerror}. Take another with --port") from error
        # Connections are taken from here on, and wait until the server is up.
        listening.listen(128)
        ready(f"http://{HOST}:{listening.getsockname()[1]}/")
        # Ctrl+C is how it ends: uvicorn closes the connections first, then raises it again.
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
