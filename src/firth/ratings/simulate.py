"""Simulated answers, with which a design is tested before people are asked.

An annotator sees each item of a tuple at its true score plus noise, drawn for each answer, and
names the largest and the smallest one (Thurstone 1927, case V).
"""

import numpy as np

from firth.ratings.answers import Judgements
from firth.ratings.reliability import split_half
from firth.run.errors import InputError
from firth.run.seeds import derive_seed
from firth.text.arrays import Floats, Ints

_SPLITS = 20
_LARGEST = 50.0
"""Noise, in standard deviations of the true scores, with which answers are practically random."""


def simulate_judgements(
    truth: Floats, tuples: Ints, answers: int, noise: float, *, seed: int
) -> Judgements:
    """Let simulated annotators answer tuples; items are called by their numbers.

    Args:
        truth: True scores, (N,).
        tuples: Numbers of items, (T, n).
        answers: Answers to each tuple.
        noise: Standard deviation of the noise, in units of the true scores.
        seed: Decides the noise.
    """
    rng = np.random.default_rng(derive_seed(seed, "bws", "simulate"))
    asked = np.repeat(np.arange(len(tuples)), answers)
    members, rows = tuples[asked], np.arange(len(asked))
    seen = truth[members] + noise * rng.standard_normal(members.shape)
    # Of equal items the first is the best and the last the worst, so that they differ.
    last = tuples.shape[1] - 1 - seen[:, ::-1].argmin(axis=1)
    best, worst = members[rows, seen.argmax(axis=1)], members[rows, last]
    return Judgements(tuple(map(str, range(len(truth)))), tuples, asked, best, worst)


def calibrate_noise(
    truth: Floats, tuples: Ints, answers: int, target: float, *, seed: int
) -> float:
    """Return the noise with which the mean split-half reliability of answers is `target`.

    Reliability falls as noise grows, so a root finder finds it; each try uses the same random
    numbers. Arguments are those of `simulate_judgements`; the noise is in units of the true scores.

    Raises:
        InputError: No noise gives the target.
    """
    from scipy.optimize import brentq

    spread = float(np.std(truth))

    def miss(noise: float) -> float:
        judged = simulate_judgements(truth, tuples, answers, noise * spread, seed=seed)
        return float(np.nanmean(split_half(judged, seed=seed, splits=_SPLITS)[0])) - target

    best, worst = miss(0.0), miss(_LARGEST)
    if not worst < 0 < best:
        raise InputError(
            f"no noise gives a reliability of {target:g}: it is {best + target:.3f} without noise, "
            f"and {worst + target:.3f} with very much"
        )
    return spread * float(brentq(miss, 0.0, _LARGEST, xtol=1e-3))
