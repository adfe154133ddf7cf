"""Everything printed: results, and messages; what came from a file cannot command a terminal."""

import re
import sys

_COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escaped(text: str) -> str:
    r"""`text` with characters that act on a terminal spelt out; line breaks and tabs stay.

    They are control characters, changes of writing direction, and halves of surrogate pairs.

    Example:
        >>> print(escaped("\x1b[2Jgone"))
        \x1b[2Jgone
    """
    return _COMMANDING.sub(lambda found: repr(found.group())[1:-1], text)


def plural(count: int, thing: str) -> str:
    """A count of things.

    Example:
        >>> plural(1, "document"), plural(2_000, "document")
        ('1 document', '2,000 documents')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def say(text: str = "") -> None:
    """Print a result, a line, on standard output."""
    sys.stdout.write(escaped(text) + "\n")
    sys.stdout.flush()


def say_styled(*spans: tuple[str, str]) -> None:
    """Print a result, a line of (text, style) in rich's words: `bold`, `dim`, `green`, `""`.

    Colour is seen in a terminal that has it and where NO_COLOR is not set; elsewhere, text.
    """
    if not sys.stdout.isatty():
        say("".join(text for text, _ in spans))
        return
    from rich.console import Console
    from rich.text import Text

    line = Text.assemble(*((escaped(text), style) for text, style in spans))
    Console(file=sys.stdout, highlight=False).print(line, soft_wrap=True)


def complain(text: str) -> None:
    """Print a message, a line, on standard error."""
    sys.stderr.write(escaped(text) + "\n")
    sys.stderr.flush()
