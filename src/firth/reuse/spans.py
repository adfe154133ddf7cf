"""Re-used spans: runs of equal words in two texts."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RUN = 6
"""Words of the shortest run: shorter ones are shared by any two texts of some length."""


@dataclass(frozen=True)
class Span:
    """The words `a` to `a + words` of one text are the words `b` to `b + words` of another."""

    a: int
    b: int
    words: int


def runs(words: Sequence[str], run: int = RUN) -> list[tuple[str, ...]]:
    """All runs of `run` words, in order."""
    return [*zip(*(words[start:] for start in range(run)), strict=False)]


def reused(
    words: Sequence[str], known: Set[tuple[str, ...]], run: int = RUN
) -> npt.NDArray[np.bool_]:
    """Which words, (len(words),), stand in a run of `run` words that is known."""
    found = np.zeros(len(words), dtype=bool)
    if known:
        for start, each in enumerate(runs(words, run)):
            if each in known:
                found[start : start + run] = True
    return found


def spans(a: Sequence[str], b: Sequence[str], run: int = RUN) -> list[Span]:
    """The longest common runs of at least `run` words, in the order of `a`, not overlapping there.

    At each place of `a` the longest run of `b` that begins so is taken, the first of equals. All
    words of `a` that are `reused` of `b`'s runs are covered, except up to `run - 1` where two runs
    overlap in `a`.
    """
    starts: dict[tuple[str, ...], list[int]] = {}
    for start, each in enumerate(runs(b, run)):
        starts.setdefault(each, []).append(start)
    found, place = [], 0
    while place <= len(a) - run:
        longest = Span(place, 0, 0)
        for start in starts.get(tuple(a[place : place + run]), ()):
            length = run
            while (
                place + length < len(a)
                and start + length < len(b)
                and a[place + length] == b[start + length]
            ):
                length += 1
            if length > longest.words:
                longest = Span(place, start, length)
        if longest.words:
            found.append(longest)
        place += longest.words or 1
    return found
