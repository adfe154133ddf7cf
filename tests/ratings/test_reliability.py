"""Many splits at a time give what one split after the other gives."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from firth.ratings.answers import Judgements
from firth.ratings.reliability import (
    FIRST,
    SECOND,
    correlate_halves,
    draw_halves,
    measure_reliability,
)

from .conftest import Judged


def slow_correlations(found: Judgements, halves: list[int]) -> tuple[float, float]:
    """Correlate one split as a person would do it."""
    scores: list[dict[int, float]] = []
    for half in (FIRST, SECOND):
        shown, net = Counter[int](), Counter[int]()
        for answer in np.flatnonzero(np.array(halves) == half).tolist():
            shown.update(found.tuples[found.asked[answer]].tolist())
            net[int(found.best[answer])] += 1
            net[int(found.worst[answer])] -= 1
        scores.append({item: net[item] / times for item, times in shown.items()})
    both = sorted(scores[0].keys() & scores[1].keys())
    x, y = ([one[item] for item in both] for one in scores)
    return spearmanr(x, y).statistic, pearsonr(x, y).statistic


@pytest.mark.parametrize("answers", [1, 2, 3, 4])
def test_all_at_a_time_is_one_by_one(judged: Judged, answers: int) -> None:
    found, _ = judged(items=40, answers=answers)
    halves = draw_halves(found, np.random.default_rng(5), 6)
    spearman, pearson = correlate_halves(found, halves)
    slow = [slow_correlations(found, row.tolist()) for row in halves]
    assert spearman == pytest.approx([one[0] for one in slow], abs=1e-12)
    assert pearson == pytest.approx([one[1] for one in slow], abs=1e-12)


def ragged(numbers: list[int]) -> Judgements:
    """Return tuples with different numbers of answers, in mixed order."""
    asked = np.random.default_rng(0).permutation(np.repeat(np.arange(len(numbers)), numbers))
    tuples = np.tile(np.arange(4), (len(numbers), 1))
    zeros = np.zeros(len(asked), dtype=np.int64)
    return Judgements(tuple("abcd"), tuples, asked, zeros, zeros + 1)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 7), min_size=1, max_size=12).filter(any), st.integers(0, 1 << 32))
def test_halves_are_halves(numbers: list[int], seed: int) -> None:
    """The bins of a tuple differ by at most one answer."""
    found = ragged(numbers)
    halves = draw_halves(found, np.random.default_rng(seed), 5)
    for number, answers in enumerate(numbers):
        mine = halves[:, found.asked == number]
        first, second = (mine == FIRST).sum(axis=1), (mine == SECOND).sum(axis=1)
        assert np.all(first + second == answers)
        assert np.all(abs(first - second) == answers % 2)


def test_reliability_rises_with_answers(judged: Judged) -> None:
    found, _ = judged(items=200, answers=8, noise=0.3)
    few, _ = judged(items=200, answers=2, noise=0.3)
    result, less = (measure_reliability(one, splits=40) for one in (found, few))
    assert result is not None
    assert less is not None
    mean = result.spearman.mean
    assert less.spearman.mean < mean
    assert result.spearman.low <= mean <= result.spearman.high
    assert result.stepped_up == pytest.approx(2 * mean / (1 + mean))
    assert measure_reliability(found, splits=40) == result
    assert measure_reliability(found, splits=40, seed=2) != result


def test_what_cannot_be_correlated_has_no_reliability() -> None:
    assert measure_reliability(ragged([1]), splits=3) is None
