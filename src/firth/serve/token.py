"""The token that clients send: from a file or the environment, never from a command line."""

import os
from pathlib import Path

from firth.run.errors import InputError

VARIABLE = "FIRTH_TOKEN"
_SHORTEST = 16


def read_token(file: Path | None) -> str | None:
    """The token in a file, or else in the environment (`FIRTH_TOKEN`); None if neither has one.

    Raises:
        InputError: The file cannot be read, or what is there is no token.
    """
    if file is not None:
        try:
            token, source = file.read_text(encoding="utf-8").strip(), str(file)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"--token-file {file}: cannot be read ({error})") from error
    else:
        token, source = os.environ.get(VARIABLE, "").strip(), VARIABLE
        if not token:
            return None
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"{source}: got {len(token)} characters; expected a token of {_SHORTEST} ASCII "
            "characters or more, without blanks, such as: openssl rand -hex 32"
        )
    return token
