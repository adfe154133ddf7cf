"""The service as an ASGI application: requests are read, done in turn, and answered as JSON."""

import asyncio
import hmac
import json
import traceback
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from firth.run.errors import FirthError
from firth.run.screen import complain
from firth.serve.bounds import BODY, Load
from firth.serve.desk import Batcher, Desk
from firth.serve.endpoints import ASKED, Endpoint, Manner
from firth.serve.metrics import TYPE, Metrics
from firth.serve.openapi import description
from firth.serve.opened import Opened
from firth.serve.problems import Problem, internal, problem_of, refused, too_slow
from firth.web.guard import LOCAL, Guard

_STATIC = Path(__file__).parent / "static"
_KEPT = 8
"""Results of long work that are kept: a page that is opened again asks the same again."""
_TOLD = 5
"""Problems of a request that are told."""
_GUARDED = ("/api/", "/v1/", "/metrics")
"""What needs the token: all that tells something of the run."""

Handler = Callable[[Request], Awaitable[Response]]


class Service:
    """A run's service.

    Args:
        opened: The run.
        load: What is done at once.
        token: What `Authorization: Bearer` has to say; None: nobody is asked.
        is_ours: Whether a host, as a request names it, is this one.
    """

    def __init__(
        self,
        opened: Opened,
        load: Load | None = None,
        token: str | None = None,
        is_ours: Callable[[str], bool] = LOCAL.__contains__,
    ) -> None:
        self._opened, self._token, self._is_ours = opened, token, is_ours
        self.metrics = Metrics()
        self.desk = Desk(load or Load())
        self._batcher = Batcher(
            self.desk, lambda texts: opened.encoder.encode(texts), self.metrics.encoded
        )
        self._kept: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def app(self) -> Starlette:
        """The ASGI application."""
        asked = [Route(one.path, self._handler(one), methods=[one.method]) for one in ASKED]
        middleware = [
            Middleware(Guard, most_bytes=BODY, is_ours=self._is_ours, refused=_refuse),
        ]
        if self._token is not None:
            middleware.append(Middleware(_Token, token=self._token))
        return Starlette(
            routes=[
                *asked,
                Route("/metrics", self._metrics),
                Route("/openapi.json", self._describe),
                Route("/", _index),
                Mount("/static", StaticFiles(directory=_STATIC, check_dir=False)),
            ],
            middleware=middleware,
            exception_handlers={HTTPException: _http_problem},
        )

    def _handler(self, endpoint: Endpoint) -> Handler:
        async def handle(request: Request) -> Response:
            begun, status = perf_counter(), 500
            try:
                response = await self._answer(endpoint, request)
                status = response.status_code
            except Exception as error:  # noqa: BLE001
                told = _told(error)
                response, status = _failed(told), told.status
            finally:
                self.metrics.answered(endpoint.path, status, perf_counter() - begun)
            return response

        return handle

    async def _answer(self, endpoint: Endpoint, request: Request) -> Response:
        asked = await _read(endpoint, request)
        if endpoint.manner is Manner.AT_ONCE:
            return _json(endpoint.answer(self._opened, asked))
        if endpoint.manner is Manner.LONG:
            return await self._long(endpoint, asked)
        with self.desk.taken():
            async with asyncio.timeout(self.desk.load.seconds):
                if endpoint.manner is Manner.BATCHED:
                    vectors = await self._batcher.encode(asked.texts)  # type: ignore[attr-defined]
                    return _json(endpoint.answer(vectors, asked))
                answer = partial(endpoint.answer, self._opened, asked)
                return _json(await self.desk.ask(answer))

    async def _long(self, endpoint: Endpoint, asked: BaseModel) -> Response:
        key = endpoint.path, asked.model_dump_json()
        if key in self._kept:
            return _Lines(_one({"result": self._kept[key]}))
        lines = self.desk.tell(partial(endpoint.answer, self._opened, asked))
        # What cannot be done is known before the first line, and has a status of its own.
        first = await anext(lines)

        async def told() -> AsyncIterator[dict[str, Any]]:
            try:
                line = first
                while True:
                    if "result" in line:
                        self._keep(key, line["result"])
                    yield line
                    line = await anext(lines)
            except StopAsyncIteration:
                return
            except Exception as error:  # noqa: BLE001
                yield _told(error).as_dict()

        return _Lines(told())

    def _keep(self, key: tuple[str, str], result: Any) -> None:
        self._kept[key] = result
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    async def _describe(self, _: Request) -> Response:
        return _json(description(self._token is not None))

    async def _metrics(self, _: Request) -> Response:
        text = self.metrics.text(self.desk.under_way)
        return Response(text, headers={"content-type": TYPE})


class _Token:
    """Asks for the token where something of the run is told."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._wanted = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http" and str(scope["path"]).startswith(_GUARDED):
            given = Headers(scope=scope).get("authorization", "").encode()
            if not hmac.compare_digest(given, self._wanted):
                app = _failed(
                    Problem(
                        401,
                        "no_token",
                        "Expected the service's token.",
                        "Send it: Authorization: Bearer TOKEN",
                    )
                )
        await app(scope, receive, send)


class _Lines(StreamingResponse):
    """Values as lines of JSON, each as soon as it is known."""

    media_type = "application/x-ndjson"

    def __init__(self, values: AsyncIterator[dict[str, Any]]) -> None:
        super().__init__(_dumped(value) + b"\n" async for value in values)


async def _one(value: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    yield value


async def _read(endpoint: Endpoint, request: Request) -> BaseModel:
    """What is asked; raise `ValidationError` where it is something else."""
    if endpoint.method == "GET":
        return endpoint.takes.model_validate({**request.query_params, **request.path_params})
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        told = f"Got {kind!r:.100}; expected JSON."
        raise Problem(415, "no_json", told, "Content-Type: application/json")
    return endpoint.takes.model_validate_json(await request.body(), strict=True)


def _told(error: Exception) -> Problem:
    """The answer to what went wrong; what should not happen goes to the log instead."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, ValidationError):
        return _invalid(error)
    if isinstance(error, FirthError):
        return problem_of(error)
    if isinstance(error, TimeoutError):
        return too_slow()
    complain("".join(traceback.format_exception(error)).rstrip())
    return internal()


def _invalid(error: ValidationError) -> Problem:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    told = [": ".join(filter(None, (_place(one["loc"]), one["msg"]))) for one in problems[:_TOLD]]
    hint = "GET /openapi.json describes what can be asked"
    return Problem(422, "invalid", "; ".join(told), hint)


def _place(parts: tuple[int | str, ...]) -> str:
    """Where in a request, without the names that pydantic gives to alternatives of a type."""
    return ".".join(str(part) for part in parts if isinstance(part, int) or part.isidentifier())


def _json(value: object, status: int = 200) -> Response:
    return Response(_dumped(value), status, media_type="application/json")


def _dumped(value: object) -> bytes:
    # A text may hold half of a surrogate pair, which no UTF-8 has: as \u.... it travels.
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def _failed(problem: Problem) -> Response:
    response = _json(problem.as_dict(), problem.status)
    if problem.status == 429:
        response.headers["retry-after"] = "1"
    if problem.status == 401:
        response.headers["www-authenticate"] = "Bearer"
    return response


def _refuse(message: str, status: int) -> Response:
    return _failed(refused(message, status))


def _http_problem(_: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 500)
    response = _refuse(f"{getattr(error, 'detail', error)}.", status)
    response.headers.update(getattr(error, "headers", None) or {})
    return response


async def _index(_: Request) -> Response:
    return FileResponse(_STATIC / "index.html")
