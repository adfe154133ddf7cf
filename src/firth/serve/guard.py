"""The guard of every request: who may ask, from where, and how much may be sent."""

import asyncio
import hmac
import json
import re
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self'; "
        "style-src-attr 'unsafe-inline'; img-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_READ_SECONDS = 10.0
"""Time for a body to arrive."""
_PRIVATE = ("/api/", "/v1/", "/metrics")
"""Paths that show something of the run: they need the token."""
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?")


class Problem(Exception):  # noqa: N818
    """An error that a client receives: status of HTTP, a word for programs, and for people what
    happened, what was expected, and what to do.
    """

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(status, code, message, hint)
        self.status, self.code, self.message, self.hint = status, code, message, hint

    def __str__(self) -> str:
        return self.message

    def as_json(self) -> bytes:
        """Return the body of the answer; half of a surrogate pair is an escape."""
        error = {"code": self.code, "message": self.message, "hint": self.hint}
        return json.dumps({"error": error}).encode()


class Guard:
    """Refuses foreign and unauthorized requests, and adds headers to every answer.

    A page of another site must not use the service through the browser of its user. The `Host`
    header must name this service (against DNS rebinding), and a request that a browser sends for
    another site's page is refused by its `Sec-Fetch-Site` and `Origin` headers.

    `is_ours` decides whether a host name without its port is this service. `token` is the expected
    `Authorization: Bearer` token.
    """

    def __init__(
        self,
        app: ASGIApp,
        is_ours: Callable[[str], bool] = LOCAL.__contains__,
        token: str | None = None,
    ) -> None:
        self._app, self._is_ours = app, is_ours
        self._token = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; a `Problem` that the application raises is answered, too."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            if scope["type"] == "http":
                self._check(scope, Headers(scope=scope))
            await self._app(scope, receive, send_with_headers)
        except Problem as problem:
            headers = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": "1"}}
            extra = headers.get(problem.status)
            answer = Response(problem.as_json(), problem.status, extra, "application/json")
            await answer(scope, receive, send_with_headers)

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Raise a `Problem` for a request that is refused."""
        host = headers.get("host", "")
        match = _HOST.fullmatch(host)
        if match is None:
            raise Problem(400, "bad_request", "The Host header is invalid; expected a host name.")
        if not self._is_ours(match[1].strip("[]").lower()):
            message = f"The host {match[1]} is not this service; see --allowed-host."
            raise Problem(421, "foreign", message)
        origin = headers.get("origin", f"//{host}").partition("//")[2]
        is_ours = origin == host and headers.get("sec-fetch-site") in (None, "none", "same-origin")
        is_private = str(scope["path"]).startswith(_PRIVATE)
        # A link to the web app may be followed from anywhere.
        if (is_private or scope["method"] not in ("GET", "HEAD")) and not is_ours:
            raise Problem(403, "foreign", "Pages of other sites may not use this service.")
        authorization = headers.get("authorization", "").encode()
        if is_private and self._token and not hmac.compare_digest(authorization, self._token):
            message = "The token is missing or wrong."
            raise Problem(401, "no_token", message, "Send Authorization: Bearer TOKEN.")


async def read_body(request: Request, most: int) -> bytes:
    """Return the body of a request; raise a `Problem` where it is too long, slow, or ends early."""
    too_long = Problem(413, "too_large", f"The body is too long; expected {most:,} bytes at most.")
    if (length_of(request) or 0) > most:
        raise too_long
    body = bytearray()
    try:
        async with asyncio.timeout(_READ_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > most:
                    raise too_long
    except TimeoutError:
        raise Problem(408, "slow", f"The body took more than {_READ_SECONDS:g} s.") from None
    except ClientDisconnect:
        raise Problem(499, "left", "The client went away.") from None
    return bytes(body)


def length_of(request: Request) -> int | None:
    """Return the bytes that a body is said to have, or None."""
    length = request.headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else None
