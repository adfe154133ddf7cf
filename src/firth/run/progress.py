"""Progress bars and notes on standard error; silent when quiet. Results never pass through here."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TypeVar

from firth.run import sharing
from firth.run.screen import complain, escaped

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

T = TypeVar("T")
SECONDS_BETWEEN_LINES = 15.0
"""In a log, where no bar can move."""
_quiet = False
_display: "Progress | None" = None


Listener = Callable[[str, float, float | None], None]
"""Told of a bar's title, how much is done, and of how much, if that is known."""
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def told_to(listener: Listener) -> Iterator[None]:
    """Tell of bars inside, in this thread, instead of showing them; an error of `listener` ends
    the work."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def set_quiet(quiet: bool) -> None:
    """Switch all bars and notes of this process off or on."""
    global _quiet
    _quiet = quiet or sharing.rank() > 0  # of processes that share a training one speaks


@contextmanager
def silenced() -> Iterator[None]:
    """No bars and notes inside, beside those that are there."""
    global _quiet
    before, _quiet = _quiet, True
    try:
        yield
    finally:
        _quiet = before


def note(message: str) -> None:
    """Say one line to the user, above a bar if one is shown."""
    if _quiet:
        return
    if _display is not None:
        _display.console.print(escaped(message), markup=False, highlight=False)
    else:
        complain(message)


class Bar(Protocol):
    """A bar in progress."""

    def advance(self, steps: float = 1, status: str = "") -> None:
        """Move on by `steps`, showing `status` beside the bar."""


class _Silent:
    def advance(self, steps: float = 1, status: str = "") -> None:
        pass


class _Told:
    def __init__(self, listener: Listener, title: str, total: float | None) -> None:
        self._listener, self._title, self._total, self._done = listener, title, total, 0.0
        listener(title, 0.0, total)

    def advance(self, steps: float = 1, status: str = "") -> None:
        self._done += steps
        self._listener(self._title, self._done, self._total)


class _Lines:
    """Progress as a line now and then: for logs and other screens that do not move."""

    def __init__(self, title: str, total: float | None) -> None:
        self._title, self._total, self._done, self._status = title, total, 0.0, ""
        self._start = self._said = monotonic()

    def advance(self, steps: float = 1, status: str = "") -> None:
        self._done += steps
        self._status = status or self._status
        now = monotonic()
        if now - self._said >= SECONDS_BETWEEN_LINES:
            self._said = now
            of = f" of {self._total:,.0f} ({self._done / self._total:.0%})" if self._total else ""
            status = f", {self._status}" if self._status else ""
            complain(f"{self._title}: {self._done:,.0f}{of}, {now - self._start:.0f} s{status}")


class _Shown:
    def __init__(self, display: "Progress", task: "TaskID") -> None:
        self._display, self._task = display, task

    def advance(self, steps: float = 1, status: str = "") -> None:
        if status:
            self._display.update(self._task, advance=steps, status=escaped(status))
        else:
            self._display.update(self._task, advance=steps)


@contextmanager
def bar(title: str, total: float | None = None) -> Iterator[Bar]:
    """Show a bar for the length of the block; `total` None means unknown.

    A bar inside another one's block appears below it, and vanishes when its block ends. Where
    standard error is no terminal, a line is written now and then instead.
    """
    global _display
    if (listener := _listener.get()) is not None:
        yield _Told(listener, title, total)
    elif _quiet:
        yield _Silent()
    elif not sys.stderr.isatty():
        yield _Lines(title, total)
    elif _display is not None:
        task = _display.add_task(escaped(title), total=total, status="")
        yield _Shown(_display, task)
        _display.remove_task(task)
    else:
        _display = _new_display()
        try:
            with _display:
                task = _display.add_task(escaped(title), total=total, status="")
                yield _Shown(_display, task)
        finally:
            _display = None


def _new_display() -> "Progress":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<28}", markup=False),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[status]}", markup=False),
    )
    return Progress(*columns, console=Console(stderr=True), refresh_per_second=4)


def track(items: Iterable[T], title: str, total: float | None = None) -> Iterator[T]:
    """Iterate over `items` behind a bar."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    with bar(title, total) as shown:
        for item in items:
            yield item
            shown.advance()
