"""Averages over sets: of the sets' own figures, resampled set by set."""

from pathlib import Path

import numpy as np
import pytest

from firth.evaluate.comparison import choose, compare_saved
from firth.evaluate.evaluate import evaluate_models
from firth.evaluate.figures import Bootstrap
from firth.evaluate.metrics import Difference, Estimate, Metric, estimate, paired_difference
from firth.evaluate.rows import Sample
from firth.run.errors import InputError

MODELS = ["baseline:dice", "baseline:tfidf"]
SPEARMAN = Metric.SPEARMAN


def ends(found: Estimate | Difference) -> tuple[float, float, float]:
    """Value, low and high of a figure that is defined."""
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    return found.value, found.low, found.high


def sample(task: str, n: int, noise: float, split: str = "test", seed: int = 1) -> Sample:
    """A model whose similarities are the gold scores with some noise."""
    rng = np.random.default_rng(seed + n)
    gold, wrong = rng.normal(size=(2, n))
    return Sample(task, split, (SPEARMAN, Metric.PEARSON), f"{task}{n}", gold,
                  gold + noise * wrong, ("",) * n, np.arange(n))  # fmt: skip


def test_the_average_is_that_of_the_figures() -> None:
    """Value, and rows, of the sets' own; an interval narrower than either's; any order of sets."""
    samples = [sample("a", 60, 1.0), sample("b", 60, 1.2), sample("c", 60, 0.8)]
    own = [ends(estimate(SPEARMAN, one.x, one.y, seed=3)) for one in samples]
    found = Bootstrap(13, 1_000).average(samples, SPEARMAN)
    value, low, high = ends(found)
    assert value == pytest.approx(np.mean([one[0] for one in own]))
    assert found.n == 180
    assert low < value < high
    assert high - low < min(upper - lower for _, lower, upper in own)
    turned = Bootstrap(13, 1_000).average(samples[::-1], SPEARMAN)
    assert ends(turned) == pytest.approx((value, low, high))


def test_differences_are_paired() -> None:
    """Turned round they change sign; with itself a model is at 0; what the value says."""
    better = [sample("a", 60, 0.5), sample("b", 40, 0.6)]
    worse = [sample("a", 60, 1.5), sample("b", 40, 1.8)]
    ahead = Bootstrap(13, 500).average_difference(better, worse, SPEARMAN)
    behind = Bootstrap(13, 500).average_difference(worse, better, SPEARMAN)
    assert ahead.decided, "premise: the difference shows"
    assert ends(behind)[0] == pytest.approx(-ends(ahead)[0])
    assert ends(behind)[1] == pytest.approx(-ends(ahead)[2], abs=2)
    own = [
        ends(paired_difference(SPEARMAN, (a.x, a.y), (b.x, b.y), seed=1))[0]
        for a, b in zip(better, worse, strict=True)
    ]
    assert ends(ahead)[0] == pytest.approx(np.mean(own))
    same = Bootstrap(13, 500).average_difference(better, better, SPEARMAN)
    assert ends(same) == (0, 0, 0)


def test_one_undefined_set_makes_the_average_undefined() -> None:
    """With its name; and so the difference."""
    good, flat = sample("a", 30, 1.0), sample("b", 30, 1.0)
    flat.y[:] = 1.0
    found = Bootstrap(1, 50).average([good, flat], SPEARMAN)
    assert found.value is None
    assert str(found.reason).startswith("b test: all 30")
    difference = Bootstrap(1, 50).average_difference([good, flat], [good, good], SPEARMAN)
    assert difference.value is None


def test_sets_are_chosen_by_name() -> None:
    """In the order asked for; a split where there are several; nothing twice."""
    dev, test, other = sample("a", 30, 1, "dev"), sample("a", 31, 1), sample("b", 32, 1)
    assert choose([dev, test, other], ["b", "a:dev"]) == [other, dev]
    for names, message in (
        (["b", "c"], "average over c: no such set; evaluated: a:dev, a:test, b:test"),
        (["a", "b"], "average over a: several splits"),
        (["b", "b:test"], "expected two different sets"),
        (["b"], "expected two different sets"),
        ([""], "average over : no such set"),
    ):
        with pytest.raises(InputError, match=message):
            choose([dev, test, other], names)


def test_saved_results_are_averaged(data_dir: Path, tmp_path: Path) -> None:
    """Every model's mean, every difference, as plain values and in words."""
    tasks = ["sts13", "sts-b:dev", "wiki-sections"]
    report = evaluate_models(MODELS, tasks, data_dir, resamples=100, leakage=False)
    report.write(tmp_path / "found")
    found = compare_saved(tmp_path / "found", mean=["sts13", "sts-b:dev"])
    assert [(one.model, one.metric) for one in found.averages] == [
        (model, metric) for model in MODELS for metric in ("spearman", "pearson")
    ]
    of_sets = [report.evaluations[0].find(task).value or 0.0 for task in ("sts13", "sts-b")]
    assert found.averages[0].figure.value == pytest.approx(np.mean(of_sets))
    averaged = [one for one in found.differences if one.task == "mean of sts13, sts-b:dev"]
    assert [one.metric for one in averaged] == ["spearman", "pearson"]
    assert found.to_dict()["averages"] == [one.to_dict() for one in found.averages]
    assert str(found.averages[0]).startswith("mean of sts13, sts-b:dev spearman: baseline:dice has")
    assert str(averaged[0]).startswith("mean of sts13, sts-b:dev spearman: ")
    with pytest.raises(InputError, match="no metric that all of these sets are measured by"):
        compare_saved(tmp_path / "found", mean=["sts13", "wiki-sections"])
