"""Quotas add up, buckets hold equal shares, no sentence is used too often."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.relatedness.pairs.choose import (
    Picker,
    bin_of,
    bucket_of,
    choose,
    percentile_edges,
    quotas,
    shares,
)
from firth.relatedness.pairs.settings import Growth


@given(
    total=st.integers(0, 500),
    room=st.lists(st.integers(0, 60), min_size=1, max_size=20),
    growth=st.sampled_from(list(Growth)),
)
def test_quotas_add_up(total: int, room: list[int], growth: Growth) -> None:
    """All that is asked for is given out, and of no bucket more than it has."""
    split = quotas(total, shares(len(room), growth, 100), room)
    assert split.sum() == min(total, sum(room))
    assert (split <= room).all()
    assert (split >= 0).all()


@given(st.integers(0, 3000), st.integers(2, 100), st.floats(1, 1000))
def test_exponential_quotas_grow(total: int, buckets: int, steepness: float) -> None:
    """With room enough, a higher bucket never gives less, and the sum is what was asked."""
    split = quotas(total, shares(buckets, Growth.EXPONENTIAL, steepness), [total] * buckets)
    assert split.sum() == total
    assert (np.diff(split) >= 0).all()


def test_steepness_is_the_last_bucket_over_the_first() -> None:
    """Weights grow by one factor from bucket to bucket, to `steepness` in all."""
    weights = shares(50, Growth.EXPONENTIAL, 100)
    assert weights[-1] / weights[0] == pytest.approx(100)
    assert np.diff(np.log(weights)) == pytest.approx(np.full(49, np.log(100) / 49))


def test_percentile_buckets_hold_equal_shares() -> None:
    """1,000 different values fall into 50 buckets of 20."""
    values = np.random.default_rng(1).permutation(np.linspace(0.1, 0.9, 1000))
    counts = np.bincount(bucket_of(values, percentile_edges(values, 50)), minlength=50)
    assert counts.tolist() == [20] * 50


def test_equal_values_share_a_bucket() -> None:
    """Half of the pairs without overlap leave half of the buckets empty."""
    values = np.concatenate([np.zeros(500), np.linspace(0.1, 0.9, 500)])
    found = bucket_of(values, percentile_edges(values, 10))
    assert set(found[:500].tolist()) == {4}
    assert np.bincount(found, minlength=10)[5:].tolist() == [100] * 5


def test_bins_are_open_below() -> None:
    """Scores of 1 lie in (0, 1], of 5 in (4, 5]; 0 joins the first bin."""
    edges = np.linspace(0, 5, 6)
    found = bin_of(np.array([0, 0.1, 1, 1.1, 2, 4.2, 5]), edges)
    assert found.tolist() == [0, 0, 0, 1, 1, 4, 4]


@given(st.integers(1, 3), st.integers(0, 1000))
def test_no_sentence_is_used_too_often(uses: int, seed: int) -> None:
    """Of random candidates over 20 sentences, none is chosen in more than `uses` pairs."""
    rng = np.random.default_rng(seed)
    left, right = rng.integers(20, size=200), rng.integers(20, size=200) + 20
    bucket = rng.integers(4, size=200)
    chosen, _ = choose(
        bucket, np.arange(5.0), np.full(4, 10), (left, right), Picker(uses), rng, total=40
    )
    used = Counter([*left[chosen].tolist(), *right[chosen].tolist()])
    assert max(used.values()) <= uses
    assert len(chosen) == len(set(chosen.tolist()))
    if uses == 3:
        assert len(chosen) == 40  # the premise: the limit leaves room
