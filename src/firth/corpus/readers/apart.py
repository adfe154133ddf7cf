"""Pages read by a process that may be lost.

A small file can ask a library for any memory or time: a megabyte of PDF unpacks to a gigabyte of
drawing, tags nest a million deep; and a fault of such a library ends its process. So HTML and PDF
are read by a process of their own, and a bad file costs nothing but itself.
"""

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firth.corpus.readers import markup
from firth.corpus.readers.markup import UnreadableError
from firth.run.errors import InputError

with contextlib.suppress(ImportError):  # POSIX has it; elsewhere nothing is held to the limits
    import resource

MEMORY = 2 << 30
"""Bytes that a file of HTML or a page of PDF may add to what the process holds."""
SECONDS = 60
"""Of processor, likewise."""

_BEGIN = """
import sys
sys.path[:] = {path!r}
from firth.corpus.readers.apart import _answer
_answer({memory}, {seconds})
"""
_free: "subprocess.Popen[str] | None" = None
"""The process, while nothing is asked of it; it ends when nobody is left to ask."""


class CostlyError(Exception):
    """The process was lost over a file."""


def html_text(page: str) -> tuple[str, str]:
    """As `firth.corpus.readers.markup.html_text`.

    Raises:
        CostlyError: It took more than `MEMORY` or `SECONDS`, or the library failed.
        InputError: No process could be started.
    """
    ((title, text),) = _ask("html", page)
    return title, text


def pdf_pages(path: str) -> Iterator[str | UnreadableError]:
    """As `firth.corpus.readers.markup.pdf_pages`.

    Raises:
        CostlyError: As `html_text`, for a page.
        InputError: As `html_text`.
        UnreadableError: The file is none, is broken, or needs a password.
    """
    for text, flaw_of_page, flaw_of_file in _ask("pdf", os.path.abspath(path)):
        if flaw_of_file is not None:
            raise UnreadableError(flaw_of_file)
        yield text if flaw_of_page is None else UnreadableError(flaw_of_page)


def _ask(kind: str, value: str) -> Iterator[Any]:
    """What the process answers, piece by piece. One that is not heard out is ended."""
    global _free
    process, _free = _free or _start(), None
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with contextlib.suppress(BrokenPipeError):  # there will be no answer, either
            process.stdin.write(json.dumps([kind, value]) + "\n")
            process.stdin.flush()
        while (line := process.stdout.readline()).endswith("\n"):
            if (piece := json.loads(line)) is None:
                _free = process
                return
            yield piece
        raise CostlyError(_why(process.wait()))
    finally:
        if _free is not process:
            process.kill()
            process.communicate()


def _start() -> "subprocess.Popen[str]":
    program = _BEGIN.format(path=sys.path, memory=MEMORY, seconds=SECONDS)
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="ascii",
    )
    assert process.stdout is not None
    if not process.stdout.readline():  # no file is to blame
        process.communicate()
        raise InputError(
            "HTML and PDF are read by a process of their own, which did not start: "
            f"{sys.executable} ended with status {process.returncode}"
        )
    return process


def _why(code: int) -> str:
    if -code == getattr(signal, "SIGXCPU", None):
        return f"reading it took more than {SECONDS} s of processor"
    return (
        f"the process that read it was lost (exit status {code}): it needed more than "
        f"{MEMORY >> 20:,} MiB of memory, or its library failed"
    )


# In the process


def _answer(memory: int, seconds: int) -> None:
    """Answer what is asked, line by line."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii", buffering=1)
    os.dup2(2, 1)  # what a library prints is no answer
    answers.write("ready\n")
    for line in sys.stdin:
        kind, value = json.loads(line)
        pieces = map(markup.html_text, [value]) if kind == "html" else _pages(value)
        while True:
            _allow(memory, seconds)
            piece = next(pieces, None)
            answers.write(json.dumps(piece) + "\n")
            if piece is None:
                break


def _pages(path: str) -> Iterator[tuple[str | None, str | None, str | None]]:
    """A page's text, or its flaw, or the file's."""
    try:
        for page in markup.pdf_pages(path):
            flawed = isinstance(page, UnreadableError)
            yield (None, str(page), None) if flawed else (str(page), None, None)
    except UnreadableError as error:
        yield None, None, str(error)


def _allow(memory: int, seconds: int) -> None:
    """Let what follows use so much beside what was used until here."""
    if "resource" not in globals():
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit(resource.RLIMIT_CPU, math.ceil(time.process_time()) + seconds)
    with contextlib.suppress(OSError):  # a system that does not tell
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _limit(resource.RLIMIT_AS, held + memory)


def _limit(what: int, most: int) -> None:
    with contextlib.suppress(OSError, ValueError):  # it is held to less already
        resource.setrlimit(what, (most, resource.getrlimit(what)[1]))
