"""Many splits at once give what one split after the other gives, and mean what they say."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from firth.relatedness.bws.answers import Judgements
from firth.relatedness.bws.reliability import (
    FIRST,
    SECOND,
    UNUSED,
    correlate_halves,
    draw_halves,
    measure_reliability,
    split_half,
)
from firth.run.errors import InputError

from .conftest import judged


def slow_correlations(found: Judgements, halves: list[int]) -> tuple[float, float, int]:
    """One split as a person would do it."""
    scores: list[dict[int, float]] = []
    for half in (FIRST, SECOND):
        shown: dict[int, int] = {}
        net: dict[int, int] = {}
        for answer, which in enumerate(halves):
            if which != half:
                continue
            for item in found.tuples[found.asked[answer]].tolist():
                shown[item] = shown.get(item, 0) + 1
            best, worst = int(found.best[answer]), int(found.worst[answer])
            net[best] = net.get(best, 0) + 1
            net[worst] = net.get(worst, 0) - 1
        scores.append({item: net.get(item, 0) / times for item, times in shown.items()})
    both = sorted(scores[0].keys() & scores[1].keys())
    x, y = ([one[item] for item in both] for one in scores)
    return spearmanr(x, y).statistic, pearsonr(x, y).statistic, len(both)


@pytest.mark.parametrize("answers", [1, 2, 3, 4])
@pytest.mark.parametrize("used", [None, 1, 2])
def test_all_at_once_is_one_by_one(answers: int, used: int | None) -> None:
    """For the same splits, also when items are missing from a half."""
    found, _ = judged(items=40, answers=answers)
    halves = draw_halves(found, np.random.default_rng(5), 6, used)
    fast = correlate_halves(found, halves)
    slow = [slow_correlations(found, row.tolist()) for row in halves]
    assert fast.spearman == pytest.approx([one[0] for one in slow], abs=1e-12)
    assert fast.pearson == pytest.approx([one[1] for one in slow], abs=1e-12)
    assert fast.items.tolist() == [one[2] for one in slow]


def test_items_do_go_missing() -> None:
    """The premise of the test above: with one answer a tuple, halves lack items."""
    found, _ = judged(items=40, answers=1)
    halves = draw_halves(found, np.random.default_rng(5), 6)
    assert correlate_halves(found, halves).items.min() < 40


def ragged(numbers: list[int]) -> Judgements:
    """Tuples of which each has its own number of answers, in mixed order."""
    asked = np.random.default_rng(0).permutation(np.repeat(np.arange(len(numbers)), numbers))
    tuples = np.tile(np.arange(4), (len(numbers), 1))
    zeros = np.zeros(len(asked), dtype=np.int64)
    return Judgements(tuple("abcd"), tuples, asked, zeros, zeros + 1)


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 7), min_size=1, max_size=12).filter(any),
    st.none() | st.integers(1, 8),
    st.integers(0, 1 << 32),
)
def test_halves_are_halves(numbers: list[int], used: int | None, seed: int) -> None:
    """Of each tuple the two bins differ by at most one answer, and as many answers as asked for are
    used."""
    found = ragged(numbers)
    halves = draw_halves(found, np.random.default_rng(seed), 5, used)
    for number, answers in enumerate(numbers):
        mine = halves[:, found.asked == number]
        first, second = (mine == FIRST).sum(axis=1), (mine == SECOND).sum(axis=1)
        expected = answers if used is None else min(answers, used)
        assert np.all(first + second == expected)
        assert np.all((mine == UNUSED).sum(axis=1) == answers - expected)
        assert np.all(abs(first - second) == expected % 2)


@pytest.mark.parametrize(("answers", "used"), [(1, None), (2, None), (3, None), (4, 1), (5, 3)])
def test_bins_are_drawn_evenly(answers: int, used: int | None) -> None:
    """Each answer falls into either bin equally often, and any two of a tuple meet in a bin as
    often as any other two."""
    found = ragged([answers])
    halves = draw_halves(found, np.random.default_rng(7), 20_000, used)
    share = (halves == FIRST).mean(axis=0)
    expected = min(answers, used or answers) / (2 * answers)
    assert np.allclose(share, expected, atol=0.02)
    together = [(halves[:, i] == halves[:, j]).mean() for i in range(answers) for j in range(i)]
    assert not together or max(together) - min(together) < 0.03


def test_the_seed_decides() -> None:
    """The same seed gives the same splits, another one others; blocks do not matter."""
    found, _ = judged()
    one = split_half(found, seed=1, splits=30)
    assert np.array_equal(one.spearman, split_half(found, seed=1, splits=30).spearman)
    assert not np.array_equal(one.spearman, split_half(found, seed=2, splits=30).spearman)


def test_reliability_rises_with_answers() -> None:
    """As theory says: more answers in a half, less noise in its scores."""
    found, _ = judged(items=200, answers=8, noise=0.3)
    result = measure_reliability(found, splits=60)
    means = [level.spearman.mean for level in result.by_answers]
    assert [level.answers for level in result.by_answers] == list(range(1, 9))
    assert all(later > earlier for earlier, later in pairwise(means))
    assert result.by_answers[-1].spearman == result.spearman


def test_without_noise_all_halves_agree() -> None:
    """Both annotators of a tuple say the same, so both halves are equal."""
    found, _ = judged(noise=0.0)
    result = measure_reliability(found, splits=20, by_answers=False)
    assert result.spearman.mean == pytest.approx(1)
    assert result.spearman.sd == pytest.approx(0)


def test_random_answers_agree_by_chance() -> None:
    """The other end: around 0."""
    found, _ = judged(items=400, noise=1e6)
    assert abs(measure_reliability(found, splits=50).spearman.mean) < 0.1


def test_spearman_brown_is_named_and_not_silent() -> None:
    """Only when asked for, beside the plain figure and never instead of it."""
    found, _ = judged()
    plain = measure_reliability(found, splits=20)
    stepped = measure_reliability(found, splits=20, spearman_brown=True)
    assert plain.spearman_brown is None
    assert "Brown" not in plain.text()
    assert stepped.spearman == plain.spearman
    mean = plain.spearman.mean
    assert stepped.spearman_brown == pytest.approx(2 * mean / (1 + mean))
    assert "Spearman-Brown" in stepped.text()


def test_nothing_to_correlate_is_said() -> None:
    """Two items judged twice have no rank correlation."""
    with pytest.raises(InputError, match="no split has scores to correlate"):
        split_half(ragged([1]), seed=1, splits=3)
    with pytest.raises(InputError, match="expected 1 or more"):
        split_half(ragged([2]), seed=1, splits=0)
