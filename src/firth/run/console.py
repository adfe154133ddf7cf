"""The console: results on standard output, messages and progress on standard error, tables.

Everything printed is escaped: text from a file cannot command a terminal. The service listens to
progress instead, and cancels work through it (`listening`).
"""

import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import zip_longest
from time import monotonic
from typing import Any, Self, TextIO, TypeVar

WIDTH = 80
"""Columns that everything printed fits, whatever the terminal, so that output is reproducible."""
SECONDS_BETWEEN_LINES = 15.0
"""In a log, where no bar can move."""
_COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_TOGETHER = re.compile(r"(?<=\d) (?=%)|(?<=,) (?=[^\[\]]{1,8}\])")
"""Spaces at which no line is broken: before a per cent sign, and within an interval."""
T = TypeVar("T")
Row = Sequence[str]
Listener = Callable[[str, float, float | None], None]
"""Called with the title of some work, how much is done, and of how much, if that is known."""

_quiet = False
_display: Any = None
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


# --- Text --------------------------------------------------------------------------------------


def escaped(text: str) -> str:
    r"""Return `text` with characters that act on a terminal spelled out; tabs and newlines stay.

    They are control characters, changes of writing direction, and halves of surrogate pairs.

    Example:
        >>> print(escaped("\x1b[2Jgone"))
        \x1b[2Jgone
    """
    return _COMMANDING.sub(lambda match: repr(match.group())[1:-1], text)


def plural(count: int, thing: str) -> str:
    """Return a count of things.

    Example:
        >>> plural(1, "document"), plural(2_000, "document")
        ('1 document', '2,000 documents')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def wrapped(text: str) -> str:
    """Return `text` with lines longer than 80 columns broken between words.

    A line that goes on is indented by two spaces, or as far as an indented line. A longer word is
    not broken.
    """
    return "\n".join(map(_wrapped, text.split("\n")))


def _wrapped(line: str) -> str:
    if len(line) <= WIDTH:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        _TOGETHER.sub("\u00a0", line.strip()),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent or "  ",
        break_long_words=False,
        break_on_hyphens=False,
    ).replace("\u00a0", " ")


def say(text: str) -> None:
    """Print a result on standard output, and end the line."""
    _write(sys.stdout, escaped(text))


def note(text: str) -> None:
    """Print a message on standard error, above a bar if one is shown; not when quiet."""
    if _quiet:
        return
    if _display is not None:
        _display.console.print(escaped(text), markup=False, highlight=False, soft_wrap=True)
    else:
        complain(text)


def complain(text: str) -> None:
    """Print a message, such as an error, on standard error, also when quiet."""
    _write(sys.stderr, escaped(text))


def _write(stream: TextIO | None, line: str) -> None:
    if stream is None:  # The process was started without it.
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()


def set_quiet(quiet: bool) -> None:
    """Switch progress and notes of this process off or on."""
    global _quiet
    _quiet = quiet


@contextmanager
def silenced() -> Iterator[None]:
    """Show no progress and no notes inside the block."""
    before = _quiet
    set_quiet(True)
    try:
        yield
    finally:
        set_quiet(before)


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Keep warnings, logs and bars of transformers and its relatives off the screen."""
    import logging
    import warnings

    names = ("transformers", "sentence_transformers", "datasets", "accelerate", "torch")
    levels = {name: logging.getLogger(name).level for name in names}
    bars: Any = getattr(getattr(sys.modules.get("transformers"), "utils", None), "logging", None)
    for name in names:
        logging.getLogger(name).setLevel(logging.ERROR)
    if bars is not None:
        bars.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
        if bars is not None:
            bars.enable_progress_bar()


# --- Progress ----------------------------------------------------------------------------------


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Report the progress inside the block, in this thread, to `listener` instead of showing it.

    An error that `listener` raises ends the work.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class Progress:
    """A block of work whose steps are shown: `with Progress(10, "Words") as bar: bar.advance()`.

    A terminal shows a bar, a log a line now and then. The total is None where it is unknown.
    """

    def __init__(self, total: float | None, title: str) -> None:
        self._total, self._title = total, title
        self._done, self._status = 0.0, ""
        self._task: Any = None
        self._listener: Listener | None = None
        self._is_outermost = self._is_logged = False

    def __enter__(self) -> Self:
        global _display
        self._listener = _listener.get()
        self._start = self._logged_at = monotonic()
        if self._listener is not None:
            self._listener(self._title, 0.0, self._total)
        elif not _quiet and sys.stderr is not None and sys.stderr.isatty():
            if _display is None:
                self._is_outermost, _display = True, _new_display()
                _display.start()
            self._task = _display.add_task(escaped(self._title), total=self._total, status="")
        else:
            self._is_logged = not _quiet
        return self

    def advance(self, steps: float = 1, status: str = "") -> None:
        """Count `steps` as done, and show `status` after them."""
        self._done += steps
        self._status = status or self._status
        if self._listener is not None:
            self._listener(self._title, self._done, self._total)
        elif self._task is not None:
            _display.update(self._task, advance=steps, status=escaped(self._status))
        elif self._is_logged and (now := monotonic()) - self._logged_at >= SECONDS_BETWEEN_LINES:
            self._logged_at = now
            of = f" of {self._total:,.0f} ({self._done / self._total:.0%})" if self._total else ""
            status = f", {self._status}" if self._status else ""
            seconds = f"{now - self._start:.0f} s"
            complain(f"{self._title}: {self._done:,.0f}{of}, {seconds}{status}")

    def __exit__(self, *error: object) -> None:
        global _display
        if self._is_outermost:
            _display.stop()
            _display = None
        elif self._task is not None:
            _display.remove_task(self._task)


def progress(items: Iterable[T], title: str, total: float | None = None) -> Iterator[T]:
    """Yield items and show their progress; items without a length may have a total."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    with Progress(total, title) as bar:
        for item in items:
            yield item
            bar.advance()


def _new_display() -> Any:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<28}", markup=False),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[status]}", markup=False),
    )
    return Progress(*columns, console=Console(stderr=True), refresh_per_second=4)


# --- Tables ------------------------------------------------------------------------------------

_GAP = "  "
_LONGEST = 36
"""Columns of a word that is not broken."""
_SPACE_TO_KEEP = re.compile(r"^ +| (?=[^\[\]]*\])")
_FIGURE = re.compile(r"[-+\u2212\u2013±<]?[\d\[]|[-\u2013]?$")


def table(rows: Sequence[Row]) -> str:
    r"""Return columns under a heading and a rule, at most 80 wide, figures to the right.

    The rows are the heading, and others of as many cells. Columns that are too wide are
    wrapped between words and before an interval in brackets, never within one, or at a no-break
    space. Columns that still do not fit follow in a second table with the same first column.

    Example:
        >>> print(table([["model", "lee"], ["baseline:dice", "60.1 [52.3, 66.8]"]]))
        model                        lee
        -------------  -----------------
        baseline:dice  60.1 [52.3, 66.8]
    """
    cells = [
        [_SPACE_TO_KEEP.sub(lambda match: "\u00a0" * len(match[0]), cell) for cell in row]
        for row in rows
    ]
    columns = list(zip(*cells, strict=True))
    least = [max(min(len(word), _LONGEST) for c in column for word in c.split(" "))
             for column in columns]  # fmt: skip
    panels: list[list[int]] = [[]]
    for place in range(len(columns)):
        places = [*panels[-1], place]
        if len(places) > 2 and _total(least[i] for i in places) > WIDTH:
            panels.append(places := [0, place])
        panels[-1] = places
    return "\n\n".join(_panel(cells, columns, least, panel) for panel in panels)


def _total(widths: Iterable[int]) -> int:
    """Return the width of a line with columns of these widths."""
    return sum(width + len(_GAP) for width in widths) - len(_GAP)


def _panel(
    rows: Sequence[Row], columns: Sequence[Row], least: Sequence[int], places: Sequence[int]
) -> str:
    """Return a table of some columns; the widest are narrowed until it fits, or none can be."""
    widths = {i: max(map(len, columns[i])) for i in places}
    while _total(widths.values()) > WIDTH:
        room = [i for i in places if widths[i] > least[i]]
        if not room:
            break
        widths[max(room, key=widths.__getitem__)] -= 1
    figures = {i for i in places[1:] if all(map(_FIGURE.match, columns[i][1:]))}
    lines = []
    for number, row in enumerate(rows):
        cells = [textwrap.wrap(row[i], widths[i], break_on_hyphens=False) for i in places]
        for parts in zip_longest(*cells, fillvalue=""):
            padded = [
                part.rjust(widths[i]) if i in figures else part.ljust(widths[i])
                for i, part in zip(places, parts, strict=True)
            ]
            lines.append(_GAP.join(padded).rstrip())
        if number == 0:
            lines.append(_GAP.join("-" * width for width in widths.values()))
    return "\n".join(lines).replace("\u00a0", " ")
