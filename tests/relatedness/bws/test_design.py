"""The tuples of a questionnaire keep the design constraints of best-worst scaling, for any size."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.relatedness.bws.design import design_tuples, measure_balance, number_items, pair_codes
from firth.relatedness.bws.records import Tuple
from firth.run.errors import InputError


@settings(max_examples=50)
@given(st.data(), st.integers(3, 6), st.integers(0, 1 << 40))
def test_every_design_keeps_the_constraints(data: st.DataObject, size: int, seed: int) -> None:
    """Distinct items, no tuple twice, and items balanced to within 1: also where hardly more
    different tuples exist than are asked for."""
    items = data.draw(st.integers(size, 14))
    most = min(math.comb(items, size), 3 * items)
    count = data.draw(st.integers(math.ceil(items / size), most))
    tuples = design_tuples(items, size=size, factor=count / items, seed=seed)
    assert len(tuples) == count
    assert tuples.shape[1] == size
    assert all(len(set(row)) == size for row in tuples.tolist())
    assert len({tuple(sorted(row)) for row in tuples.tolist()}) == len(tuples)
    occurrences = np.bincount(tuples.ravel(), minlength=items)
    assert len(occurrences) == items
    assert occurrences.max() - occurrences.min() <= 1
    assert occurrences.min() >= 1


@settings(max_examples=10)
@given(st.integers(50, 400), st.integers(0, 1 << 40))
def test_no_two_items_meet_twice_where_there_is_room(items: int, seed: int) -> None:
    """With the default size and factor, from fifty items on each pair meets at most once."""
    tuples = design_tuples(items, seed=seed)
    assert len(tuples) == 2 * items
    codes = pair_codes(tuples, items)
    assert len(np.unique(codes)) == codes.size


@pytest.mark.parametrize(("items", "size", "most"), [(13, 4, 2), (8, 4, 4), (7, 3, 2), (25, 5, 2)])
def test_small_sets_meet_evenly(items: int, size: int, most: int) -> None:
    """Where pairs must meet again, none meets more often than the best possible most, or one
    more."""
    found = measure_balance(design_tuples(items, size=size, factor=2.0), items)
    assert found.best_most <= most
    assert found.meetings.most <= found.best_most + 1


def test_repair_is_what_separates() -> None:
    """The premise: cut permutations alone do make pairs meet again."""
    import random

    from firth.relatedness.bws.design import _cut_permutations

    rows = np.array(_cut_permutations(200, 4, 400, random.Random(1)))
    codes = pair_codes(rows, 200)
    assert len(np.unique(codes)) < codes.size


def test_the_seed_decides() -> None:
    """The same seed gives the same tuples; another one others."""
    one = design_tuples(60, seed=5)
    assert np.array_equal(one, design_tuples(60, seed=5))
    assert not np.array_equal(one, design_tuples(60, seed=6))


def test_places_tell_nothing() -> None:
    """An item is shown in each place of a tuple about equally often, also where tuples are chosen
    from a sorted list of all there are."""
    designs = np.concatenate([design_tuples(6, factor=2, seed=seed) for seed in range(60)])
    places = np.array([(designs == 0).sum(axis=0), (designs == 5).sum(axis=0)])
    assert places.sum() == 2 * 8 * 60
    assert np.all(np.abs(places / (8 * 60) - 1 / 4) < 0.08)


@pytest.mark.parametrize(
    ("items", "size", "factor", "message"),
    [
        (10, 2, 2.0, "at least 3"),
        (3, 4, 2.0, "too few for tuples of 4"),
        (5, 4, 2.0, "only 5 different tuples of 4; expected a factor of at most 1"),
        (100, 4, 0.2, "too few tuples for 100 items; expected at least 0.25"),
        (100, 4, float("nan"), "too few tuples"),
    ],
)
def test_impossible_designs_are_refused(items: int, size: int, factor: float, message: str) -> None:
    """What cannot be had is named, with what can."""
    with pytest.raises(InputError, match=message):
        design_tuples(items, size=size, factor=factor)


def test_all_different_tuples_can_be_had() -> None:
    """The other end: every tuple there is, once."""
    tuples = design_tuples(6, size=4, factor=15 / 6)
    assert len({tuple(sorted(row)) for row in tuples.tolist()}) == 15


def test_balance_counts_what_is_there() -> None:
    """Against counting by hand: items 4 and 5 are apart, one tuple is repeated."""
    tuples = np.array([[0, 1, 2], [0, 1, 3], [2, 1, 0]])
    found = measure_balance(tuples, 6)
    assert dict(found.occurrences.histogram) == {0: 2, 1: 1, 2: 1, 3: 2}
    assert dict(found.meetings.histogram) == {0: 10, 1: 2, 2: 2, 3: 1}
    assert (found.repeated, found.components, found.best_most) == (1, 3, 1)
    assert found.meetings.mean == pytest.approx(9 / 15)
    assert "3 pairs meet more than once" in found.text()


def test_items_are_numbered_in_the_given_order() -> None:
    """By default sorted."""
    tuples = [Tuple("t", ("c", "a", "b"))]
    assert number_items(tuples)[1].tolist() == [[2, 0, 1]]
    names, rows = number_items(tuples, ["c", "z", "b", "a"])
    assert (names, rows.tolist()) == (["c", "z", "b", "a"], [[0, 3, 2]])
