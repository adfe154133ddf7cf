"""Plots: equal values, equal bytes; what does not follow one another is not joined."""

import re

import pytest

from firth.evaluate.metrics import Estimate
from firth.reproduce.report import Lines, draw

DASHES = "stroke-dasharray"


def lines(*, connected: bool) -> Lines:
    ours = [Estimate(1, 0, 2, 9), Estimate(2, 1, 3, 9), Estimate(3, None, None, 9)]
    return Lines(
        "size",
        "Spearman",
        ["a", "b", "c"],
        {"ours": ours, "ours, fixed": [2, None, 3], "ours, printed": [4, None, 6]},
        connected,
    )


@pytest.mark.parametrize("kind", ["png", "svg"])
@pytest.mark.parametrize("connected", [True, False])
def test_equal_values_give_equal_bytes(kind: str, connected: bool) -> None:
    """Also with gaps and bands whose ends are unknown."""
    first = draw(lines(connected=connected), "title", kind)
    assert first == draw(lines(connected=connected), "title", kind)
    assert first != draw(lines(connected=not connected), "title", kind)


def test_only_what_follows_is_joined() -> None:
    """Printed figures are dashed where places follow one another, and bare points where not."""
    joined, apart = (draw(lines(connected=c), "t", "svg").decode() for c in (True, False))
    assert DASHES in joined
    assert DASHES not in apart
    colours = set(re.findall(r"stroke: (#[0-9a-f]{6})", joined))
    assert {"#1f77b4", "#ff7f0e"} <= colours, "two lines of ours have colours of their own"
