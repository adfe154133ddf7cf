"""The service as an ASGI application: it has requests answered by workers, and sends JSON."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from pydantic.json_schema import models_json_schema
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

from firth import __version__
from firth.scorer.explanation import style
from firth.serve.endpoints import ENDPOINTS, Endpoint, Work
from firth.serve.guard import Guard, Problem, length_of, read_body
from firth.serve.workers import Limits, Workers, written

_STATIC = Path(__file__).parent / "static"
_JSON, _LINES = "application/json", "application/x-ndjson"
_SCHEMA = "#/components/schemas/{model}"
_QUICK_BODY = 512
"""Bytes of a body, beyond which an answer is not quick."""
_SEND_SECONDS = 30.0
"""Time in which a client takes a part of its answer."""


def limits_of(workers: int = 1, seconds: float = 5.0) -> dict[Work, Limits]:
    """Return the limits of the workers of each kind, for so many processes of each."""
    return {
        Work.QUICK: Limits(workers=workers, seconds=seconds),
        Work.SLOW: Limits(workers=workers, seconds=seconds, waiting=8, body=1 << 20, niceness=5),
        Work.LONG: Limits(seconds=1_800.0, waiting=1, body=8 << 20, niceness=10, is_kept=False),
    }


class Service:
    """The service of a run; clients must send the token, if there is one.

    `guard` has the arguments of `Guard`.
    """

    def __init__(self, run: Path, limits: dict[Work, Limits], **guard: Any) -> None:
        self._guard = guard
        self.workers = {work: Workers(run, limit) for work, limit in limits.items()}
        registry = self.registry = CollectorRegistry()
        labels = ["path", "status"]
        self.requests = Counter("firth_requests", "Answers.", labels, registry=registry)
        self.seconds = Histogram("firth_request_seconds", "Time.", ["path"], registry=registry)
        self.in_progress = Gauge("firth_requests_in_progress", "Requests.", registry=registry)
        ended = Gauge("firth_workers_ended", "Processes that were ended.", registry=registry)
        ended.set_function(lambda: sum(workers.ended for workers in self.workers.values()))

    def start(self) -> None:
        """Start the workers, and wait until those that stay have opened the model."""
        for workers in self.workers.values():
            workers.start()

    def stop(self) -> None:
        """End the workers."""
        for workers in self.workers.values():
            workers.stop()

    def app(self) -> Starlette:
        """Return the ASGI application."""
        fixed: dict[str, tuple[bytes | str, str]] = {
            "/": ((_STATIC / "index.html").read_bytes(), "text/html"),
            "/explanation.css": (style(), "text/css"),
            "/health": (written({"status": "ok"}), _JSON),
            "/openapi.json": (written(description(self._guard.get("token") is not None)), _JSON),
        }
        return Starlette(
            routes=[
                *(
                    Route(item.path, _Answering(self, item), methods=["POST"])
                    for item in ENDPOINTS.values()
                ),
                *(Route(path, partial(_fixed, *content)) for path, content in fixed.items()),
                Route("/metrics", self._show_metrics),
                Mount("/static", StaticFiles(directory=_STATIC)),
            ],
            middleware=[Middleware(Guard, **self._guard)],
            exception_handlers={HTTPException: _refuse},
        )

    async def _show_metrics(self, _: Request) -> Response:
        return Response(generate_latest(self.registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)


class _Answering:
    """An endpoint as an ASGI application."""

    def __init__(self, service: Service, endpoint: Endpoint) -> None:
        self._service, self._endpoint = service, endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and count it."""
        service, path, status = self._service, self._endpoint.path, 500
        with service.in_progress.track_inprogress(), service.seconds.labels(path).time():
            try:
                await self._answer(Request(scope, receive), send)
                status = 200
            except Problem as problem:
                status = problem.status
                raise
            finally:
                service.requests.labels(path, str(status)).inc()

    async def _answer(self, request: Request, send: Send) -> None:
        work, workers, length = self._endpoint.work, self._service.workers, length_of(request)
        most = workers[work].limits.body
        if work is Work.QUICK and (length is None or length > _QUICK_BODY):
            work = Work.SLOW
        with workers[work].seat(request.client.host if request.client else ""):
            _check_type(request)
            body = await read_body(request, most)
            await _unless_left(request, self._send(workers[work], body, send))

    async def _send(self, workers: Workers, body: bytes, send: Send) -> None:
        """Send the answer; give up a client that does not take it."""
        is_long = self._endpoint.work is Work.LONG
        parts = (workers.lines if is_long else workers.pieces)(self._endpoint, body)

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(_SEND_SECONDS):
                await send(message)

        async with aclosing(parts):
            first = await anext(parts)  # What cannot be done at all has its own status.

            async def all_parts() -> AsyncGenerator[bytes]:
                yield first
                async for part in parts:
                    yield part

            response = StreamingResponse(all_parts(), media_type=_LINES if is_long else _JSON)
            await response.stream_response(send_in_time)


# --- Requests and answers ----------------------------------------------------------------------


def _check_type(request: Request) -> None:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        message = f"The body has the type {kind!r:.100}; expected JSON."
        raise Problem(415, "no_json", message, "Content-Type: application/json")


async def _unless_left(request: Request, work: Coroutine[Any, Any, None]) -> None:
    """Do the work; end it when the client goes away."""

    async def leave() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        raise Problem(499, "left", "The client went away.")

    tasks = [asyncio.create_task(work), asyncio.create_task(leave())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        next(task for task in tasks if task.done()).result()
    finally:
        for task in tasks:
            task.cancel()


async def _refuse(_: Request, error: Exception) -> Response:
    hint = "GET /openapi.json describes requests"
    raise Problem(getattr(error, "status_code", 400), "refused", f"{error}.", hint)


async def _fixed(content: bytes | str, kind: str, _: Request) -> Response:
    return Response(content, media_type=kind)


# --- Description -------------------------------------------------------------------------------


def description(needs_token: bool) -> dict[str, Any]:
    """Return the description of the API in OpenAPI 3.1."""
    requests: Any = [(item.request, "validation") for item in ENDPOINTS.values()]
    schemas = models_json_schema(requests, ref_template=_SCHEMA)[1]["$defs"]
    words = {word: {"type": "string"} for word in ("code", "message", "hint")}
    problem = {"type": "object", "required": list(words), "properties": words}
    schemas["Error"] = {"type": "object", "required": ["error"], "properties": {"error": problem}}
    paths: dict[str, Any] = {}
    for name, item in ENDPOINTS.items():
        kind = _LINES if item.work is Work.LONG else _JSON
        summary = (item.answer.__doc__ or "").partition("\n")[0]
        paths[item.path] = {
            "post": {
                "operationId": name,
                "summary": summary,
                "requestBody": {"required": True, **_content(_JSON, name)},
                "responses": {
                    "200": {"description": summary, "content": {kind: {}}},
                    "default": {"description": "An error", **_content(_JSON, "Error")},
                },
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "firth", "version": __version__, "description": "A run as a service."},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}] if needs_token else [],
    }


def _content(kind: str, schema: str) -> dict[str, Any]:
    return {"content": {kind: {"schema": {"$ref": _SCHEMA.format(model=schema)}}}}
