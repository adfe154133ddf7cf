"""Pages of the site that are made from code: commands, settings, the Python API.

A hook of mkdocs (`mkdocs.yml`): the pages are never written into the repository, so that they
cannot be out of date.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import griffe
import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import firth
from firth.cli.main import add_wings, app
from firth.run.settings import Section, Settings, wing_sections

ROOT = Path(__file__).parents[1]
_KINDS = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for name, made in PAGES.items():
        files.append(File.generated(config, name, content=made()))
    return files


class Examples(griffe.Extension):
    """Docstrings say `Example:`; the reader of docstrings calls that section `Examples:`."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the heading before the docstring is parsed."""
        if obj.docstring:
            obj.docstring.value = re.sub(r"(?m)^Example:$", "Examples:", obj.docstring.value)


def commands() -> str:
    """Return the page of all commands with their arguments and options."""
    lines = [
        "# Commands",
        "",
        "What `firth COMMAND --help` shows. `--set SECTION.NAME=VALUE` takes the "
        "[settings](settings.md).",
    ]
    add_wings()
    for path, command in _leaves(typer.main.get_command(app), ("firth",)):
        name = " ".join(path)
        lines += ["", f"## {name}", "", _one_line(command.help or "")]
        parameters = [one for one in command.params if one.name != "help"]
        if parameters:
            lines += ["", "| | default | |", "|---|---|---|"]
            lines += [_row(_names(one), _default(one), one.help or "") for one in parameters]
    return "\n".join(lines) + "\n"


def settings() -> str:
    """Return the page of all settings with type, default and meaning."""
    lines = [
        "# Settings",
        "",
        "The lines of a run's `settings.toml`. On the command line: `--set SECTION.NAME=VALUE`, "
        "such as `--set words.dimensions=100`.",
        "",
        "| | type | default | |",
        "|---|---|---|---|",
        *_settings(Settings, ""),
    ]
    wings = [(name, wing_sections()[name].load()) for name in sorted(wing_sections())]
    inner = [item for name, kind in wings for item in [(name, kind), *_sections(kind, f"{name}.")]]
    for name, section in [*_sections(Settings, ""), *inner]:
        lines += ["", f"## {name}", "", _one_line(section.__doc__ or ""), ""]
        if rows := list(_settings(section, f"{name}.")):
            lines += ["| | type | default | |", "|---|---|---|---|", *rows]
    return "\n".join(lines) + "\n"


def python() -> str:
    """Return the page of public names, from docstrings."""
    tree = ast.parse(Path(firth.__file__).read_text(encoding="utf-8"))
    homes = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("firth.")
        for alias in node.names
    }
    public = [name for name in firth.__all__ if name in homes]
    lines = [
        "# Python",
        "",
        "The public names of `import firth`. Each is imported when it is first used.",
    ]
    for name in sorted(public, key=lambda name: (name[0].isupper(), name)):
        lines += ["", f"::: {homes[name]}.{name}"]
    return "\n".join(lines) + "\n"


def _of_the_root(name: str) -> Callable[[], str]:
    """Return what makes a page from a file of the folder above, with its links adapted."""

    def made() -> str:
        return re.sub(r"\]\(docs/", "](", (ROOT / name).read_text(encoding="utf-8"))

    return made


def _leaves(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name in inner:
        yield from _leaves(inner[name], (*path, name))


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    kind = parameter.type_descriptor.annotation
    return f"{names} {_kind(kind)}" if isinstance(kind, type) and issubclass(kind, Enum) else names


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None or value is False or callable(value) or value in ((), []):
        return ""
    return f"`{_plain(value)}`"


def _sections(section: type[Section], prefix: str) -> Iterator[tuple[str, type[Section]]]:
    """Sections by dotted name, each before those within it."""
    for name, field in section.model_fields.items():
        if inner := _section(field.annotation):
            yield f"{prefix}{name}", inner
            yield from _sections(inner, f"{prefix}{name}.")


def _settings(section: type[Section], prefix: str) -> Iterator[str]:
    for name, field in section.model_fields.items():
        if not _section(field.annotation):
            default = field.get_default(call_default_factory=True, validated_data={})
            shown = "" if default is None else f"`{_plain(default)}`"
            yield _row(f"`{prefix}{name}`", _kind(field.annotation), shown, field.description or "")


def _section(kind: Any) -> type[Section] | None:
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None


def _kind(kind: Any) -> str:
    """A type in plain words."""
    if get_origin(kind) is Annotated:
        return _kind(get_args(kind)[0])
    if get_origin(kind) is tuple:
        return f"list of {_kind(get_args(kind)[0])}"
    if kind is type(None):
        return "none"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return " / ".join(f"`{one.value}`" for one in kind)
    if isinstance(kind, type) and not get_args(kind):
        return _KINDS.get(kind.__name__, kind.__name__)
    return " or ".join(_kind(one) for one in get_args(kind))


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Section):
        return value.model_dump_json()
    if isinstance(value, list | tuple):
        return json.dumps([_plain(one) for one in value])
    return json.dumps(value) if isinstance(value, bool) else value


def _row(*cells: str) -> str:
    return "| " + " | ".join(_one_line(cell).replace("|", "\\|") for cell in cells) + " |"


def _one_line(text: str) -> str:
    return " ".join(text.split())


PAGES: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands,
    "reference/settings.md": settings,
    "reference/python.md": python,
    "changelog.md": _of_the_root("CHANGELOG.md"),
    "contributing.md": _of_the_root("CONTRIBUTING.md"),
}
"""Name of a page among the docs → what makes it."""
