"""Lines and growth go through what they were made of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.plan.cost import Growth, Line
from firth.plan.units import Unit

PART = st.floats(1e-9, 1e3)
AMOUNTS = [
    {Unit.WORDS: 5e4 * n, Unit.UPDATES: 5e4 * n * (1e3 * n**0.6)} for n in (1.0, 2.0, 4.0, 8.0)
]


@given(fixed=st.one_of(st.just(0.0), PART), words=PART)
def test_a_line_is_found_again(fixed: float, words: float) -> None:
    """What grows by one unit from a fixed part is foretold at any size."""
    whole = Line(fixed, {Unit.WORDS: words})
    some = [{Unit.WORDS: one[Unit.WORDS]} for one in AMOUNTS]
    found = Line.fit(some, [whole.at(one) for one in some])
    for size in (1e4, 4e6, 1e11):
        amounts = {Unit.WORDS: size}
        assert found.at(amounts) == pytest.approx(whole.at(amounts), rel=1e-3)


@given(words=st.floats(1e-7, 1e-5), updates=st.floats(1e-10, 1e-8))
def test_two_units_are_told_apart(words: float, updates: float) -> None:
    """Units that grow differently each get their own part."""
    whole = Line(0.5, {Unit.WORDS: words, Unit.UPDATES: updates})
    found = Line.fit(AMOUNTS, [whole.at(one) for one in AMOUNTS])
    assert found.at(AMOUNTS[-1]) == pytest.approx(whole.at(AMOUNTS[-1]), rel=1e-6)
    larger = {Unit.WORDS: 4e6, Unit.UPDATES: 4e6 * 1e3 * 80**0.6}
    assert found.at(larger) == pytest.approx(whole.at(larger), rel=1e-2)


@given(st.lists(st.floats(0, 1e6), min_size=4, max_size=4))
def test_nothing_costs_less_than_nothing(costs: list[float]) -> None:
    """Whatever was measured, no part is negative, so that no size costs less than a smaller one."""
    found = Line.fit(AMOUNTS, costs)
    assert found.fixed >= 0
    assert all(value > 0 for value in found.each.values())


def test_what_follows_nothing_costs_the_same_at_any_size() -> None:
    """The level of least relative errors, of costs that are the same."""
    assert Line.fit([{}, {}, {}], [3.0, 3.0, 3.0]).at({}) == pytest.approx(3.0)


@given(factor=st.floats(1, 100), exponent=st.floats(0.1, 1))
def test_growth_is_found_again(factor: float, exponent: float) -> None:
    """Heaps' law, from the counts it gives."""
    sizes = [1e4, 2e4, 4e4, 8e4]
    found = Growth.fit(sizes, [factor * size**exponent for size in sizes])
    assert found.at(1e9) == pytest.approx(factor * 1e9**exponent, rel=1e-3)


def test_what_stopped_growing_stays() -> None:
    """A table that is full; one that there is none of."""
    assert Growth.fit([1e4, 2e4, 4e4, 8e4], [500] * 4).at(1e9) == 500
    assert Growth.fit([1e4, 2e4, 4e4, 8e4], [0] * 4).at(1e9) == 0
