"""Simulated annotators do what their description says."""

import numpy as np
import pytest

from firth.ratings.design import design_tuples
from firth.ratings.reliability import split_half
from firth.ratings.simulate import (
    Crowd,
    calibrate_noise,
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


def test_careless_annotators_choose_at_random() -> None:
    judged, who = simulate_judgements(TRUTH, ROWS, 4, Crowd(0.0, 8, careless=0.25), seed=3)
    right = judged.best == ROWS[judged.asked].max(axis=1)
    assert right[who >= 2].all()
    assert 0.1 < right[who < 2].mean() < 0.5


def test_what_cannot_be_simulated_is_refused() -> None:
    with pytest.raises(InputError, match="simulated annotators"):
        Crowd(-1.0)
    with pytest.raises(InputError, match="3 answers to a tuple by 2 annotators"):
        simulate_judgements(TRUTH, ROWS, 3, Crowd(0.1, 2), seed=1)
