"""A run on a port of this machine."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from firth.run.errors import InputError, MissingExtraError
from firth.run.run import Run
from firth.serve.bounds import Load
from firth.web import server as web

if TYPE_CHECKING:
    from uvicorn import Server

PORT = 8017


def make_server(
    run: Run,
    *,
    load: Load | None = None,
    token: str | None = None,
    host: str = web.LOOPBACK,
    names: Collection[str] = (),
) -> "Server":
    """A server of a run, with its models opened, ready to be run.

    Args:
        run: Which is not built again meanwhile.
        load: What is done at once.
        token: Asked of whoever wants to know something of the run; None: of nobody.
        host: On which it will listen.
        names: Other names of hosts under which it is reached.

    Raises:
        MissingExtraError: Without the extra `serve`.
        MissingStageError: The run has no corpus.
    """
    try:
        from firth.serve.app import Service
        from firth.serve.opened import Opened
        from firth.web.guard import LOCAL, is_address
    except ImportError as error:
        raise MissingExtraError("A run as a service", "serve") from error
    load = load or Load()
    opened = Opened(run)
    opened.open_all()
    known = {*LOCAL, host, *names}
    everywhere = not web.is_loopback(host)

    def is_ours(name: str) -> bool:
        # No foreign name can be pointed at this machine where it is called by its address.
        return name in known or (everywhere and is_address(name))

    service = Service(opened, load, token, is_ours)
    limits = web.Limits(answer_seconds=load.long_seconds + load.seconds)
    return web.make_server(service.app(), limits)


def serve(
    run: Run,
    ready: Callable[[str], None],
    *,
    host: str = web.LOOPBACK,
    port: int = PORT,
    token: str | None = None,
    open_to_all: bool = False,
    names: Collection[str] = (),
) -> None:
    """Serve a run until interrupted or terminated; what has begun is finished.

    Args:
        run: Which is not built again meanwhile.
        ready: Told the address.
        host: Of this machine.
        port: 0 is any that is free.
        token: See `make_server`.
        open_to_all: Do without a token though other machines reach the host.
        names: See `make_server`.

    Raises:
        InputError: Other machines reach the host, and there is no token; or the port is taken.
        MissingExtraError, MissingStageError: As `make_server`.
    """
    if token is None and not open_to_all and not web.is_loopback(host):
        raise InputError(
            f"--host {host}: other machines reach it, and there is no token. Give one with "
            "--token-file, or let everybody in who reaches the port: --open"
        )
    server = make_server(run, token=token, host=host, names=names)
    web.run(server, ready, host, port)
