"""Scores by counting are what their definition says, and their intervals hold the truth."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firth.ratings.answers import to_scores
from firth.ratings.records import Annotation, Gold, Tuple
from firth.ratings.score import score_answers, score_intervals

from .conftest import Judged


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(7, 30), st.integers(1, 4), st.integers(0, 1 << 30))
def test_counts_and_bounds(judged: Judged, items: int, answers: int, seed: int) -> None:
    found, _ = judged(items, answers, seed=seed, factor=1.0)
    shown, best, worst = found.count()
    assert shown.sum() == 4 * len(found)
    assert best.sum() == worst.sum() == len(found)
    if len(set(shown.tolist())) == 1:
        assert to_scores(best - worst, shown).mean() == pytest.approx(0.5)
    low, high = score_intervals(found)
    assert np.all((low >= 0) & (low <= high) & (high <= 1))


def test_intervals_narrow_with_tuples_and_hold_the_score(judged: Judged) -> None:
    """Half the width takes about four times the tuples; one tuple gives no interval."""
    widths = []
    for factor in (2.0, 8.0):
        found, _ = judged(items=80, noise=0.3, factor=factor)
        low, high = score_intervals(found)
        shown, best, worst = found.count()
        scores = to_scores(best - worst, shown)
        assert np.all((low <= scores) & (scores <= high))
        widths.append((high - low).mean())
    assert 0.3 < widths[1] / widths[0] < 0.6
    single, _ = judged(items=16, factor=0.25)
    assert np.isnan(score_intervals(single)[0]).all()


def test_files_hold_the_scores(tmp_path: Path) -> None:
    tuples = [Tuple("t", tuple("abcd")), Tuple("g", tuple("abce"))]
    answers = [
        Annotation("t", "ann", "a", "d", line=2),
        Annotation("g", "bob", "b", "e", line=3),
        Annotation("t", "bob", "b", "c", line=4),
        Annotation("t", "eve", "b", "", line=5),
    ]
    for name in "xy":
        (tmp_path / name).mkdir()
        found = score_answers(tuples, answers, [Gold("g", "a", "e")])
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
