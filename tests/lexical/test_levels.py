"""Levels: shares and thresholds of drawn scores keep what they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.lexical.levels import Levels, percent
from firth.run.errors import InputError

SCORES = st.lists(st.integers(-20, 20).map(lambda n: n / 20), min_size=1, max_size=60)


@settings(max_examples=60)
@given(scores=SCORES, asked=st.lists(st.floats(-1.2, 1.2), min_size=2, max_size=8))
def test_shares_count_and_never_fall(scores: list[float], asked: list[float]) -> None:
    """Where every score is kept, a share is the count of lower ones; it rises with the score."""
    levels = Levels.of(scores)
    shares = levels.share_below(sorted(asked))
    np.testing.assert_allclose(
        shares, [np.mean([score < one for score in scores]) for one in sorted(asked)]
    )
    assert (np.diff(shares) >= 0).all()


@settings(max_examples=60)
@given(scores=SCORES, rate=st.floats(0.02, 0.99))
def test_a_threshold_keeps_its_rate(scores: list[float], rate: float) -> None:
    """Of the drawn pairs at most the promised share reach it; too few pairs promise nothing."""
    levels = Levels.of(scores)
    if rate * (len(scores) + 1) < 1 - 1e-6:
        with pytest.raises(InputError, match="pairs were drawn"):
            levels.threshold(rate)
    elif rate * (len(scores) + 1) > 1 + 1e-6:
        threshold = levels.threshold(rate)
        assert np.mean(np.array(scores) >= threshold) <= rate * (1 + 1 / len(scores)) + 1e-9


def test_many_scores_are_kept_in_steps() -> None:
    """Of 50,000 scores some thousand are kept: shares are right to a thousandth, and in the tail
    exactly; never too high."""
    scores = np.random.default_rng(1).normal(size=50_000)
    levels = Levels.of(scores)
    assert len(levels.scores) <= 3_000
    asked = np.linspace(-3, 3, 101)
    true = np.searchsorted(np.sort(scores), asked) / len(scores)
    shares = levels.share_below(asked)
    assert (shares <= true + 1e-4).all()
    assert np.abs(shares - true).max() < 2e-3
    tail = asked > np.quantile(scores, 0.97)
    assert np.abs(shares - true)[tail].max() < 1e-4


def test_a_promised_rate_is_kept_on_others() -> None:
    """Over 200 draws of 999 pairs, 1 % of other pairs reach the threshold of 1 %."""
    rng = np.random.default_rng(7)
    kept = []
    for _ in range(200):
        threshold = Levels.of(rng.normal(size=999)).threshold(0.01)
        kept.append(np.mean(rng.normal(size=5_000) >= threshold))
    assert abs(np.mean(kept) - 0.01) < 3 * np.std(kept) / np.sqrt(len(kept)) + 2e-4


@given(share=st.floats(0, 1), n=st.integers(1, 10**6))
def test_nothing_is_higher_than_all(share: float, n: int) -> None:
    """No share is said as 100 %, and none is rounded up."""
    text = percent(share, n)
    assert not text.startswith("100 %")
    if share < 1:
        assert float(text.split(" %")[0]) <= 100 * share + 1e-6
    else:
        assert text.startswith("all")
