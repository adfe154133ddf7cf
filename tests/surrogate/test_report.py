"""The report's figures, against plain computations."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from firth.surrogate.report import ALL, measure, measure_by_kind, notes, rank_correlation


def test_figures_equal_a_plain_computation() -> None:
    """L2, the constant's L2 and the rank correlation are what their names say."""
    rng = np.random.default_rng(3)
    cosines, labels = rng.uniform(-1, 1, 50), rng.uniform(0, 1, 50)
    found = measure(cosines, labels, labels**3, 0.4)
    assert found["l2"] == pytest.approx(np.mean((cosines - labels) ** 2), abs=1e-6)
    assert found["constant_l2"] == pytest.approx(np.mean((0.4 - labels) ** 2), abs=1e-6)
    assert found["spearman"] == pytest.approx(spearmanr(cosines, labels)[0], abs=1e-6)
    assert found["low"] is not None
    assert found["high"] is not None
    assert found["low"] < (found["spearman"] or 0) < found["high"]


def test_rank_correlation_is_undefined_without_spread() -> None:
    """A constant side, or too few pairs, gives None and never NaN."""
    assert rank_correlation(np.ones(9), np.arange(9.0)) is None
    assert rank_correlation(np.arange(2.0), np.arange(2.0)) is None


def test_kinds_add_up() -> None:
    """The pairs of all kinds are the pairs, and so are their squared errors."""
    rng = np.random.default_rng(4)
    cosines, labels = rng.uniform(0, 1, (2, 40))
    kinds = ["near"] * 15 + ["random"] * 25
    found = measure_by_kind(cosines, labels, labels, 0.5, kinds)
    assert found[ALL]["n"] == found["near"]["n"] + found["random"]["n"] == 40
    parts = [found[kind]["l2"] * found[kind]["n"] for kind in ("near", "random")]
    assert sum(parts) / 40 == pytest.approx(found[ALL]["l2"], abs=2e-6)


def told(**pairs: int) -> list[str]:
    figures = {"all": {"l2": 0.1, "constant_l2": 0.2, "spearman": 0.5}}
    both = {"dev": figures, "test": figures}
    chosen = {"step": 3, "steps": 9}
    report = {"way": "paper", "pairs": pairs, "chosen": chosen, "before": both, "after": both}
    return notes(report)


def test_few_pairs_are_said_to_be_few() -> None:
    """Only splits that are too small are named."""
    assert told(train=10, dev=5000, test=5000) == []
    said = told(train=10, dev=12, test=5000)
    assert len(said) == 1
    assert said[0].startswith("dev has 12 pairs")
