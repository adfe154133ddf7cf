"""The questionnaire on a port of this machine."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from firth.relatedness.questionnaire.store import Store
from firth.run.errors import MissingExtraError
from firth.web import server as web
from firth.web.server import Limits

if TYPE_CHECKING:
    from uvicorn import Server


def make_server(store: Store, limits: Limits | None = None) -> "Server":
    """A server of the questionnaire, ready to be run; raise `MissingExtraError` without the extra
    `serve`.
    """
    try:
        from firth.relatedness.questionnaire.app import Pages
    except ImportError as error:
        raise MissingExtraError("A questionnaire in the browser", "serve") from error
    return web.make_server(Pages(store).app(), limits)


def serve(
    store: Store, port: int, ready: Callable[[str], None], limits: Limits | None = None
) -> None:
    """Serve the questionnaire on 127.0.0.1 until interrupted; `ready` is told the address. Port 0
    is any that is free; raise `InputError` if it is taken, `MissingExtraError` as `make_server`.
    """
    web.run(make_server(store, limits), ready, port=port)
