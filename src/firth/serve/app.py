"""The service as an ASGI application: it has requests answered by workers, and sends JSON."""

import asyncio
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from firth import __version__
from firth.scorer.explanation import style
from firth.serve.endpoints import ENCODER, ENDPOINTS, Endpoint, Work
from firth.serve.guard import Guard, Problem, client_of, length_of, read_body
from firth.serve.workers import Limits, Workers, written

_STATIC = Path(__file__).parent / "static"
_MODEL = {"id": ENCODER, "object": "model", "created": 0, "owned_by": "firth"}
_QUICK_BODY = 1 << 10
"""Bytes of a body, beyond which an answer is not quick."""
_PIECE, _SEND_SECONDS = 1 << 14, 30.0
"""Bytes that are sent at a time, and time in which a client takes its answer."""
_CODES = {404: "not_found", 405: "method_not_allowed"}


def limits_of(workers: int = 1, seconds: float = 5.0) -> dict[Work, Limits]:
    """Return the limits of the workers of each kind, for so many processes of each."""
    return {
        Work.QUICK: Limits(workers=workers, seconds=seconds),
        Work.SLOW: Limits(workers=workers, seconds=seconds, waiting=8, niceness=5),
        Work.LONG: Limits(seconds=1_800.0, waiting=1, niceness=10, is_kept=False),
    }


class Service:
    """The service of a run; clients must send the token, if there is one.

    `guard` has the arguments of `Guard`.
    """

    def __init__(self, run: Path, limits: dict[Work, Limits] | None = None, **guard: Any) -> None:
        self._guard = guard
        self.workers = {
            work: Workers(run, limit) for work, limit in (limits or limits_of()).items()
        }
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
        return Starlette(
            routes=[
                *(
                    Route(item.path, _Answering(self, item), methods=[item.method])
                    for item in ENDPOINTS.values()
                ),
                Route("/health", partial(_fixed, {"status": "ok"})),
                Route("/v1/models", partial(_fixed, {"object": "list", "data": [_MODEL]})),
                Route("/metrics", self._show_metrics),
                Route("/openapi.json", self._describe),
                Route("/", _index),
                Route("/explanation.css", _style),
                Mount("/static", StaticFiles(directory=_STATIC, check_dir=False)),
            ],
            middleware=[Middleware(Guard, refuse=_refusal, **self._guard)],
            exception_handlers={HTTPException: _http_problem},
        )

    async def _show_metrics(self, _: Request) -> Response:
        return Response(generate_latest(self.registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)

    async def _describe(self, _: Request) -> Response:
        return Response(self._description, media_type="application/json")

    @cached_property
    def _description(self) -> bytes:
        return written(description(self._guard.get("token") is not None))


class _Answering:
    """An endpoint as an ASGI application."""

    def __init__(self, service: Service, endpoint: Endpoint) -> None:
        self._service, self._endpoint = service, endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and count it."""
        began, service = perf_counter(), self._service
        request, status = Request(scope, receive), 500

        async def send_and_note(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        with service.in_progress.track_inprogress():
            try:
                await self._answer(request, send_and_note)
            except Problem as problem:
                status = problem.status
                raise
            finally:
                path = self._endpoint.path
                service.requests.labels(path, str(status)).inc()
                service.seconds.labels(path).observe(perf_counter() - began)

    async def _answer(self, request: Request, send: Send) -> None:
        endpoint = self._endpoint
        length, work = length_of(request), endpoint.work
        is_short = endpoint.method == "GET" or (length is not None and length <= _QUICK_BODY)
        if work is Work.QUICK and not is_short:
            work = Work.SLOW
        workers, body = self._service.workers[work], b""
        with workers.seat(client_of(request.client.host if request.client else "")):
            if endpoint.method == "POST":
                _check_type(request)
                body = await read_body(request, endpoint.most)
            answer = partial(self._long if work is Work.LONG else self._whole, workers, body)
            await _unless_left(request, answer(request, send))

    async def _whole(self, workers: Workers, body: bytes, request: Request, send: Send) -> None:
        given = {**request.query_params, **request.path_params}
        status, content = await workers.answer(self._endpoint, body, given)

        async def pieces() -> Any:
            for start in range(0, len(content), _PIECE):
                yield content[start : start + _PIECE]

        headers = {"content-length": str(len(content)), **_headers(status)}
        response = StreamingResponse(pieces(), status, headers, "application/json")
        async with asyncio.timeout(_SEND_SECONDS):
            await response.stream_response(send)

    async def _long(self, workers: Workers, body: bytes, _: Request, send: Send) -> None:
        lines = workers.lines(self._endpoint, body)
        try:
            first = await anext(lines)  # What cannot be done at all has its own status.

            async def all_lines() -> Any:
                yield first
                async for line in lines:
                    yield line

            response = StreamingResponse(all_lines(), media_type="application/x-ndjson")
            await response.stream_response(send)
        finally:
            await lines.aclose()  # type: ignore[attr-defined]


# --- Requests and answers ----------------------------------------------------------------------


def _check_type(request: Request) -> None:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        message = f"The body has the type {kind!r:.100}; expected JSON."
        raise Problem(415, "no_json", message, "Content-Type: application/json")


async def _unless_left(request: Request, work: Any) -> None:
    """Do the work; end it when the client goes away."""

    async def left() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    tasks = [asyncio.ensure_future(work), asyncio.ensure_future(left())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not tasks[0].done():
            raise Problem(499, "left", "The client went away.")
        tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()


def _headers(status: int) -> dict[str, str]:
    if status == 503:
        return {"retry-after": "1"}
    return {"www-authenticate": "Bearer"} if status == 401 else {}


def _refusal(problem: Problem) -> Response:
    content, status = written(problem.as_dict()), problem.status
    return Response(content, status, _headers(status), "application/json")


def _http_problem(_: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 500)
    response = _refusal(
        Problem(status, _CODES.get(status, "refused"), f"{getattr(error, 'detail', error)}.")
    )
    response.headers.update(getattr(error, "headers", None) or {})
    return response


async def _fixed(content: object, _: Request) -> Response:
    return Response(written(content), media_type="application/json")


async def _index(_: Request) -> Response:
    return FileResponse(_STATIC / "index.html")


async def _style(_: Request) -> Response:
    return Response(style(), media_type="text/css")


# --- Description -------------------------------------------------------------------------------


def description(needs_token: bool) -> dict[str, Any]:
    """Return the description of the API in OpenAPI 3.1."""
    paths: dict[str, Any] = {"/health": {"get": {"security": [], **_described("Whether it runs.")}}}
    paths["/v1/models"] = {"get": _described("The models that give embeddings.")}
    parts: dict[str, Any] = {}
    for name, item in ENDPOINTS.items():
        schema = item.request.model_json_schema(ref_template="#/components/schemas/{model}")
        parts |= schema.pop("$defs", {})
        kind = "application/x-ndjson" if item.work is Work.LONG else "application/json"
        summary = (item.answer.__doc__ or "").strip().partition("\n")[0]
        operation = {"operationId": name, **_described(summary, kind)}
        if item.method == "POST":
            body = {"application/json": {"schema": schema}}
            operation["requestBody"] = {"required": True, "content": body}
        else:
            operation["parameters"] = [
                {
                    "name": field,
                    "in": "path" if f"{{{field}" in item.path else "query",
                    "required": field in schema.get("required", ()),
                    "schema": parameter,
                }
                for field, parameter in schema.get("properties", {}).items()
            ]
        paths[item.path.replace(":path}", "}")] = {item.method.lower(): operation}
    words = {word: {"type": "string"} for word in ("code", "message", "hint")}
    problem = {"type": "object", "required": list(words), "properties": words}
    parts["Error"] = {"type": "object", "required": ["error"], "properties": {"error": problem}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "firth", "version": __version__, "description": "A run as a service."},
        "paths": paths,
        "components": {
            "schemas": parts,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}] if needs_token else [],
    }


def _described(summary: str, kind: str = "application/json") -> dict[str, Any]:
    """Return a summary and the answers of an operation; any other status has an error."""
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    answer = {"description": summary, "content": {kind: {"schema": {"type": "object"}}}}
    default = {"description": "An error", "content": error}
    return {"summary": summary, "responses": {"200": answer, "default": default}}
