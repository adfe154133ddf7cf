"""A server on a port, and `firth serve`: who may ask, and with which token."""

import asyncio
import contextlib
import ipaddress
import os
import re
import secrets
import signal
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from firth.run.console import say
from firth.run.errors import InputError, require

if TYPE_CHECKING:
    from starlette.types import ASGIApp

LOOPBACK = "127.0.0.1"
TOKEN_VARIABLE = "FIRTH_TOKEN"
_SHORTEST_TOKEN = 16
_FIRST_USER, _NOBODY = 1_000, 65_534
"""Numbers of people's accounts, from the first on and below the second."""
_CONNECTIONS, _HEADERS, _HEADER_SECONDS = 512, 1 << 14, 5
"""Connections at a time, bytes of headers, and seconds until they have arrived."""
_STOP_SECONDS = 30.0
"""Time in which a server that stops finishes its requests."""


def kind_of_host(host: str) -> Literal["local", "address", "name"]:
    """Return whether only this machine reaches a host, or else what it is."""
    try:
        is_local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        return "local" if host == "localhost" else "name"
    return "local" if is_local else "address"


def free_port(host: str, port: int) -> tuple[str, int]:
    """Return the address of a host and a port on which nobody listens; port 0 is any."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host, port))
            name, number = listening.getsockname()[:2]
    except OSError as error:
        problem = f"port {port} of {host}: {error.strerror}. Choose another: --host, --port"
        raise InputError(problem) from error
    return str(name), int(number)


async def serve_until_cancelled(
    app: "ASGIApp", ready: Callable[[str], None], host: str, port: int
) -> None:
    """Serve an application until this task is cancelled, as by SIGTERM; finish what has begun.

    `ready` is called with the URL as soon as connections are accepted.
    """
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.server.embed import Server

    name, port = free_port(host, port)
    with contextlib.suppress(RuntimeError):  # Windows has none, and threads get none.
        task: Any = asyncio.current_task()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    server: Any = Server(
        app,
        address=name,
        port=port,
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        websockets=False,
        backlog=1_024,
        backpressure=_CONNECTIONS,
        http1_settings=HTTP1Settings(
            header_read_timeout=1_000 * _HEADER_SECONDS, max_buffer_size=_HEADERS
        ),
        runtime_blocking_threads=1,
        log_enabled=False,
    )
    serving = asyncio.create_task(server.serve())
    try:
        while not serving.done():
            try:
                (await asyncio.open_connection(name, port))[1].close()
            except OSError:
                await asyncio.sleep(0.01)
                continue
            ready(f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/")
            break
        await asyncio.shield(serving)
    finally:
        server.stop()
        await asyncio.wait([serving], timeout=_STOP_SECONDS)


def run_server(
    app: "ASGIApp", ready: Callable[[str], None], host: str = LOOPBACK, port: int = 0
) -> None:
    """Serve an application until interrupted or terminated; as `serve_until_cancelled`."""
    require("granian", "serve", "A server")
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(serve_until_cancelled(app, ready, host, port))


def serve(
    run: Path,
    *,
    host: str = LOOPBACK,
    port: int = 8017,
    auth: bool = True,
    allowed: Sequence[str] = (),
    workers: int = 1,
    seconds: float = 5.0,
) -> None:
    """Serve a run until interrupted.

    Other machines need the token of the variable FIRTH_TOKEN, unless `auth` is false. Where other
    people use this machine, a token is made, and is part of the address that is printed.
    `allowed` are further names under which clients reach the service. So many `workers` answer
    quick requests, and as many slow ones, each within so many `seconds`.
    """
    token, everywhere = read_token(), kind_of_host(host) != "local"
    made = secrets.token_urlsafe() if token is None and auth and has_other_users() else ""
    if token is None and auth and everywhere:
        raise InputError(
            f"--host {host}: other machines reach it and {TOKEN_VARIABLE} has no token. Set one, "
            "or let everybody in: --no-auth"
        )
    require("starlette", "serve", "firth serve")
    from firth.run.run import Run
    from firth.serve.app import Service, limits_of
    from firth.serve.guard import LOCAL

    Run.open(run)
    free_port(host, port)
    names = {name.lower() for name in (*LOCAL, host, *allowed)}

    def is_ours(name: str) -> bool:
        # No foreign name can be pointed at this machine where it is called by its address.
        return name in names or (everywhere and kind_of_host(name) != "name")

    service = Service(
        run, limits_of(workers, seconds), is_ours=is_ours, token=token or made or None
    )
    key = f"#token={made}" if made else ""
    try:
        service.start()
        run_server(
            service.app(),
            lambda address: say(f"{run} is served at {address}{key} (Ctrl+C stops it)"),
            host,
            port,
        )
    finally:
        service.stop()


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
