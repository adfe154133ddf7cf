"""The errors firth raises on purpose: each says what was got, what was expected, and what to do."""

from collections.abc import Sequence


class FirthError(Exception):
    """Base of every error a user can cause and mend; the command line prints it without a trace."""


class ConfigError(FirthError):
    """All problems of one configuration, collected before any work starts."""

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.source = source
        self.problems = tuple(problems)
        lines = "".join(f"\n  - {problem}" for problem in self.problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__(f"{source}: {count} in the configuration:{lines}")


class InputError(FirthError):
    """A file, record or argument that cannot be used."""


class MissingStageError(FirthError):
    """A stage of the run is needed and has not been built."""

    def __init__(self, run: str, stage: str, command: str) -> None:
        super().__init__(f"{run} has no {stage!r} yet. Build it first: {command}")

    def adding(self, more: str) -> "MissingStageError":
        """The same error, with something else to do."""
        self.args = (f"{self}. {more}",)
        return self


class DamagedError(FirthError):
    """An artefact that firth wrote is not as it was written."""


class MissingExtraError(FirthError):
    """An optional dependency is needed and not installed."""

    def __init__(self, what: str, extra: str) -> None:
        wanted = f"firth[{extra}]" if extra else "firth"
        super().__init__(f"{what} needs what is not installed: pip install '{wanted}'")


def first_line(error: Exception) -> str:
    """What a library's error says, in one line without its full stop; its kind where it is mute."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".:")
