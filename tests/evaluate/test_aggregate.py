"""Aggregates by hand, intervals that behave, and folds that test every row once."""

import random
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from firth import evaluate
from firth.evaluate.figures import (
    Aggregate,
    Scheme,
    aggregate,
    divide,
    parse_aggregates,
    parts_of,
)
from firth.evaluate.load import load_set
from firth.evaluate.metrics import Metric, estimate
from firth.evaluate.rows import EvaluationSet, Row
from firth.evaluate.task import ALL, TASKS
from firth.run.errors import InputError

SIZES = {"death_penalty": 40, "gay_marriage": 90, "gun_control": 30}
RNG = np.random.default_rng(5)
GOLD = {name: RNG.uniform(0, 5, size) for name, size in SIZES.items()}
ROWS = tuple(
    Row((f"{name} {i}", "b"), float(score), name)
    for name, scores in GOLD.items()
    for i, score in enumerate(scores)
)
DATA = EvaluationSet(TASKS["afs"], ALL, ROWS, "made up")
SCORES = np.concatenate(list(GOLD.values())) * 0.3 + RNG.normal(size=len(ROWS))


def by_topic(metric: Metric) -> dict[str, float]:
    function = spearmanr if metric is Metric.SPEARMAN else pearsonr
    gold = np.array([row.score for row in ROWS])
    return {
        name: 100 * float(function(gold[rows], SCORES[rows])[0])
        for name, rows in DATA.subtasks.items()
    }


@pytest.mark.parametrize("metric", [Metric.SPEARMAN, Metric.PEARSON])
def test_aggregates_by_hand(metric: Metric) -> None:
    """scipy on each part, then the mean, plain or by numbers of rows."""
    topics = by_topic(metric)
    values = {how: aggregate(DATA, SCORES, metric, how, resamples=10).value for how in Aggregate}
    mean = np.mean([topics[name] for name in SIZES])
    weighted = sum(topics[name] * size for name, size in SIZES.items()) / len(ROWS)
    assert values[Aggregate.ALL] == pytest.approx(topics[ALL])
    assert values[Aggregate.MEAN] == values[Aggregate.CROSS_TOPIC] == pytest.approx(mean)
    assert values[Aggregate.WEIGHTED] == pytest.approx(weighted)
    assert len({round(float(v or 0), 6) for v in values.values()}) == 4


def test_ten_folds_are_averaged() -> None:
    """The mean over the test parts of the folds."""
    folds = parts_of(DATA, Aggregate.FOLDS, 13)
    assert len(folds) == 10
    gold = np.array([row.score for row in ROWS])
    mean = np.mean([pearsonr(gold[rows], SCORES[rows])[0] for rows in folds.values()])
    found = aggregate(DATA, SCORES, Metric.PEARSON, Aggregate.FOLDS, resamples=50)
    assert found.value == pytest.approx(100 * mean)
    assert found.low is not None
    assert found.high is not None
    assert found.value is not None
    assert found.low < found.value < found.high


def test_one_part_is_the_whole() -> None:
    """Without subtasks, every average is the figure over all rows, interval included nearly."""
    rows = tuple(Row(row.texts, row.score) for row in ROWS)
    data = EvaluationSet(TASKS["afs"], ALL, rows, "made up")
    x = np.array([row.score for row in rows])
    whole = estimate(Metric.SPEARMAN, x, SCORES, seed=13)
    for how in (Aggregate.MEAN, Aggregate.WEIGHTED):
        found = aggregate(data, SCORES, Metric.SPEARMAN, how)
        assert found.value == pytest.approx(whole.value)
        assert found.low == pytest.approx(whole.low, abs=1.5)


def test_the_order_of_rows_does_not_matter() -> None:
    """Neither for the value nor for the interval."""
    order = np.random.default_rng(1).permutation(len(ROWS))
    data = EvaluationSet(TASKS["afs"], ALL, tuple(ROWS[i] for i in order), "made up")
    for how in Aggregate:
        one = aggregate(DATA, SCORES, Metric.SPEARMAN, how, resamples=20)
        two = aggregate(data, SCORES[order], Metric.SPEARMAN, how, resamples=20)
        assert (one.value, one.low, one.high) == pytest.approx((two.value, two.low, two.high))


def test_an_undefined_part_makes_the_mean_undefined() -> None:
    """With the part's name in the reason."""
    scores = SCORES.copy()
    scores[DATA.subtasks["gun_control"]] = 1.0
    found = aggregate(DATA, scores, Metric.PEARSON, Aggregate.MEAN)
    assert found.value is None
    assert "gun_control" in str(found.reason)


def test_sets_of_shared_texts_have_one_aggregate() -> None:
    """Lee's pairs are not independent: resampling rows would lie."""
    data = load_set(TASKS["lee"])
    scores = np.arange(len(data.rows), dtype=np.float64)
    assert aggregate(data, scores, Metric.PEARSON, Aggregate.ALL, resamples=5).n == 1225
    with pytest.raises(InputError, match="share texts"):
        aggregate(data, scores, Metric.PEARSON, Aggregate.MEAN)


def test_evaluations_report_aggregates_on_request(data_dir: Path, tmp_path: Path) -> None:
    """Beside `all`, in results and table; the second time from the cache, and equal."""
    hows = [Aggregate.MEAN, Aggregate.WEIGHTED, Aggregate.FOLDS, Aggregate.ALL]
    one, two = (
        evaluate(
            "baseline:dice",
            ["sts13", "lee"],
            data_dir,
            aggregates=hows,
            resamples=20,
            cache=tmp_path,
        )
        for _ in range(2)
    )
    assert one.results == two.results
    found = {r.subtask: r.value for r in one.results if (r.task, r.metric) == ("sts13", "spearman")}
    assert found["mean"] == pytest.approx(
        sum(float(found[name] or 0) for name in ("FNWN", "OnWN")) / 2
    )
    assert {"weighted", "10-fold", "all"} <= set(found)
    assert [r.subtask for r in one.results if r.task == "lee"] == ["all", "all"]
    lines = one.table().splitlines()
    assert any("weighted" in line for line in lines)
    assert not any("FNWN" in line for line in lines[2:6])
    plain = evaluate("baseline:dice", ["sts13"], data_dir, resamples=20)
    assert {r.subtask for r in plain.results} == {"all", "FNWN", "OnWN"}
    assert "subtask" not in plain.table().splitlines()[0]


def test_unknown_aggregates_are_refused() -> None:
    """With the known ones."""
    assert parse_aggregates(["mean", "10-fold"]) == [Aggregate.MEAN, Aggregate.FOLDS]
    with pytest.raises(InputError, match="expected one of all, mean, weighted"):
        parse_aggregates(["median"])


# Folds: every row is tested once, and nothing is trained on what it is tested on.

TOPICS = ("gun_control", "gay_marriage", "death_penalty")


def arguments(count: int = 75, shuffled: int | None = None) -> EvaluationSet:
    """An AFS of `count` rows, a third of them a topic."""
    rows = [Row((f"one {i}", f"two {i}"), i % 6, TOPICS[i % 3]) for i in range(count)]
    if shuffled is not None:
        random.Random(shuffled).shuffle(rows)
    return EvaluationSet(TASKS["afs"], ALL, tuple(rows), "made up")


@pytest.mark.parametrize("scheme", Scheme)
def test_every_row_is_tested_once(scheme: Scheme) -> None:
    """The test parts are a partition; train and test are one another's complement."""
    data = arguments()
    folds = divide(data, scheme)
    tested = np.concatenate([fold.test for fold in folds])
    np.testing.assert_array_equal(np.sort(tested), np.arange(75))
    for fold in folds:
        both = np.concatenate([fold.train, fold.test])
        np.testing.assert_array_equal(np.sort(both), np.arange(75))


def test_random_folds_are_even() -> None:
    """Sizes differ by one at most, and so do the topics within them."""
    data = arguments()
    folds = divide(data, Scheme.RANDOM)
    assert len(folds) == 10
    assert {len(fold.test) for fold in folds} == {7, 8}
    for fold in folds:
        topics = [data.rows[i].subtask for i in fold.test]
        assert all(2 <= topics.count(topic) <= 3 for topic in TOPICS)


def test_folds_follow_from_rows_and_seed_alone() -> None:
    """The order of the file changes nothing; the seed does."""

    def texts(data: EvaluationSet, seed: int) -> list[set[str]]:
        folds = divide(data, Scheme.RANDOM, seed)
        return [{data.rows[i].texts[0] for i in fold.test} for fold in folds]

    assert texts(arguments(), 13) == texts(arguments(shuffled=4), 13)
    assert texts(arguments(), 13) != texts(arguments(), 14)


def test_cross_topic_folds_hold_out_a_topic() -> None:
    """Named by it; nothing of it is trained on."""
    data = arguments()
    folds = divide(data, Scheme.CROSS_TOPIC)
    assert [fold.name for fold in folds] == sorted(TOPICS)
    for fold in folds:
        assert {data.rows[i].subtask for i in fold.test} == {fold.name}
        assert fold.name not in {data.rows[i].subtask for i in fold.train}


def test_sets_that_cannot_be_divided() -> None:
    """Too few rows, or no topics."""
    with pytest.raises(InputError, match="cannot make 10 folds"):
        divide(arguments(6), Scheme.RANDOM)
    one = EvaluationSet(TASKS["afs"], ALL, (Row(("a", "b"), 1.0),) * 3, "made up")
    with pytest.raises(InputError, match="takes two or more"):
        divide(one, Scheme.CROSS_TOPIC)
