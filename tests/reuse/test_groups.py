"""Groups: all copies were paired with their original, and nothing is in two groups."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from firth.reuse.groups import stars
from firth.reuse.neighbours import NONE, Pairs

EDGES = st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)).filter(lambda e: e[0] < e[1]))


def pairs(edges: set[tuple[int, int]]) -> Pairs:
    rows = np.array(sorted(edges), np.int64).reshape(-1, 2)
    return Pairs(rows[:, 0], rows[:, 1], np.linspace(0.5, 1, len(rows), dtype=np.float32), 0.5)


@given(EDGES)
def test_a_group_is_a_star(edges: set[tuple[int, int]]) -> None:
    """Each copy is paired with its original, is later than it, and is in no other group; and of
    each pair at least one item is in a group."""
    found = stars(pairs(edges))
    taken: list[int] = []
    for star in found:
        assert all((star.original, copy) in edges for copy in star.copies.tolist())
        taken += [star.original, *star.copies.tolist()]
    assert len(taken) == len(set(taken))
    assert all(left in taken or right in taken for left, right in edges)


@given(EDGES, EDGES)
def test_looking_further_loses_nothing(
    sure: set[tuple[int, int]], alike: set[tuple[int, int]]
) -> None:
    """What sure pairs put into groups is in one with any other pairs besides; nothing is in two;
    and each copy was paired with its original, or is a sure copy of what was."""
    few, found = stars(pairs(sure)), stars(pairs(sure), pairs(alike - sure))
    taken = [item for star in found for item in (star.original, *star.copies.tolist())]
    assert len(taken) == len(set(taken))
    assert {n for star in few for n in (star.original, *star.copies.tolist())} <= set(taken)
    for star in found:
        near = {b for a, b in sure | alike if a == star.original}
        near |= {b for a, b in sure if a in near}
        assert set(star.copies.tolist()) <= near


def test_a_chain_is_no_group() -> None:
    """0 is like 1, and 1 like 2, but 2 is not like 0."""
    (star,) = stars(pairs({(0, 1), (1, 2)}))
    assert (star.original, star.copies.tolist()) == (0, [1])
    (star,) = stars(NONE, pairs({(0, 1), (1, 2)}))
    assert star.copies.tolist() == [1]
    assert stars(NONE) == []
