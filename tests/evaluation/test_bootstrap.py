"""Intervals: those of a plain bootstrap, right about as often as they say, paired, by clusters."""

import numpy as np
import pytest

from firth.evaluation.bootstrap import Estimate, Sample, difference_of, estimate, mean_of_rows
from firth.text.types import Floats


def width(one: Estimate) -> float:
    return (one.high or 0.0) - (one.low or 0.0)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(17)
    covered = 0
    for seed in range(300):
        one = estimate(Sample(mean_of_rows(rng.normal(0.3, 1, 80)), 80, seed), resamples=300)
        covered += (one.low or 0.0) <= 30 <= (one.high or 0.0)
    assert 272 <= covered <= 297


def test_paired_differences_are_narrower() -> None:
    rng = np.random.default_rng(12)
    hard = rng.normal(size=300)
    better, worse = hard + 0.1, hard + 0.05 * rng.normal(size=300)
    first, second = (mean_of_rows(one) for one in (better, worse))
    one, two = (estimate(Sample(each, 300, seed=0)) for each in (first, second))
    assert (one.low or 0.0) < (two.high or 0.0), "premise: the intervals overlap"
    difference = estimate(Sample(difference_of(first, second), 300, seed=0))
    assert difference.sign == 1
    assert difference.value == pytest.approx((one.value or 0) - (two.value or 0))
    assert difference.verdict("A", "B").startswith("A is better than B by ")
    turned = estimate(Sample(difference_of(second, first), 300, seed=0))
    assert turned.verdict("B", "A") == difference.verdict("A", "B")


def test_means_over_samples_are_narrower_than_their_parts() -> None:
    """Samples are resampled independently, so that the errors of their mean cancel in part."""
    rng = np.random.default_rng(4)
    parts = [Sample(mean_of_rows(rng.normal(size=100)), 100, seed) for seed in range(4)]
    each = [estimate(part) for part in parts]
    mean = estimate(parts)
    assert mean.n == 400
    assert mean.value == pytest.approx(np.mean([one.value for one in each]))
    assert width(mean) == pytest.approx(np.mean([width(one) for one in each]) / 2, rel=0.25)


def test_undefined_samples_make_the_mean_undefined() -> None:
    good = Sample(mean_of_rows(np.ones(3)), 3, seed=0)
    bad = Sample(mean_of_rows(np.ones(2)), 2, seed=0, undefined="all are equal")
    one = estimate([good, bad])
    assert (one.value, one.low, one.n, one.reason) == (None, None, 5, "all are equal")
    assert str(one) == one.signed == "undefined"
    assert one.verdict("A", "B") == "A and B cannot be compared: all are equal"


def test_resamples_without_a_value_are_left_out() -> None:
    def only_with_the_first(counts: Floats) -> Floats:
        return np.where(counts[:, 0] > 0, 1.0, np.nan)

    one = estimate(Sample(only_with_the_first, 2, seed=0))
    assert (one.value, one.low, one.high) == (100.0, 100.0, 100.0)
