"""Everything printed: results, and messages; what came from a file cannot command a terminal."""

import re
import sys
import textwrap

WIDTH = 80
"""Columns that everything printed fits, whatever the terminal: what is written is equal to it."""
_HANG = "  "
_TOGETHER = re.compile(r"(?<=\d) (?=%)|(?<=,) (?=[^\[\]]{1,8}\])")
"""Spaces at which no line is broken: before a per cent sign, and within an interval."""
_RULE = re.compile(r"-{2,}(  -+)*")
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


def tell(text: str = "", style: str = "") -> None:
    """Print a result of several lines: those longer than `WIDTH` are wrapped, headings bold.

    Args:
        text: What continues a line of it stands further in, or as far in as an indented line.
        style: Of all lines, as for `say_styled`. A heading is what has a rule of dashes below.
    """
    lines = text.split("\n")
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        heading = line and _RULE.fullmatch(below)
        for part in wrapped(line).split("\n"):
            say_styled((part, "bold" if heading else style))


def wrapped(line: str, width: int = WIDTH) -> str:
    """A line in as many as it needs, broken between words; a longer word stands alone.

    Example:
        >>> print(wrapped("a: 60.1 [52.3, 66.8], b: 40.0 [31.5, 48.8]", 22))
        a: 60.1 [52.3, 66.8],
          b: 40.0
          [31.5, 48.8]
    """
    if len(line) <= width:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        _TOGETHER.sub("\u00a0", line.strip()),
        width,
        initial_indent=indent,
        subsequent_indent=indent or _HANG,
        break_long_words=False,
        break_on_hyphens=False,
    ).replace("\u00a0", " ")


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
