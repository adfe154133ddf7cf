"""How much noise annotators have: the amount at which simulated answers are as reliable as given.

Reliability falls as noise grows, so the amount is found by root finding; each try uses the same
random numbers.
"""

from dataclasses import replace

import numpy as np

from firth.relatedness.bws.design import Ints, design_tuples
from firth.relatedness.bws.judgements import Floats
from firth.relatedness.bws.simulate import Crowd, simulate_judgements
from firth.relatedness.bws.split_half import split_half
from firth.run.errors import InputError
from firth.run.progress import bar

STR_ITEMS, STR_FACTOR, STR_ANSWERS, STR_SHR = 5_500, 2.0, 2, 0.84
"""STR-2021: pairs, tuples a pair, answers to a tuple, split-half reliability (Abdalla et al.,
§3.2, Table 3; 21,936 answers to 11,000 tuples)."""
_SPLITS = 20
_LARGEST = 50.0
"""Noise in standard deviations of the truth, at which answers are as good as random."""


def calibrate_noise(
    truth: Floats, tuples: Ints, answers: int | Ints, crowd: Crowd, target: float, *, seed: int
) -> float:
    """The noise with which simulated answers have a given split-half reliability.

    Args:
        truth: True scores, shape (N,).
        tuples: Numbers of items, shape (T, n).
        answers: Answers to each tuple; one number, or shape (T,).
        crowd: Who answers; its own noise does not matter.
        target: Mean Spearman correlation of the halves.
        seed: Of the simulation.

    Returns:
        Standard deviation of the noise, in units of the scores.

    Raises:
        InputError: A target outside (0, 1), or one that no noise reaches: careless annotators, or
            true scores all alike, can make answers less reliable than that.
    """
    from scipy.optimize import brentq

    if not 0 < target < 1:
        raise InputError(f"reliability: got {target:g}; expected a correlation between 0 and 1")
    spread = float(np.std(truth))
    if spread == 0:
        raise InputError("the true scores are all alike; nothing can be told apart")

    def miss(noise: float) -> float:
        found, _ = simulate_judgements(
            truth, tuples, answers, replace(crowd, noise=noise * spread), seed=seed
        )
        return float(np.nanmean(split_half(found, seed=seed, splits=_SPLITS).spearman)) - target

    with bar("noise of annotators"):
        best, worst = miss(0.0), miss(_LARGEST)
        if not worst < 0 < best:
            raise InputError(
                f"no noise gives a reliability of {target:g}: without noise it is "
                f"{best + target:.3f}, with very much {worst + target:.3f}"
            )
        return spread * float(brentq(miss, 0.0, _LARGEST, xtol=1e-3))


def evenly_spread(items: int) -> Floats:
    """True scores where none are known: evenly spread over 0…1, shape (items,)."""
    return (np.arange(items) + 0.5) / items


def like(scores: Floats, items: int) -> Floats:
    """True scores of any number of items that are spread like known ones, shape (items,)."""
    return np.asarray(np.quantile(scores, evenly_spread(items)))


def noise_of_str(crowd: Crowd, scores: Floats | None, *, seed: int) -> float:
    """The noise with which STR-2021's design has STR-2021's reliability.

    Args:
        crowd: Who answers.
        scores: How true scores are spread; None for evenly over 0…1.
        seed: Of design and simulation.
    """
    truth = evenly_spread(STR_ITEMS) if scores is None else like(scores, STR_ITEMS)
    truth = np.random.default_rng(seed).permutation(truth)
    tuples = design_tuples(STR_ITEMS, factor=STR_FACTOR, seed=seed)
    return calibrate_noise(truth, tuples, STR_ANSWERS, crowd, STR_SHR, seed=seed)
