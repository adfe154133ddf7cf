"""Progress bars and notes on standard error; silent when quiet. Results never pass through here."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

T = TypeVar("T")
_quiet = False


def set_quiet(quiet: bool) -> None:
    """Switch all bars and notes of this process off or on."""
    global _quiet
    _quiet = quiet


def note(message: str) -> None:
    """Say one line to the user."""
    if not _quiet:
        sys.stderr.write(message + "\n")
        sys.stderr.flush()


class Bar(Protocol):
    """A bar in progress."""

    def advance(self, steps: float = 1, status: str = "") -> None:
        """Move on by `steps`, showing `status` beside the bar."""


class _Silent:
    def advance(self, steps: float = 1, status: str = "") -> None:
        pass


@contextmanager
def bar(title: str, total: float | None = None) -> Iterator[Bar]:
    """Show a bar for the length of the block; `total` None means unknown."""
    if _quiet:
        yield _Silent()
        return
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
    with Progress(*columns, console=Console(stderr=True), refresh_per_second=4) as progress:
        task = progress.add_task(title, total=total, status="")

        class _Shown:
            def advance(self, steps: float = 1, status: str = "") -> None:
                if status:
                    progress.update(task, advance=steps, status=status)
                else:
                    progress.update(task, advance=steps)

        yield _Shown()


def track(items: Iterable[T], title: str, total: float | None = None) -> Iterator[T]:
    """Iterate over `items` behind a bar."""
    if total is None and hasattr(items, "__len__"):
        total = len(items)
    with bar(title, total) as shown:
        for item in items:
            yield item
            shown.advance()
