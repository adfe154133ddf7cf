"""Simulated annotators do what their description says."""

import numpy as np
import pytest

from firth.ratings.design import design_tuples
from firth.ratings.reliability import split_half
from firth.ratings.simulate import calibrate_noise, simulate_judgements
from firth.run.errors import InputError

TRUTH = np.arange(40) / 39
ROWS = design_tuples(40)


def test_without_noise_answers_are_right() -> None:
    judged = simulate_judgements(TRUTH, ROWS, 3, 0.0, seed=1)
    members = ROWS[judged.asked]
    assert np.array_equal(judged.best, members.max(axis=1))
    assert np.array_equal(judged.worst, members.min(axis=1))
    assert (judged.answered == 3).all()


def test_noise_is_found_again() -> None:
    noise = calibrate_noise(TRUTH, ROWS, 4, 0.7, seed=2)
    judged = simulate_judgements(TRUTH, ROWS, 4, noise, seed=2)
    spearman, _ = split_half(judged, seed=2, splits=20)
    assert np.nanmean(spearman) == pytest.approx(0.7, abs=0.02)
    with pytest.raises(InputError, match="no noise gives"):
        calibrate_noise(TRUTH, ROWS, 4, -0.5, seed=2)
