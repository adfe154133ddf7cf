"""Answers that count, scores by counting with intervals, and their reliability."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from firth.ratings.answers import Fault, Judgements, sort_answers, to_scores
from firth.ratings.records import Annotation, Gold, Tuple
from firth.ratings.reliability import correlate_halves, draw_halves, measure_reliability
from firth.ratings.score import score_answers, score_intervals

from .conftest import judged

TUPLES = [Tuple("t", tuple("abcd")), Tuple("u", tuple("abce")), Tuple("g", tuple("abcd"))]
GOLD = [Gold("g", "a", "d")]


def test_each_fault_has_its_reason() -> None:
    table = (
        ("x ann a b", Fault.UNKNOWN_TUPLE), ("t ann - -", Fault.EMPTY),
        ("t ann e a", Fault.STRANGE_ITEM), ("t ann a -", Fault.INCOMPLETE),
        ("t ann a a", Fault.SAME), ("t ann a b", None), ("t ann a b", Fault.REPEATED),
        ("u ann a b", Fault.CONTRADICTORY), ("u ann b a", Fault.CONTRADICTORY),
        ("g ann a d", Fault.GOLD), ("g bob d a", Fault.FAILED), ("t bob c d", Fault.FAILED),
    )  # fmt: skip
    rows = [[cell.strip("-") for cell in row.split()] for row, _ in table]
    answers = [Annotation(of, who, best, worst) for of, who, best, worst in rows]
    found = sort_answers(TUPLES, answers, GOLD)
    assert found.kept == (answers[5],)
    assert [why for _, why in found.left_out] == [why for _, why in table if why]
    assert [one.name for one in found.failed] == ["bob"]
    assert "bob (0 of 1 right)" in found.text()


@pytest.mark.parametrize(("right", "passed"), [(6, False), (7, True), (10, True)])
def test_seven_of_ten_gold_answers_are_enough(right: int, passed: bool) -> None:
    tuples = [Tuple(f"g{n}", tuple("abcd")) for n in range(10)] + TUPLES[:1]
    gold = [Gold(f"g{n}", "a", "d") for n in range(10)]
    answers = [Annotation(f"g{n}", "ann", "a" if n < right else "b", "d") for n in range(10)]
    answers += [Annotation("t", who, "a", "b") for who in ("ann", "unchecked")]
    found = sort_answers(tuples, answers, gold)
    assert ("ann" in {one.annotator for one in found.kept}) == passed
    assert "unchecked" in {one.annotator for one in found.kept}


def test_the_first_answer_to_a_gold_question_is_checked() -> None:
    answers = [
        Annotation("g", "ann", "b", "c"),
        Annotation("g", "ann", "a", "d"),
        Annotation("t", "bob", "a", "b"),
    ]
    assert [one.gold_right for one in sort_answers(TUPLES, answers, GOLD).annotators] == [0, 0]


@settings(max_examples=20)
@given(st.integers(7, 30), st.integers(1, 4), st.integers(0, 1 << 30))
def test_counts_and_bounds(items: int, answers: int, seed: int) -> None:
    found = judged(items, answers, seed=seed, factor=1.0)
    shown, best, worst = found.count()
    assert shown.sum() == 4 * len(found)
    assert best.sum() == worst.sum() == len(found)
    if len(set(shown.tolist())) == 1:
        assert to_scores(best - worst, shown).mean() == pytest.approx(0.5)
    low, high = score_intervals(found)
    assert np.all((low >= 0) & (low <= high) & (high <= 1))


def test_intervals_narrow_with_tuples_and_hold_the_score() -> None:
    """Half the width takes about four times the tuples; one tuple gives no interval."""
    widths = []
    for factor in (2.0, 8.0):
        found = judged(items=80, noise=0.3, factor=factor)
        low, high = score_intervals(found)
        shown, best, worst = found.count()
        scores = to_scores(best - worst, shown)
        assert np.all((low <= scores) & (scores <= high))
        widths.append((high - low).mean())
    assert 0.3 < widths[1] / widths[0] < 0.6
    single = judged(items=16, factor=0.25)
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


def slow_correlations(found: Judgements, halves: list[bool]) -> tuple[float, float]:
    """Correlate one split as a person would do it."""
    scores: list[dict[int, float]] = []
    for half in (True, False):
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
def test_correlations_are_those_of_a_person(answers: int) -> None:
    found = judged(items=40, answers=answers)
    for seed in range(6):
        halves = draw_halves(found, np.random.default_rng(seed))
        slow = slow_correlations(found, halves.tolist())
        assert correlate_halves(found, halves) == pytest.approx(slow, abs=1e-12)


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
    halves = draw_halves(found, np.random.default_rng(seed))
    for number, answers in enumerate(numbers):
        mine = halves[found.asked == number]
        assert abs(2 * int(mine.sum()) - answers) == answers % 2


def test_reliability_rises_with_answers() -> None:
    found = judged(items=200, answers=8, noise=0.3)
    few = judged(items=200, answers=2, noise=0.3)
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
