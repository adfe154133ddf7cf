"""The guard of every request: who may ask, from where, and how much may be sent."""

import asyncio
import hmac
import re
from collections import Counter
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from firth.serve.turns import client_of

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
_READ = frozenset({"GET", "HEAD"})
_PRIVATE = ("/api/", "/v1/", "/metrics")
"""Paths that show something of the run: they need the token."""
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?")
_GUESS_SECONDS, _GUESSES = 0.5, 8
"""Time that a wrong token takes, and how many of one client may wait for their refusal."""
_DRAINED = 16
"""A refused body is read up to this many times the limit, so that its sender gets the answer."""


class Guard:
    """Refuses foreign, unauthorized and overlong requests, and adds headers to every answer.

    A page of another site must not use the service through the browser of its user. The `Host`
    header must name this service (against DNS rebinding), and a request that a browser sends for
    another site's page is refused by its `Sec-Fetch-Site` and `Origin` headers.

    `is_ours` decides whether a host name without its port is this service. `token` is the expected
    `Authorization: Bearer` token. `refuse` makes the answer from a message and a status.
    """

    def __init__(
        self,
        app: ASGIApp,
        max_bytes: int,
        is_ours: Callable[[str], bool] = LOCAL.__contains__,
        token: str | None = None,
        refuse: Callable[[str, int], ASGIApp] = PlainTextResponse,
    ) -> None:
        self._app, self._max_bytes, self._is_ours = app, max_bytes, is_ours
        self._token = None if token is None else f"Bearer {token}".encode()
        self._refuse = refuse
        self._guesses: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; the application sees it when its whole body has arrived."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refusal = self._refusal(scope, headers := Headers(scope=scope))
        if refusal is not None and refusal[1] == 401 and "authorization" in headers:
            refusal = await self._slowed(refusal, scope)
        body, more = bytearray(), scope["method"] not in _READ
        while more and refusal is None:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._max_bytes:
                refusal = self._too_long()
        if refusal is not None:
            await self._answer_refusal(refusal, more, scope, receive, send_with_headers)
            return
        messages = iter([{"type": "http.request", "body": bytes(body), "more_body": False}])

        async def replay() -> Message:
            return next(messages, None) or await receive()

        await self._app(scope, replay, send_with_headers)

    async def _slowed(self, refusal: tuple[str, int], scope: Scope) -> tuple[str, int]:
        """Return the refusal of a wrong token late: a client makes one guess at a time."""
        client = client_of((scope.get("client") or [""])[0])
        if self._guesses[client] >= _GUESSES:
            return "Too many wrong tokens.", 429
        self._guesses[client] += 1
        try:
            await asyncio.sleep(self._guesses[client] * _GUESS_SECONDS)
        finally:
            self._guesses -= Counter([client])
        return refusal

    async def _answer_refusal(
        self, refusal: tuple[str, int], more: bool, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer, and read the rest of the body first: before that a sender reads no answer."""

        async def send_without_end(message: Message) -> None:
            ends = message["type"] == "http.response.body"
            await send({**message, "more_body": True} if ends else message)

        await self._refuse(*refusal)(scope, receive, send_without_end)
        left = _DRAINED * self._max_bytes
        while more and left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            more = message.get("more_body", False)
        await send({"type": "http.response.body"})

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[str, int] | None:
        """Return the message and status for a request that is refused, or None."""
        host, length = headers.get("host", ""), headers.get("content-length")
        match = _HOST.fullmatch(host)
        if match is None:
            return "The Host header is invalid; expected a host name.", 400
        if not self._is_ours(match[1].strip("[]").lower()):
            return f"The host {match[1]} is not this service; see --allowed-host.", 421
        if length is not None:
            if "transfer-encoding" in headers:
                return "The body has two lengths; expected one.", 400
            if not (length.isascii() and length.isdigit()):
                return "Content-Length is invalid; expected a number of bytes.", 400
            if int(length) > self._max_bytes:
                return self._too_long()
        if self._is_foreign(scope, headers, host):
            return "Pages of other sites may not use this service.", 403
        if self._token is not None and str(scope["path"]).startswith(_PRIVATE):
            given = headers.get("authorization", "").encode()
            if not hmac.compare_digest(given, self._token):
                return "The token is missing or wrong. Send Authorization: Bearer TOKEN.", 401
        return None

    def _is_foreign(self, scope: Scope, headers: Headers, host: str) -> bool:
        site = headers.get("sec-fetch-site", "same-origin")
        if scope["method"] in _READ and not str(scope["path"]).startswith(_PRIVATE):
            return False  # a link to the web app may be followed from anywhere
        origin = headers.get("origin")
        try:
            is_same = origin is None or urlsplit(origin).netloc == host
        except ValueError:
            is_same = False
        return not is_same or site not in ("same-origin", "none")

    def _too_long(self) -> tuple[str, int]:
        return f"The body is too long; expected {self._max_bytes:,} bytes at most.", 413
