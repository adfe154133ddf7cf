"""Folds: every row is tested once, and nothing is trained on what it is tested on."""

import random

import numpy as np
import pytest

from firth.evaluate.aggregate import Scheme, divide
from firth.evaluate.rows import EvaluationSet, Row
from firth.evaluate.task import ALL, TASKS
from firth.run.errors import InputError

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
    with pytest.raises(InputError, match="at least two subtasks"):
        divide(one, Scheme.CROSS_TOPIC)
