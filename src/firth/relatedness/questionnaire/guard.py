"""What a request must look like before the questionnaire answers it, and headers of every answer.

The form has no passwords, so a page of another site must not be able to use it through the
annotator's browser. Requests must be addressed to this machine by name (else a foreign name could
be pointed at it: DNS rebinding), and forms must come from the questionnaire's own pages: browsers
say so in `Sec-Fetch-Site` and `Origin`, which pages cannot forge.
"""

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})
MOST_BYTES = 1 << 16
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
"""No-store: the browser's Back asks anew, and gets the question that is open."""


class Guard:
    """Refuses foreign requests, and adds the headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        refusal = _refusal(str(scope["method"]), Headers(scope=scope))
        if refusal is None:
            await self._app(scope, receive, send_with_headers)
        else:
            await refusal(scope, receive, send_with_headers)


def _refusal(method: str, headers: Headers) -> PlainTextResponse | None:
    host = headers.get("host", "")
    if urlsplit(f"//{host}").hostname not in LOCAL:
        return PlainTextResponse("Expected a request to this machine.", 421)
    if method in ("GET", "HEAD"):
        return None
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return PlainTextResponse("Expected a form of this questionnaire.", 403)
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host:
        return PlainTextResponse("Expected a form of this questionnaire.", 403)
    length = headers.get("content-length", "")
    if not length.isdigit() or int(length) > MOST_BYTES:
        return PlainTextResponse("Expected a short form.", 413)
    return None
