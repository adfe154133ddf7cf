"""The description of the service in OpenAPI 3.1, made of what its requests are checked with."""

from functools import cache
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from firth import __version__
from firth.serve import schemas
from firth.serve.endpoints import ASKED, Endpoint, Manner

_SCHEMA = "#/components/schemas/"
_FAILURES = {
    400: "The request cannot be read",
    401: "The token is missing or wrong",
    403: "The request comes from another site's page",
    404: "There is none of that name",
    409: "The run lacks what this needs; the hint says what to build",
    413: "The body is too long",
    415: "The body is no JSON",
    421: "The request names another host",
    422: "The request asks for something that is not possible",
    429: "Too many requests are under way",
    500: "The service failed",
    504: "The answer took too long",
}
_Mode = Literal["validation", "serialization"]


@cache
def description(asks_token: bool) -> dict[str, Any]:
    """The description, as plain values.

    Args:
        asks_token: What tells something of the run needs a token.
    """
    models: list[tuple[type[BaseModel], _Mode]] = [
        (schemas.ProgressLine, "serialization"),
        (schemas.Failure, "serialization"),
    ]
    for one in ASKED:
        models.append((one.gives, "serialization"))
        if one.method == "POST":
            models.append((one.takes, "validation"))
    named, defined = models_json_schema(
        [*dict.fromkeys(models)], ref_template=f"{_SCHEMA}{{model}}"
    )
    paths: dict[str, Any] = {}
    for one in ASKED:
        path = one.path.replace(":path}", "}")
        paths.setdefault(path, {})[one.method.lower()] = _operation(one, named)
    paths["/metrics"] = {
        "get": {
            "summary": "Counts, in Prometheus' text format",
            "operationId": "metrics",
            "responses": {
                "200": {
                    "description": "Counts",
                    "content": {"text/plain": {"schema": {"type": "string"}}},
                },
                **_failures(401, 421),
            },
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "firth",
            "version": __version__,
            "description": "Similarity, search and reasons over a run (firth serve).",
        },
        "paths": paths,
        "components": {
            "schemas": defined["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}] if asks_token else [],
    }


def _operation(one: Endpoint, named: dict[Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "summary": one.told,
        "operationId": one.path.strip("/").replace("/", "_").partition("_{")[0],
    }
    statuses = [400, 401, 403, 404, 409, 421, 422, 429, 500, 504]
    if one.path == "/health":
        found["security"] = []
    if one.method == "POST":
        body = named[one.takes, "validation"]
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
        statuses += [413, 415]
    elif parameters := _parameters(one):
        found["parameters"] = parameters
    gives = named[one.gives, "serialization"]
    if one.manner is Manner.LONG:
        lines = [
            named[schemas.ProgressLine, "serialization"],
            {"type": "object", "required": ["result"], "properties": {"result": gives}},
            named[schemas.Failure, "serialization"],
        ]
        told = "Lines of JSON: progress, at last the result, or an error"
        content = {"application/x-ndjson": {"schema": {"oneOf": lines}}}
    else:
        told, content = one.gives.__doc__ or one.told, {"application/json": {"schema": gives}}
    found["responses"] = {
        "200": {"description": told, "content": content},
        **_failures(*sorted(statuses)),
    }
    return found


def _parameters(one: Endpoint) -> list[dict[str, Any]]:
    schema = one.takes.model_json_schema(ref_template=f"{_SCHEMA}{{model}}")
    return [
        {
            "name": name,
            "in": "path" if f"{{{name}" in one.path else "query",
            "required": name in schema.get("required", ()),
            "schema": {key: value for key, value in known.items() if key != "title"},
        }
        for name, known in schema.get("properties", {}).items()
    ]


def _failures(*statuses: int) -> dict[str, Any]:
    schema = {"$ref": f"{_SCHEMA}{schemas.Failure.__name__}"}
    content = {"application/json": {"schema": schema}}
    return {
        str(status): {"description": _FAILURES[status], "content": content} for status in statuses
    }
