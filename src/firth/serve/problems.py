"""What a service answers where it cannot do what was asked: a code, a sentence, what to do."""

import re

from firth.run.errors import (
    ConfigError,
    DamagedError,
    FirthError,
    InputError,
    MissingExtraError,
    MissingStageError,
)


class Problem(Exception):  # noqa: N818
    """An error that is answered.

    Args:
        status: Of HTTP.
        code: For programs.
        message: What was got, what was expected.
        hint: What to do, or "".
    """

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.hint = status, code, message, hint

    def as_dict(self) -> dict[str, dict[str, str]]:
        """The body of the answer."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}


def internal() -> Problem:
    """Of what should not happen; nothing of it goes out."""
    log = "What happened stands in the service's log."
    return Problem(500, "internal", "The service failed at this.", log)


def too_many(what: str = "Too many requests are") -> Problem:
    """Of what there is no room for now."""
    return Problem(429, "too_many_requests", f"{what} under way.", "Ask again in a moment.")


def too_slow() -> Problem:
    """Of what was given up."""
    return Problem(
        504, "timeout", "The answer took too long and was given up.", "Ask for less at a time."
    )


_STATUS: dict[type[FirthError], tuple[int, str]] = {
    InputError: (422, "invalid"),
    ConfigError: (422, "invalid"),
    MissingStageError: (409, "missing"),
    DamagedError: (409, "damaged"),
    MissingExtraError: (409, "missing"),
}
_CODES = {
    400: "bad_request",
    401: "no_token",
    403: "foreign",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    421: "foreign",
}


def problem_of(error: FirthError) -> Problem:
    """The answer to an error that a user can mend."""
    status, code = _STATUS.get(type(error), (422, "invalid"))
    # An option of the command line is a name of the request's here.
    message, _, hint = re.sub(r"^--([a-z-]+)", r"\1", str(error)).partition(". ")
    return Problem(status, code, message, hint)


def refused(message: str, status: int) -> Problem:
    """The answer to what is not served."""
    return Problem(status, _CODES.get(status, "refused"), message)
