"""The command `firth`: its groups, its plug-ins, and what happens when something fails."""

import os
import sys
import traceback
from importlib.metadata import entry_points
from io import TextIOWrapper
from typing import Any, NoReturn

import typer

from firth.cli import build, evaluate, query, search
from firth.run.console import complain, say
from firth.run.errors import FirthError, first_line
from firth.run.files import DISK_ERRORS

_INTERRUPTED = 130

app = typer.Typer(
    name="firth",
    help="Learn sentence similarity from your own documents, and see why two sentences match.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
_COMMANDS = {
    "Documents": (build.build, build.add, build.remove, build.status, build.verify),
    "Search and compare": (
        search.search, search.match, query.similarity, query.explain, query.differences,
        search.duplicates, search.compare_documents, build.serve, build.mcp, build.report,
    ),
    "Measure": (
        evaluate.evaluate, evaluate.compare_models, evaluate.falsemerge, search.calibrate,
    ),
}  # fmt: skip
"""Heading in the list of commands → the commands."""
for _heading, _commands in _COMMANDS.items():
    for _command in _commands:
        app.command(rich_help_panel=_heading)(_command)


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
) -> None:
    pass


def add_wings() -> None:
    """Add the commands of wings, which register in the entry-point group `firth.commands`."""
    for point in sorted(entry_points(group="firth.commands"), key=lambda point: point.name):
        try:
            app.add_typer(point.load(), name=point.name, rich_help_panel="Train and research")
        except (ImportError, AttributeError) as error:
            complain(f"firth: the commands {point.name} cannot be loaded: {first_line(error)}")


def main() -> None:
    """Run the command line; an error that a user can repair is one message and exit status 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal may have fewer characters than texts
            stream.reconfigure(errors="backslashreplace")
    if "--version" in sys.argv[1:2]:
        from firth import __version__

        say(f"firth {__version__}")
        return
    named = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    if named.replace("-", "_") not in {c.__name__ for group in _COMMANDS.values() for c in group}:
        add_wings()
    try:
        status = app(standalone_mode=False)
    except FirthError as error:
        complain(f"firth: {error}")
        sys.exit(1)
    except BrokenPipeError:
        # The reader of our output is gone; Python would complain once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _refused(error.filename, os.strerror(error.errno) if error.errno else str(error))
    except MemoryError:
        complain("firth: out of memory. Close other programs, or process less at a time")
        sys.exit(1)
    except (KeyboardInterrupt, typer.Abort):
        status = _INTERRUPTED
    except Exception as error:  # noqa: BLE001
        # Usage errors are click's in some versions of typer, and typer's copies of them in others.
        if hasattr(error, "format_message"):
            _explain_usage(error)
            sys.exit(getattr(error, "exit_code", 2))
        if any(sign in str(error) for sign in DISK_ERRORS):
            _refused(None, first_line(error))
        from firth.run.stage import damage_of_opened

        damage = damage_of_opened()
        complain(f"firth: {damage}" if damage else traceback.format_exc().rstrip())
        sys.exit(1)
    if status == _INTERRUPTED:
        complain("firth: interrupted; the same command continues where it stopped")
    if isinstance(status, int) and status:
        sys.exit(status)


def _refused(name: object, reason: str) -> NoReturn:
    """Report what the operating system refused, and exit."""
    complain(
        f"firth: {name or 'a file'}: cannot be read or written ({reason}). Check its permissions "
        "and the space on its disk, or name another path"
    )
    sys.exit(1)


def _explain_usage(error: Any) -> None:
    """Print a usage error, whose text may quote any characters."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    context = getattr(error, "ctx", None)
    if context is not None:
        complain(f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n")
    complain(f"Error: {error.format_message()}")
