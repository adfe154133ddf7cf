"""The service as an ASGI application: it reads requests, has them answered, and sends JSON."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from pydantic_core import PydanticSerializationError, from_json, to_json
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from firth import __version__
from firth.model import Model
from firth.scorer.render import style
from firth.serve import schemas
from firth.serve.endpoints import ENDPOINTS, Endpoint, Manner
from firth.serve.guard import LOCAL, Guard
from firth.serve.schemas import MAX_BODY, MAX_NUMBERS, MOST_AT_ONCE
from firth.serve.turns import client_of
from firth.serve.worker import Load, Problem, Worker, problem_of

_STATIC = Path(__file__).parent / "static"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_CODES = {
    400: "bad_request", 401: "no_token", 403: "foreign", 404: "not_found",
    405: "method_not_allowed", 413: "too_large", 421: "foreign", 429: "too_many_requests",
}  # fmt: skip
_MOST_FIELDS, _LARGE = 32, 1 << 16
"""Fields of a body, and bytes from which on it takes long to read."""
_LONG = 32
"""Items of a list, beyond which it is written item by item."""
T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]


class Service:
    """The service of a model; clients must send the token, if there is one.

    `is_ours` decides whether a host name is this service.
    """

    def __init__(
        self,
        model: Model,
        load: Load | None = None,
        token: str | None = None,
        is_ours: Callable[[str], bool] = LOCAL.__contains__,
    ) -> None:
        self._model, self._token, self._is_ours = model, token, is_ours
        self._size = 0, 0  # documents and sentences, as of the last answer
        self.metrics = Metrics()
        self.worker = Worker(load or Load(), model.path, self.metrics.add_batch)

    def app(self) -> Starlette:
        """Return the ASGI application."""
        guard = Middleware(
            Guard, max_bytes=MAX_BODY, is_ours=self._is_ours, token=self._token, refuse=_refusal
        )
        return Starlette(
            routes=[
                *(Route(one.path, self._handler(one), methods=[one.method]) for one in ENDPOINTS),
                Route("/metrics", self._show_metrics),
                Route("/openapi.json", self._describe),
                Route("/", _index),
                Route("/explanation.css", _style),
                Mount("/static", StaticFiles(directory=_STATIC, check_dir=False)),
            ],
            middleware=[guard],
            exception_handlers={HTTPException: _http_problem},
        )

    def _handler(self, endpoint: Endpoint) -> Handler:
        async def handle(request: Request) -> Response:
            began, status = perf_counter(), 500
            try:
                response = await self._answer(endpoint, request)
                status = response.status_code
            except Exception as error:  # noqa: BLE001
                problem = problem_of(error)
                response, status = _failed(problem), problem.status
            finally:
                self.metrics.add(endpoint.path, status, perf_counter() - began)
            return response

        return handle

    async def _answer(self, endpoint: Endpoint, request: Request) -> Response:
        client = client_of(request.client.host if request.client else "")
        asked = await self._read(endpoint, request, client)
        if endpoint.manner is Manner.AT_ONCE:
            return _json(endpoint.answer(self._model, asked))
        if endpoint.manner is Manner.LONG:
            lines = self.worker.ask_long(endpoint.answer, asked)
            # What cannot be done at all has its own status.
            first = await _unless_left(request, anext(lines))
            return StreamingResponse(_lines(first, lines), media_type="application/x-ndjson")
        with self.worker.counted():
            async with asyncio.timeout(self.worker.load.seconds):
                return await _unless_left(request, self._work(endpoint, asked, client))

    async def _read(self, endpoint: Endpoint, request: Request, client: str) -> schemas.Request:
        """Return the request's fields; errors as of `_parsed`. The client's turn comes first where
        there is much to read."""
        if endpoint.method == "GET":
            return endpoint.request.model_validate({**request.query_params, **request.path_params})
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            message = f"The body has the type {kind!r:.100}; expected JSON."
            raise Problem(415, "no_json", message, "Content-Type: application/json")
        content = await request.body()
        if len(content) < _LARGE:
            return _parsed(endpoint, content)
        return await self.worker.write(client, lambda: _parsed(endpoint, content))

    async def _work(self, endpoint: Endpoint, asked: Any, client: str) -> Response:
        """Return the answer; the thread of the worker makes it, and none on the event loop."""
        ask, write = partial(self.worker.ask, client), partial(self.worker.write, client)
        if endpoint.manner is Manner.BATCHED:
            encoder = await ask(lambda: self._model.encoder)
            numbers = len(asked.texts) * encoder.dimensions
            if numbers > MAX_NUMBERS:
                message = f"The answer has {numbers:,} numbers; expected {MAX_NUMBERS:,} at most."
                raise Problem(422, "invalid", message, "Send fewer texts at a time.")
            vectors = await self.worker.encode(client, encoder, asked.texts)
            return await write(lambda: _json(endpoint.answer(vectors, asked)))
        if asked.cost(*self._size) > MOST_AT_ONCE:
            result = await self.worker.ask_heavy(client, endpoint.answer, asked)
            return await write(lambda: _json(result))
        return await ask(lambda: self._answered(endpoint, asked))

    def _answered(self, endpoint: Endpoint, asked: Any) -> Response:
        corpus = self._model.ask(lambda opened: opened.corpus)
        self._size = corpus.n_documents, len(corpus)
        return _json(endpoint.answer(self._model, asked))

    async def _show_metrics(self, _: Request) -> Response:
        text = "".join(f"{line}\n" for line in self.metrics.lines(self.worker.in_progress))
        return Response(text, media_type="text/plain; version=0.0.4")

    async def _describe(self, _: Request) -> Response:
        return Response(_description(self._token is not None), media_type="application/json")


# --- Requests and answers ----------------------------------------------------------------------


def _parsed(endpoint: Endpoint, content: bytes) -> schemas.Request:
    """Return the fields of a body; raise `ValidationError` or `Problem` where they are invalid."""
    try:
        body = from_json(content, allow_inf_nan=False)
    except ValueError as error:
        raise Problem(422, "invalid", f"The body is no JSON: {error}.") from None
    if isinstance(body, dict) and len(body) > _MOST_FIELDS:  # Each would be a problem to name.
        raise Problem(422, "invalid", f"The body has {len(body):,} fields; expected a few.")
    return endpoint.request.model_validate(body, strict=True)


async def _unless_left(request: Request, work: Awaitable[T]) -> T:
    """Return what the work returns; end it, as a deadline does, when the client goes away."""

    async def left() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    tasks = asyncio.ensure_future(work), asyncio.ensure_future(left())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not tasks[0].done():
            raise Problem(499, "left", "The client went away.")
        return tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()


async def _lines(
    first: dict[str, Any], rest: AsyncIterator[dict[str, Any]]
) -> AsyncIterator[bytes]:
    """Yield lines of JSON; an error becomes the last line."""
    try:
        yield _written(first) + b"\n"
        async for line in rest:
            yield _written(line) + b"\n"
    except Exception as error:  # noqa: BLE001
        yield _written(problem_of(error).as_dict()) + b"\n"


def _json(value: object, status: int = 200) -> Response:
    return Response(_written(value), status, media_type="application/json")


def _written(value: object) -> bytes:
    """Return JSON, an item of a long list at a time: other threads wait while one is written."""
    if isinstance(value, dict):
        fields = (_dumped(str(name)) + b":" + _written(inner) for name, inner in value.items())
        return b"{" + b",".join(fields) + b"}"
    if isinstance(value, list) and len(value) > _LONG:
        return b"[" + b",".join(map(_dumped, value)) + b"]"
    return _dumped(value)


def _dumped(value: object) -> bytes:
    try:
        return to_json(value, inf_nan_mode="null")
    except PydanticSerializationError:
        # A text may have half of a surrogate pair, which UTF-8 lacks: it is sent as an escape.
        written = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return written.encode("utf-8", "backslashreplace")


def _failed(problem: Problem) -> Response:
    response = _json(problem.as_dict(), problem.status)
    if problem.status in (429, 503):
        response.headers["retry-after"] = "1"
    if problem.status == 401:
        response.headers["www-authenticate"] = "Bearer"
    return response


def _refusal(message: str, status: int) -> Response:
    return _failed(Problem(status, _CODES.get(status, "refused"), message))


def _http_problem(_: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 500)
    response = _refusal(f"{getattr(error, 'detail', error)}.", status)
    response.headers.update(getattr(error, "headers", None) or {})
    return response


async def _index(_: Request) -> Response:
    return FileResponse(_STATIC / "index.html")


async def _style(_: Request) -> Response:
    return Response(style(), media_type="text/css")


# --- Metrics and description -------------------------------------------------------------------


class Metrics:
    """Counts of answers in Prometheus' text format."""

    def __init__(self) -> None:
        self._answers: Counter[tuple[str, int]] = Counter()
        self._buckets: dict[str, Counter[float]] = {}
        self._seconds: Counter[str] = Counter()
        self._batches = self._texts = 0

    def add(self, path: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._answers[path, status] += 1
        self._seconds[path] += seconds  # type: ignore[assignment]
        self._buckets.setdefault(path, Counter()).update(b for b in _SECONDS if seconds <= b)

    def add_batch(self, texts: int) -> None:
        """Count a batch of texts."""
        self._batches, self._texts = self._batches + 1, self._texts + texts

    def lines(self, in_progress: int) -> Iterator[str]:
        """Yield all counts."""
        yield "# TYPE firth_requests_total counter"
        for (path, status), count in sorted(self._answers.items()):
            yield f'firth_requests_total{{path="{path}",status="{status}"}} {count}'
        name = "firth_request_seconds"
        yield f"# TYPE {name} histogram"
        for path, buckets in sorted(self._buckets.items()):
            count = sum(n for (of, _), n in self._answers.items() if of == path)
            for most in _SECONDS:
                yield f'{name}_bucket{{path="{path}",le="{most:g}"}} {buckets[most]}'
            yield f'{name}_bucket{{path="{path}",le="+Inf"}} {count}'
            yield f'{name}_sum{{path="{path}"}} {self._seconds[path]:.6f}'
            yield f'{name}_count{{path="{path}"}} {count}'
        for name, value in (
            ("firth_requests_in_progress", in_progress),
            ("firth_batches_total", self._batches),
            ("firth_encoded_texts_total", self._texts),
        ):
            yield f"# TYPE {name} {'gauge' if name.endswith('progress') else 'counter'}"
            yield f"{name} {value}"


def description(needs_token: bool) -> dict[str, Any]:
    """Return the description of the API in OpenAPI 3.1."""
    paths: dict[str, Any] = {}
    schemas_of_parts: dict[str, Any] = {}
    for one in ENDPOINTS:
        schema = one.request.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas_of_parts |= schema.pop("$defs", {})
        operation: dict[str, Any] = {
            "summary": one.summary,
            "description": (one.answer.__doc__ or one.summary).strip(),
            "operationId": one.answer.__name__,
            "responses": _responses(one),
        }
        if one.path == "/health":
            operation["security"] = []
        if one.method == "POST":
            body = {"application/json": {"schema": schema}}
            operation["requestBody"] = {"required": True, "content": body}
        elif schema.get("properties"):
            operation["parameters"] = [
                {
                    "name": name,
                    "in": "path" if f"{{{name}" in one.path else "query",
                    "required": name in schema.get("required", ()),
                    "schema": {k: v for k, v in known.items() if k != "title"},
                }
                for name, known in schema["properties"].items()
            ]
        path = one.path.replace(":path}", "}")
        paths.setdefault(path, {})[one.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "firth", "version": __version__, "description": "A run as a service."},
        "paths": paths,
        "components": {
            "schemas": schemas_of_parts,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}] if needs_token else [],
    }


@cache
def _description(needs_token: bool) -> bytes:
    return _written(description(needs_token))


def _responses(one: Endpoint) -> dict[str, Any]:
    error = {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message", "hint"],
                "properties": {name: {"type": "string"} for name in ("code", "message", "hint")},
            }
        },
    }
    kind = "application/x-ndjson" if one.manner is Manner.LONG else "application/json"
    statuses = [400, 401, 403, 404, 409, 421, 422, 429, 500, 503, 504]
    if one.method == "POST":
        statuses += [413, 415]
    failures = {
        str(status): {"description": "An error", "content": {"application/json": {"schema": error}}}
        for status in sorted(statuses)
    }
    return {
        "200": {"description": one.summary, "content": {kind: {"schema": {"type": "object"}}}},
        **failures,
    }
