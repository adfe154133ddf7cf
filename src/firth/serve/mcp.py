"""A run as tools of assistants, over the Model Context Protocol: `firth mcp`."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

from firth.model import Model, load
from firth.run.errors import FirthError, require
from firth.serve import endpoints
from firth.serve.guard import Problem

TOOLS = (endpoints.search, endpoints.differences, endpoints.match, endpoints.calibrate)
"""The endpoints that are tools; none of them changes anything."""


def serve_tools(run: Path) -> None:
    """Answer an assistant over standard input and output; parameters are those of the API."""
    require("mcp", "mcp", "firth mcp")
    from mcp.server import MCPServer
    from mcp.types import ToolAnnotations

    model = load(run, quiet=True)
    what = f"Sentences and documents of {model.path.resolve().name}, and how similar texts are."
    server = MCPServer("firth", instructions=what)
    for function in TOOLS:
        server.add_tool(_asking(function, model), annotations=ToolAnnotations(read_only_hint=True))
    server.run()


def _asking(function: Callable[..., Any], model: Model) -> Callable[..., Any]:
    """Return a function of an endpoint without its first parameter, the model."""

    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(function)
    def ask(**fields: Any) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = function(model, **fields)
        except (FirthError, Problem) as error:
            raise ToolError(str(error)) from error
        return answer

    _, *parameters = signature(function).parameters.values()
    named = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in parameters]
    ask.__signature__ = signature(function).replace(parameters=named)  # type: ignore[attr-defined]
    ask.__annotations__ = {parameter.name: parameter.annotation for parameter in named}
    return ask
