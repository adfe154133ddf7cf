"""The errors that firth raises on purpose: each says what happened, what was expected, what to do.

The command line prints them without a traceback.
"""

import json
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType

from firth.run.console import plural


class FirthError(Exception):
    """The base of all errors that a user can cause and repair."""


class InputError(FirthError):
    """A file, record or argument cannot be used."""


class ConfigError(FirthError):
    """The settings have problems; all are collected before any work starts."""

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.source = source
        self.problems = tuple(problems)
        lines = "".join(f"\n  - {problem}" for problem in self.problems)
        super().__init__(
            f"{source}: {plural(len(self.problems), 'problem')} in the settings:{lines}"
        )


class ChangedError(InputError):
    """Another process changed the run while it was read. The same call may succeed."""


class TooLittleTextError(InputError):
    """A corpus is too small to learn something from it."""


class MissingStageError(FirthError):
    """A stage of the run is needed and has not been built."""

    def __init__(self, run: str, stage: str, command: str) -> None:
        super().__init__(f"{run} has no {stage!r} yet. Build it first: {command}")


class DamagedError(FirthError):
    """A file that firth wrote is not as it was written."""


class MissingExtraError(FirthError):
    """An optional library is needed and not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs a library that is not installed: {install_command(extra)}")


def install_command(extra: str) -> str:
    """Return the command that installs an extra, from where firth was installed.

    That is a folder for a checkout, whose extras no package index has. Where `pip` is that of
    another environment, this one's Python calls its own.
    """
    import shutil
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    is_own = Path(shutil.which("pip") or "").parent == Path(sys.executable).parent
    pip = "pip install" if is_own else f"{shlex.quote(sys.executable)} -m pip install"
    with suppress(PackageNotFoundError, ValueError):
        record = json.loads(distribution("firth").read_text("direct_url.json") or "{}")
        place = urlsplit(url := str(record.get("url", "")))
        if place.scheme == "file" and (folder := unquote(place.path)).endswith(".whl"):
            return f"{pip} {shlex.quote(f'firth[{extra}] @ {url}')}"
        if place.scheme == "file":
            edits = "-e " if record.get("dir_info", {}).get("editable") else ""
            return f"{pip} {edits}{shlex.quote(f'{folder}[{extra}]')}"
    return f"{pip} 'firth[{extra}]'"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message without its full stop, or the error's class."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".:")


def require(module: str, extra: str, what: str) -> ModuleType:
    """Import an optional library, which an extra of firth installs and `what` needs."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # The library is there and lacks one that it needs itself.
        raise MissingExtraError(what, extra) from None
