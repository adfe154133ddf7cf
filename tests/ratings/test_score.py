"""Scores by counting and by Bradley-Terry are what their definitions say."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from firth.ratings.answers import Judgements
from firth.ratings.records import Annotation, Gold, Tuple
from firth.ratings.score import (
    chances,
    fit_strengths,
    implied_pairs,
    score_answers,
    score_intervals,
)
from firth.run.errors import InputError

from .conftest import Judged


def test_counting_by_hand() -> None:
    tuples = [Tuple("t", tuple("abcd")), Tuple("u", tuple("abce"))]
    answers = [
        Annotation("t", "ann", "a", "d"),
        Annotation("t", "bob", "a", "b"),
        Annotation("u", "ann", "b", "a"),
    ]
    found = score_answers(tuples, answers, items=list("edcbazy"))
    scores = dict(zip(found.judgements.items, found.score, strict=True))
    assert scores["a"] == pytest.approx((1 + 1 / 3) / 2)
    assert scores["b"] == scores["c"] == pytest.approx(1 / 2)
    assert scores["d"] == pytest.approx((1 - 1 / 2) / 2)
    assert found.counts.shown.tolist() == [1, 2, 3, 3, 3, 0, 0]
    assert found.never_judged == ("z", "y")
    assert math.isnan(scores["z"])
    assert "2 items were never judged: z, y" in found.text()


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(7, 30), st.integers(1, 4), st.integers(0, 1 << 30))
def test_counts_and_bounds(judged: Judged, items: int, answers: int, seed: int) -> None:
    found, _ = judged(items, answers, seed=seed, factor=1.0)
    counts = found.count()
    assert counts.shown.sum() == 4 * len(found)
    assert counts.best.sum() == counts.worst.sum() == len(found)
    if len(set(counts.shown.tolist())) == 1:
        assert counts.scores.mean() == pytest.approx(0.5)
    low, high = score_intervals(found, seed=1, resamples=40)
    assert np.all((low >= 0) & (low <= high) & (high <= 1))


def test_implied_pairs_by_hand() -> None:
    """Five of a tuple of four: the best beats all, and all beat the worst."""
    found = Judgements(tuple("abcd"), np.array([[2, 0, 3, 1]]), *(np.array([n]) for n in (0, 3, 1)))
    pairs = {tuple(pair) for pair in implied_pairs(found).tolist()}
    assert pairs == {(3, 0), (3, 2), (3, 1), (0, 1), (2, 1)}


def test_strengths_are_those_of_choix(judged: Judged) -> None:
    """A library for such models maximizes the same penalized likelihood."""
    choix = pytest.importorskip("choix")
    found, _ = judged(items=12, answers=3, noise=0.3)
    pairs = [tuple(pair) for pair in implied_pairs(found).tolist()]
    # choix minimizes alpha |θ|² - log-likelihood.
    other = choix.opt_pairwise(12, pairs, alpha=1 / (2 * 1.3**2), tol=1e-9)
    assert np.ptp(other) > 1
    assert fit_strengths(found, 1.3) == pytest.approx(other - other.mean(), abs=1e-3)


def test_without_noise_the_order_is_right(judged: Judged) -> None:
    found, truth = judged(items=12, answers=2, noise=0.0, factor=30.0)
    assert spearmanr(found.count().scores, truth).statistic == pytest.approx(1)
    assert spearmanr(fit_strengths(found), truth).statistic == pytest.approx(1)


def test_scores_come_nearer_to_the_truth_with_answers(judged: Judged) -> None:
    counted, modelled = [], []
    for answers in (1, 4, 16):
        found, truth = judged(items=200, answers=answers, noise=0.4)
        counted.append(spearmanr(found.count().scores, truth).statistic)
        modelled.append(spearmanr(fit_strengths(found), truth).statistic)
    assert counted[0] + 0.05 < counted[1] < counted[2] < modelled[2]
    assert modelled[0] + 0.05 < modelled[1] < modelled[2]


def test_items_never_judged_have_no_strength(judged: Judged) -> None:
    found, _ = judged(items=12)
    wider = Judgements((*found.items, "new"), found.tuples, found.asked, found.best, found.worst)
    strengths = fit_strengths(wider)
    assert np.isnan(strengths[-1])
    assert strengths[:-1] == pytest.approx(fit_strengths(found), abs=1e-4)
    assert strengths[:-1].mean() == pytest.approx(0)
    assert np.array_equal(np.argsort(chances(strengths)), np.argsort(strengths))
    with pytest.raises(InputError, match="above 0"):
        fit_strengths(found, prior=0)


def test_intervals_narrow_with_tuples_and_hold_the_score(judged: Judged) -> None:
    """Half the width takes about four times the tuples; one tuple gives no interval."""
    widths = []
    for factor in (2.0, 8.0):
        found, _ = judged(items=80, noise=0.3, factor=factor)
        low, high = score_intervals(found, seed=1, resamples=300)
        scores = found.count().scores
        assert np.all((low <= scores) & (scores <= high))
        widths.append((high - low).mean())
    assert 0.3 < widths[1] / widths[0] < 0.6
    single, _ = judged(items=16, factor=0.25)
    assert np.isnan(score_intervals(single, seed=1)[0]).all()


def test_intervals_hold_what_other_tuples_would_say(judged: Judged) -> None:
    scores = [judged(items=100, noise=0.2, seed=seed)[0].count().scores for seed in range(2, 27)]
    low, high = score_intervals(judged(items=100, noise=0.2)[0], seed=1, resamples=400)
    expected = np.mean(scores, axis=0)
    assert 0.88 <= ((low <= expected) & (expected <= high)).mean() <= 0.99


def test_files_hold_the_scores(tmp_path: Path) -> None:
    tuples = [Tuple("t", tuple("abcd")), Tuple("g", tuple("abcd"))]
    answers = [
        Annotation("t", "ann", "a", "d", line=2),
        Annotation("g", "bob", "b", "d", line=3),
        Annotation("t", "bob", "b", "c", line=4),
        Annotation("t", "eve", "b", "", line=5),
    ]
    for name in "xy":
        (tmp_path / name).mkdir()
        found = score_answers(tuples, answers, [Gold("g", "a", "d")], items=list("abcde"))
        found.write(tmp_path / name)
    for file in sorted(tmp_path.glob("x/*")):
        assert file.read_bytes() == (tmp_path / "y" / file.name).read_bytes()
    rows = list(csv.DictReader((tmp_path / "x/scores.csv").open()))
    expected = [("a", "1"), ("b", "0.5"), ("c", "0.5"), ("d", "0"), ("e", "")]
    assert [(row["item"], row["score"]) for row in rows] == expected
    left_out = csv.DictReader((tmp_path / "x/left-out.csv").open())
    assert [row["line"] for row in left_out] == ["3", "4", "5"]
    assert found.as_dict()["never_judged"] == ["e"]
    assert found.as_dict()["components"] == 1


def test_groups_without_a_common_item_are_reported() -> None:
    tuples = [Tuple("t", tuple("abc")), Tuple("u", tuple("def"))]
    answers = [Annotation("t", "ann", "a", "b"), Annotation("u", "ann", "d", "e")]
    assert "2 groups of items" in score_answers(tuples, answers).text()
