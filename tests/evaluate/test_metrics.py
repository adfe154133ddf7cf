"""Point estimates against scipy, intervals against a plain bootstrap and against the truth."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import average_precision_score, roc_auc_score

from firth.evaluate.metrics import _STATISTICS, Floats, Metric, estimate, paired_difference
from firth.run.errors import InputError

Columns = tuple[Floats, Floats]
few_values = st.lists(
    st.tuples(st.integers(0, 4).map(float), st.integers(-3, 3).map(lambda v: v / 3)),
    min_size=2,
    max_size=30,
)


def reference(metric: Metric, x: Floats, y: Floats) -> float:
    """The metric × 100, as scipy has it."""
    if metric is Metric.ACCURACY:
        return 100 * float(np.mean(x > y))
    function = stats.spearmanr if metric is Metric.SPEARMAN else stats.pearsonr
    return 100 * float(function(x, y).statistic)


OF_NUMBERS = (Metric.SPEARMAN, Metric.PEARSON, Metric.ACCURACY)
"""Of any two columns; the others are of classes."""


def tied_columns(n: int, seed: int) -> Columns:
    """Correlated columns with many ties."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).round(1)
    return x, (x + rng.normal(size=n)).round(1)


@pytest.mark.parametrize("metric", OF_NUMBERS)
@given(rows=few_values)
def test_the_point_estimate_is_scipys(metric: Metric, rows: list[tuple[float, float]]) -> None:
    """Ties share average ranks; a constant column has no correlation."""
    x, y = (np.array(column) for column in zip(*rows, strict=True))
    found = estimate(metric, x, y, seed=0, resamples=5)
    if metric is not Metric.ACCURACY and (len(set(x)) == 1 or len(set(y)) == 1):
        assert found.value is None
        assert found.reason is not None
    else:
        assert found.value == pytest.approx(reference(metric, x, y), abs=1e-8)
        assert found.n == len(rows)


@pytest.mark.parametrize("metric", OF_NUMBERS)
def test_intervals_are_those_of_a_plain_bootstrap(metric: Metric) -> None:
    """Counting is resampling: percentiles agree with resampled rows given to scipy."""
    x, y = tied_columns(80, seed=4)
    found = estimate(metric, x, y, seed=1, resamples=4_000)
    rng = np.random.default_rng(99)
    draws = [rng.integers(0, len(x), len(x)) for _ in range(4_000)]
    plain = np.quantile([reference(metric, x[d], y[d]) for d in draws], [0.025, 0.975])
    assert found.low is not None
    assert found.high is not None
    assert found.low == pytest.approx(plain[0], abs=2.0)
    assert found.high == pytest.approx(plain[1], abs=2.0)


@pytest.mark.parametrize("metric", OF_NUMBERS)
def test_every_resample_is_exact(metric: Metric) -> None:
    """With one resample the interval is that resample's metric: ranks are recomputed in it."""
    x, y = tied_columns(25, seed=8)
    order = np.lexsort((y, x))
    for seed in range(20):
        drawn = np.random.default_rng(seed).integers(0, 25, size=25)
        expected = reference(metric, x[order][drawn], y[order][drawn])
        found = estimate(metric, x, y, seed=seed, resamples=1)
        assert found.low == pytest.approx(expected, abs=1e-8)
        assert found.high == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("metric", OF_NUMBERS)
def test_the_interval_covers_the_truth_about_as_often_as_it_says(metric: Metric) -> None:
    """Of 200 samples of a known distribution, 95 % of the intervals hold the true value."""
    rho, n = 0.6, 120
    truth = {
        Metric.PEARSON: 100 * rho,
        Metric.SPEARMAN: 100 * 6 / np.pi * np.arcsin(rho / 2),
        Metric.ACCURACY: 50.0,
    }[metric]
    rng = np.random.default_rng(17)
    covered = 0
    for seed in range(200):
        x = rng.normal(size=n)
        y = rho * x + np.sqrt(1 - rho**2) * rng.normal(size=n)
        found = estimate(metric, x, y, seed=seed, resamples=300)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= truth <= found.high
    assert 180 <= covered <= 199


@pytest.mark.parametrize("metric", OF_NUMBERS)
def test_the_order_of_rows_does_not_matter(metric: Metric) -> None:
    """Neither for the figure nor for its interval."""
    x, y = tied_columns(60, seed=3)
    order = np.random.default_rng(0).permutation(60)
    assert list(order) != sorted(order), "premise: the order changes"
    one = estimate(metric, x, y, seed=5)
    two = estimate(metric, x[order], y[order], seed=5)
    assert (one.value, one.low, one.high) == (two.value, two.low, two.high)


def test_seeds_decide_the_interval_only() -> None:
    """Equal seeds give equal intervals, others differ a little, the figure stays."""
    x, y = tied_columns(60, seed=3)
    one, same, other = (estimate(Metric.SPEARMAN, x, y, seed=s) for s in (1, 1, 2))
    assert one == same
    assert one.value == other.value
    assert one.low != other.low


@pytest.mark.parametrize("metric", [Metric.SPEARMAN, Metric.PEARSON])
def test_scale_does_not_matter(metric: Metric) -> None:
    """Similarities near 1, as raw Eq. 4 gives them, lose no digits that count."""
    x, y = tied_columns(60, seed=3)
    one, two = (estimate(metric, x, v, seed=5) for v in (y, 0.999 + 1e-6 * y))
    assert one.value == pytest.approx(two.value, abs=1e-5)
    assert one.low == pytest.approx(two.low, abs=1e-5)


def test_accuracy_counts_ties_as_wrong() -> None:
    """The positive must be strictly more similar."""
    x, y = np.array([1.0, 1.0, 2.0, 0.0]), np.array([0.0, 1.0, 2.0, 1.0])
    assert estimate(Metric.ACCURACY, x, y, seed=0).value == 25.0


@pytest.mark.parametrize(
    ("y", "reason"),
    [
        ([0.5, 0.5, 0.5], "all 3 similarities equal 0.5"),
        ([0.1, float("nan"), 0.3], "1 of 3 similarities are not finite"),
    ],
)
def test_undefined_figures_are_none_and_say_why(y: list[float], reason: str) -> None:
    """Constant or broken scores give no figure, and no crash."""
    found = estimate(Metric.SPEARMAN, np.array([1.0, 2.0, 3.0]), np.array(y), seed=0)
    assert (found.value, found.low, found.high, found.reason) == (None, None, None, reason)
    assert str(found) == "undefined"


def test_resamples_without_a_figure_are_left_out() -> None:
    """Two rows are often drawn twice the same; the interval is over the other draws."""
    x = np.array([1.0, 2.0])
    found = estimate(Metric.PEARSON, x, x, seed=0)
    assert (found.value, found.low, found.high) == pytest.approx((100.0, 100.0, 100.0))


def test_columns_must_fit() -> None:
    """Columns of different lengths are an error, not a broadcast."""
    with pytest.raises(InputError, match="shapes"):
        estimate(Metric.PEARSON, np.zeros(3), np.zeros(1), seed=0)
    with pytest.raises(InputError, match="shapes"):
        paired_difference(
            Metric.PEARSON, (np.zeros(3), np.zeros(3)), (np.zeros(3), np.zeros(1)), seed=0
        )


def test_shared_texts_widen_the_interval() -> None:
    """Pairs of few texts are not independent: resampling the texts gives the wider interval."""
    rng = np.random.default_rng(2)
    first, second = np.triu_indices(15, k=1)
    units = np.stack([first, second], axis=1)
    quality = rng.normal(size=15)  # some texts are easier than others, in all their pairs
    x = rng.normal(size=len(first))
    y = x * (quality[first] + quality[second]) + 0.1 * rng.normal(size=len(first))
    by_row = estimate(Metric.PEARSON, x, y, seed=0)
    by_text = estimate(Metric.PEARSON, x, y, seed=0, units=units)
    assert by_row.value == pytest.approx(by_text.value)
    widths = [e.high - e.low for e in (by_row, by_text) if e.high and e.low]
    assert len(widths) == 2
    assert widths[1] > 1.5 * widths[0]


def test_a_unit_drawn_twice_doubles_its_pairs() -> None:
    """One resample of units equals the metric over pairs repeated once for each pair of copies."""
    x, y = tied_columns(10, seed=6)
    first, second = np.triu_indices(5, k=1)
    units = np.stack([first, second], axis=1)
    compared = 0
    for seed in range(10):
        copies = np.bincount(np.random.default_rng(seed).integers(0, 5, size=5), minlength=5)
        repeats = copies[first] * copies[second]
        if len(set(np.repeat(x, repeats))) < 2 or len(set(np.repeat(y, repeats))) < 2:
            continue
        compared += 1
        expected = reference(Metric.SPEARMAN, np.repeat(x, repeats), np.repeat(y, repeats))
        found = estimate(Metric.SPEARMAN, x, y, seed=seed, resamples=1, units=units)
        assert found.low == pytest.approx(expected, abs=1e-8)
    assert compared > 5, "premise: most draws have a figure"


@pytest.mark.parametrize("metric", [Metric.SPEARMAN, Metric.PEARSON])
def test_paired_differences_are_narrower_than_the_two_intervals(metric: Metric) -> None:
    """Two systems that err alike differ clearly, though their own intervals overlap."""
    rng = np.random.default_rng(12)
    gold = rng.normal(size=400)
    noise = rng.normal(size=400)
    better, worse = gold + noise, gold + noise + 0.3 * rng.normal(size=400)
    one, two = (estimate(metric, gold, y, seed=0) for y in (better, worse))
    assert one.low is not None
    assert two.high is not None
    assert one.low < two.high, "premise: the intervals overlap"
    found = paired_difference(metric, (gold, better), (gold, worse), seed=0)
    assert found.decided
    assert found.value == pytest.approx((one.value or 0) - (two.value or 0))
    assert found.sentence("A", "B").startswith("A beats B by ")
    mirrored = paired_difference(metric, (gold, worse), (gold, better), seed=0)
    assert mirrored.sentence("B", "A").startswith("A beats B by ")
    assert mirrored.value == pytest.approx(-(found.value or 0))


def test_a_system_does_not_beat_itself() -> None:
    """The difference of equal scores is 0 in every resample."""
    x, y = tied_columns(50, seed=1)
    found = paired_difference(Metric.SPEARMAN, (x, y), (x, y), seed=0)
    assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)
    assert not found.decided
    assert found.sentence("A", "B").startswith("no difference shown")


def test_a_difference_with_a_constant_system_is_undefined() -> None:
    """It says so instead of inventing one."""
    x, y = tied_columns(50, seed=1)
    found = paired_difference(Metric.PEARSON, (x, y), (x, np.ones(50)), seed=0)
    assert found.value is None
    assert "cannot be compared" in found.sentence("A", "B")


def test_a_thousand_resamples_are_a_matter_of_moments() -> None:
    """9,000 pairs took 0.3 s where this was written; 20 times that would be a mistake."""
    x, y = tied_columns(9_000, seed=1)
    start = time.perf_counter()
    estimate(Metric.SPEARMAN, x, y, seed=0)
    assert time.perf_counter() - start < 6


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=2),
    st.integers(0, 99),
)
def test_ranking_of_two_classes_is_scikit_learns(rows: list[tuple[bool, float]], seed: int) -> None:
    """On the rows, ties included, and in a resample: a row counts as often as it was drawn."""
    rows = [*rows, (True, 0.5), (False, 0.25)]
    x, y = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    weights = np.random.default_rng(seed).integers(0, 3, len(rows)).astype(np.float64)
    weights[-2:] = 1.0
    counts = np.stack([np.ones_like(weights), weights])
    for metric, theirs in (
        (Metric.AUC, roc_auc_score), (Metric.AVERAGE_PRECISION, average_precision_score)
    ):  # fmt: skip
        ours = _STATISTICS[metric](x, y)(counts)
        kept = [theirs(x, y, sample_weight=drawn) for drawn in counts]
        assert ours == pytest.approx(kept)
    one = estimate(Metric.AUC, np.ones(3), np.arange(3.0), seed=1)
    assert one.reason == "all 3 gold scores equal 1"
    assert estimate(Metric.AUC, x, np.zeros_like(x), seed=1).value == pytest.approx(50)
