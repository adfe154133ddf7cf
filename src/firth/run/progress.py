"""Progress bars and notes on standard error; silent when quiet. Results never pass through here."""

from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

from firth.run.screen import complain, escaped

T = TypeVar("T")
_quiet = False
_display: "Progress | None" = None


def set_quiet(quiet: bool) -> None:
    """Switch all bars and notes of this process off or on."""
    global _quiet
    _quiet = quiet


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


@contextmanager
def bar(title: str, total: float | None = None) -> Iterator[Bar]:
    """Show a bar for the length of the block; `total` None means unknown.

    A bar inside another one's block appears below it, and vanishes when its block ends.
    """
    global _display
    if _quiet:
        yield _Silent()
        return
    if _display is not None:
        task = _display.add_task(title, total=total, status="")
        yield _Shown(_display, task)
        _display.remove_task(task)
        return
    _display = _new_display()
    try:
        with _display:
            yield _Shown(_display, _display.add_task(title, total=total, status=""))
    finally:
        _display = None


class _Shown:
    def __init__(self, display: "Progress", task: "TaskID") -> None:
        self._display, self._task = display, task

    def advance(self, steps: float = 1, status: str = "") -> None:
        if status:
            self._display.update(self._task, advance=steps, status=status)
        else:
            self._display.update(self._task, advance=steps)


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
        TextColumn("{task.description:<28}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[status]}"),
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
