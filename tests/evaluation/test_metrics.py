"""Metrics equal scipy's and plain definitions, on the data and in every resample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from firth.evaluation.bootstrap import Estimate
from firth.evaluation.metrics import (
    _STATISTICS,
    BINARY,
    Metric,
    measure,
    measure_difference,
    metric_sample,
    undefined,
)
from firth.run.errors import InputError
from firth.text.types import Floats

few_values = st.lists(
    st.tuples(st.integers(0, 4).map(float), st.integers(-3, 3).map(lambda v: v / 3)),
    min_size=2,
    max_size=30,
)
OF_NUMBERS = (Metric.SPEARMAN, Metric.PEARSON, Metric.ACCURACY)


def reference(metric: Metric, x: Floats, y: Floats) -> float:
    if metric is Metric.ACCURACY:
        return 100 * float(np.mean(x > y))
    function = stats.spearmanr if metric is Metric.SPEARMAN else stats.pearsonr
    return 100 * float(function(x, y).statistic)


def tied_columns(n: int, seed: int) -> tuple[Floats, Floats]:
    """Correlated columns with many ties."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).round(1)
    return x, (x + rng.normal(size=n)).round(1)


@pytest.mark.parametrize("metric", OF_NUMBERS)
@given(rows=few_values)
def test_values_are_those_of_scipy(metric: Metric, rows: list[tuple[float, float]]) -> None:
    """Ties share average ranks; a constant column has no correlation."""
    x, y = (np.array(column) for column in zip(*rows, strict=True))
    one = measure(metric, x, y, seed=0, resamples=5)
    if metric is not Metric.ACCURACY and (len(set(x)) == 1 or len(set(y)) == 1):
        assert one.value is None
        assert one.reason
    else:
        assert one.value == pytest.approx(reference(metric, x, y), abs=1e-8)
        assert one.n == len(rows)


@pytest.mark.parametrize("metric", OF_NUMBERS)
def test_every_resample_is_exact(metric: Metric) -> None:
    """With one resample both ends are that resample's metric: its ranks are recomputed."""
    x, y = tied_columns(25, seed=8)
    order = np.lexsort((y, x))
    for seed in range(20):
        drawn = np.random.default_rng(seed).integers(0, 25, size=25)
        expected = reference(metric, x[order][drawn], y[order][drawn])
        one = measure(metric, x, y, seed=seed, resamples=1)
        assert one.low == one.high == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("metric", list(Metric))
def test_the_order_of_rows_does_not_matter(metric: Metric) -> None:
    """Neither for the value, nor for its interval, nor for a difference."""
    x, y = tied_columns(60, seed=3)
    x = (x > 0).astype(float) if metric in BINARY else x
    z = y + np.random.default_rng(1).normal(size=60).round(1)
    order = np.random.default_rng(0).permutation(60)
    assert measure(metric, x, y, seed=5) == measure(metric, x[order], y[order], seed=5)
    whole = measure_difference(metric, (x, y), (x, z), seed=5)
    mixed = measure_difference(metric, (x[order], y[order]), (x[order], z[order]), seed=5)
    assert whole == mixed
    assert whole.low != whole.high, "premise: there is an interval"


# Two classes.


def plain_average_precision(x: Floats, y: Floats) -> float:
    """The sum over thresholds of precision times the gain in recall."""
    total, recall = 0.0, 0.0
    for threshold in sorted(set(y.tolist()), reverse=True):
        taken = x[y >= threshold]
        total += taken.mean() * (taken.sum() / x.sum() - recall)
        recall = taken.sum() / x.sum()
    return total


@given(
    rows=st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=2),
    seed=st.integers(0, 99),
)
def test_average_precision_is_the_plain_definition(
    rows: list[tuple[bool, float]], seed: int
) -> None:
    """On the rows, and on a resample in which some rows are drawn twice and others not at all."""
    rows = [*rows, (True, 0.5), (False, 0.25)]
    x, y = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    weights = np.random.default_rng(seed).integers(0, 3, len(rows))
    weights[-2:] = 1
    counts = np.stack([np.ones(len(rows)), weights])
    drawn = np.repeat(np.arange(len(rows)), weights)
    expected = [plain_average_precision(x, y), plain_average_precision(x[drawn], y[drawn])]
    assert _STATISTICS[Metric.AVERAGE_PRECISION](x, y)(counts) == pytest.approx(expected)


# What is undefined or wrong.


@pytest.mark.parametrize(
    ("metric", "x", "y", "reason"),
    [
        (Metric.SPEARMAN, [1, 2, 3], [0.5, 0.5, 0.5], "all 3 similarities equal 0.5"),
        (Metric.AVERAGE_PRECISION, [1, 1, 1], [0.1, 0.5, 0.7], "all 3 human scores equal 1"),
        (Metric.PEARSON, [1, 2, 3], [0.1, np.nan, 0.3], "1 of 3 similarities are not finite"),
        (Metric.PEARSON, [1], [1], "pearson needs at least 2 rows"),
        (Metric.ACCURACY, [], [], "there are no rows"),
    ],
)
def test_undefined_figures_have_a_reason(
    metric: Metric, x: list[float], y: list[float], reason: str
) -> None:
    """Constant or broken scores give no figure, and no crash."""
    columns = np.array(x, dtype=np.float64), np.array(y, dtype=np.float64)
    assert undefined(metric, *columns) == reason
    assert measure(metric, *columns, seed=0) == Estimate(None, None, None, len(x), reason)
    assert metric_sample(metric, [columns], 0, name="news").undefined == f"news: {reason}"


def test_columns_must_fit() -> None:
    """Columns of different lengths are an error, and are not broadcast."""
    with pytest.raises(InputError, match="shapes"):
        measure(Metric.PEARSON, np.zeros(3), np.zeros(1), seed=0)
