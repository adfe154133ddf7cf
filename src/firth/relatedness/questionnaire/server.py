"""The questionnaire on a port of this machine."""

import contextlib
import socket
from collections.abc import Callable

from firth.relatedness.questionnaire.store import Store
from firth.run.errors import InputError, MissingExtraError

HOST = "127.0.0.1"


def serve(store: Store, port: int, ready: Callable[[str], None]) -> None:
    """Serve the questionnaire on 127.0.0.1 until interrupted.

    Args:
        store: Where questions come from and answers go.
        port: 0 takes any that is free.
        ready: Told the address once it can be used.

    Raises:
        InputError: The port is taken.
        MissingExtraError: The extra `serve` is not installed.
    """
    try:
        import uvicorn

        from firth.relatedness.questionnaire.app import Pages
    except ImportError as error:
        raise MissingExtraError("A questionnaire in the browser", "serve") from error
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with listening:
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise InputError(f"port {port}: {error.strerror}. Take another with --port") from error
        # Connections are taken from here on, and wait until the server is up.
        listening.listen(128)
        ready(f"http://{HOST}:{listening.getsockname()[1]}/")
        config = uvicorn.Config(
            Pages(store).app(), log_level="warning", access_log=False, server_header=False
        )
        # Ctrl+C is how it ends: uvicorn closes the connections first, then raises it again.
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
