"""Tuples keep the constraints of best-worst scaling, for any number of items."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.ratings.design import design_tuples, pair_codes
from firth.run.errors import InputError


@settings(max_examples=40)
@given(st.data(), st.integers(3, 6), st.integers(0, 1 << 40))
def test_every_design_keeps_the_constraints(data: st.DataObject, size: int, seed: int) -> None:
    items = data.draw(st.integers(2 * size, 16))
    most = min(math.comb(items, size) // 2, 3 * items)
    count = data.draw(st.integers(math.ceil(items / size), most))
    tuples = design_tuples(items, size=size, factor=count / items, seed=seed)
    assert tuples.shape == (count, size)
    assert all(len(set(row)) == size for row in tuples.tolist())
    assert len({tuple(sorted(row)) for row in tuples.tolist()}) == count
    occurrences = np.bincount(tuples.ravel(), minlength=items)
    assert occurrences.max() - occurrences.min() <= 1 <= occurrences.min()


def test_few_pairs_meet_twice() -> None:
    tuples = design_tuples(300)
    assert len(tuples) == 600
    codes = pair_codes(tuples, 300)
    random_share = 600 * 6 / (2 * 300 * 299 / 2)
    assert 1 - len(np.unique(codes)) / codes.size < 0.8 * random_share


def test_places_say_nothing() -> None:
    """An item is in each place equally often, also where tuples come from a sorted list."""
    designs = np.concatenate([design_tuples(7, factor=2, seed=seed) for seed in range(60)])
    places = np.array([(designs == 0).sum(axis=0), (designs == 6).sum(axis=0)])
    assert np.all(np.abs(places / (8 * 60) - 1 / 4) < 0.08)


@pytest.mark.parametrize(
    ("items", "size", "factor", "message"),
    [
        (10, 2, 2.0, "at least 3"),
        (3, 4, 2.0, "too few for tuples of 4"),
        (5, 4, 2.0, "asks for 10 tuples.*expected a factor of at most 0.4"),
        (100, 4, 0.2, "too few tuples for 100 items; expected at least 0.25"),
        (100, 4, float("nan"), "too few tuples"),
    ],
)
def test_impossible_designs_are_refused(items: int, size: int, factor: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        design_tuples(items, size=size, factor=factor)
