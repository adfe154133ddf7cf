"""Simulated annotators do what their description says."""

from dataclasses import replace

import numpy as np
import pytest

from firth.ratings.answers import sort_answers
from firth.ratings.design import design_tuples
from firth.ratings.records import Item, Tuple
from firth.ratings.reliability import split_half
from firth.ratings.simulate import (
    Crowd,
    calibrate_noise,
    clearest,
    simulate_answers,
    simulate_judgements,
)
from firth.run.errors import InputError

TRUTH = np.arange(40) / 39
ROWS = design_tuples(40)


def test_without_noise_answers_are_right() -> None:
    judged, who = simulate_judgements(TRUTH, ROWS, 3, Crowd(0.0, 10), seed=1)
    members = ROWS[judged.asked]
    assert np.array_equal(judged.best, members.max(axis=1))
    assert np.array_equal(judged.worst, members.min(axis=1))
    assert len({*zip(judged.asked.tolist(), who.tolist(), strict=True)}) == len(judged)
    assert np.ptp(np.bincount(who)) <= 1, "annotators have about the same number of answers"


def test_noise_is_found_again() -> None:
    noise = calibrate_noise(TRUTH, ROWS, 4, Crowd(0.0), 0.7, seed=2)
    judged, _ = simulate_judgements(TRUTH, ROWS, 4, Crowd(noise), seed=2)
    assert np.nanmean(split_half(judged, seed=2, splits=20).spearman) == pytest.approx(
        0.7, abs=0.02
    )
    with pytest.raises(InputError, match="no noise gives"):
        calibrate_noise(TRUTH, ROWS, 4, Crowd(0.0, careless=1.0), 0.7, seed=2)


def test_gold_questions_are_the_clearest_and_careless_annotators_fail() -> None:
    items = [Item(f"i{n}", ("x",), float(score)) for n, score in enumerate(TRUTH)]
    tuples = [Tuple(f"t{n}", tuple(f"i{k}" for k in row)) for n, row in enumerate(ROWS.tolist())]
    found = simulate_answers(items, tuples, Crowd(0.01, 8, 0.25), gold=10, seed=3)
    ordered = np.sort(TRUTH[ROWS], axis=1)
    clear = np.minimum(ordered[:, -1] - ordered[:, -2], ordered[:, 1] - ordered[:, 0])
    chosen = clearest(TRUTH, ROWS, 10)
    assert clear[chosen].min() >= np.delete(clear, chosen).max()
    assert [one.tuple for one in found.gold] == [f"t{n}" for n in chosen]
    answers = sort_answers(tuples, found.annotations, found.gold)
    assert {one.name for one in answers.failed} == {"w1", "w2"}
    with pytest.raises(InputError, match="no score, such as 'i0'"):
        simulate_answers([replace(item, score=None) for item in items], tuples, Crowd(0.1))


def test_what_cannot_be_simulated_is_refused() -> None:
    with pytest.raises(InputError, match="simulated annotators"):
        Crowd(-1.0)
    with pytest.raises(InputError, match="3 answers to a tuple by 2 annotators"):
        simulate_judgements(TRUTH, ROWS, 3, Crowd(0.1, 2), seed=1)
