"""Settings as options: a class says once what a setting means and what it is by default."""

from collections.abc import Callable
from dataclasses import MISSING, fields
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer
from typer.models import OptionInfo

Command = Callable[..., None]


def options_of(settings: type[Any]) -> Callable[[Command], Command]:
    """Give a command an option for each documented field of a dataclass, after its own options.

    A field is documented as `Annotated[type, help]`, or `Annotated[type, help, {"min": 0}]` with
    more of `typer.Option`; or it is an option already, one of `firth.cli.options`. The command gets
    all of them as its keyword argument `settings`.
    """
    options = {}
    hints = get_type_hints(settings, include_extras=True)
    for field in fields(settings):
        if documented := getattr(hints[field.name], "__metadata__", ()):
            kind: Any = hints[field.name]
            if not isinstance(documented[0], OptionInfo):
                option = typer.Option(help=documented[0], **dict(*documented[1:]))
                kind = Annotated[kind.__origin__, option]
            default = Parameter.empty if field.default is MISSING else field.default
            options[field.name] = Parameter(
                field.name, Parameter.KEYWORD_ONLY, default=default, annotation=kind
            )

    def decorate(command: Command) -> Command:
        def run(**given: Any) -> None:
            chosen = {name: given.pop(name) for name in options}
            command(**given, settings=settings(**chosen))

        own = [one for one in signature(command).parameters.values() if one.name != "settings"]
        own = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own]
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__annotations__ = {one.name: one.annotation for one in [*own, *options.values()]}
        run.__signature__ = Signature([*own, *options.values()])  # type: ignore[attr-defined]
        return run

    return decorate
