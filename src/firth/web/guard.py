"""Who is answered: requests to this machine by name, from its own pages, of a bounded length."""

import ipaddress
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})
_READ = frozenset({"GET", "HEAD"})
_THROWN_AWAY = 16
"""Times the bytes of a body: read of one that is refused, and not kept."""
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self'; "
        "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
"""Of every answer. No-store: the browser's Back asks anew."""


class Guard:
    """Refuses foreign and overlong requests, and adds headers to every answer.

    A page of another site must not be able to use a server through the browser of who runs it.
    Requests must be addressed to this machine by a name of its own (else a foreign name could be
    pointed at it: DNS rebinding), and what is sent must come from the server's own pages: browsers
    say so in `Sec-Fetch-Site` and `Origin`, which pages cannot forge.

    Args:
        app: What is guarded.
        most_bytes: Of a body; of a longer one some more is read and not kept, so that its sender
            gets to read the answer.
        is_ours: Whether a host is this server, by its name without a port.
        headers: Of every answer.
        refused: Makes the answer to what is not served, of a text and a status.
    """

    def __init__(
        self,
        app: ASGIApp,
        most_bytes: int,
        is_ours: Callable[[str], bool] = LOCAL.__contains__,
        headers: Mapping[str, str] = HEADERS,
        refused: Callable[[str, int], ASGIApp] = PlainTextResponse,
    ) -> None:
        self._app, self._most_bytes, self._is_ours = app, most_bytes, is_ours
        self._headers, self._refused = headers, refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; the application sees it when all of its body is there."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        refusal = self._refusal(str(scope["method"]), Headers(scope=scope))
        body, more = bytearray(), scope["method"] not in _READ
        while more and refusal is None:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._most_bytes:
                refusal = self._too_long()
        if refusal is not None:
            await self._refuse(refusal, more, scope, receive, send_with_headers)
            return
        messages = iter([{"type": "http.request", "body": bytes(body), "more_body": False}])

        async def replay() -> Message:
            return next(messages, None) or await receive()

        await self._app(scope, replay, send_with_headers)

    async def _refuse(
        self, refusal: tuple[str, int], more: bool, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer; and as the end of the answer may close the connection, on which whoever is still
        sending would read nothing any more, let that arrive before.
        """

        async def send_without_end(message: Message) -> None:
            ends = message["type"] == "http.response.body"
            await send({**message, "more_body": True} if ends else message)

        await self._refused(*refusal)(scope, receive, send_without_end)
        left = _THROWN_AWAY * self._most_bytes
        while more and left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            more = message.get("more_body", False)
        await send({"type": "http.response.body"})

    def _refusal(self, method: str, headers: Headers) -> tuple[str, int] | None:
        """What to answer to a request that is not served: text and status."""
        host, length = headers.get("host", ""), headers.get("content-length")
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:  # as of `[`, which begins an address and does not end it
            return "Expected the name of a host.", 400
        if name is None or not self._is_ours(name):
            return "Expected a request to this machine.", 421
        if length is not None:
            if "transfer-encoding" in headers:
                return "Expected one length of the body, not two.", 400
            if not (length.isascii() and length.isdigit()):
                return "Expected a length in bytes.", 400
            if int(length) > self._most_bytes:
                return self._too_long()
        if method in _READ:
            return None
        origin = headers.get("origin")
        try:
            own = origin is None or urlsplit(origin).netloc == host
        except ValueError:
            own = False
        site = headers.get("sec-fetch-site", "same-origin")
        if own and site in ("same-origin", "none"):
            return None
        return "Expected what this server's own pages, or programs, send.", 403

    def _too_long(self) -> tuple[str, int]:
        return f"Expected at most {self._most_bytes:,} bytes.", 413


def is_address(host: str) -> bool:
    """Whether a host is an address: no foreign name can be pointed at one."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
