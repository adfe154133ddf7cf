"""Simulated annotators, with which a design is tested before people are asked.

An annotator sees each item of a tuple at its true score plus noise, drawn for each answer, and
names the largest and the smallest one (Thurstone 1927, case V).
"""

from dataclasses import dataclass, replace

import numpy as np

from firth.ratings.answers import Judgements
from firth.ratings.reliability import split_half
from firth.run.errors import InputError
from firth.run.seeds import derive_seed
from firth.text.arrays import Floats, Ints

_SPLITS = 20
_LARGEST = 50.0
"""Noise, in standard deviations of the true scores, with which answers are practically random."""


@dataclass(frozen=True)
class Crowd:
    """Simulated annotators.

    Attributes:
        noise: Standard deviation of the noise, in units of the true scores.
        annotators: Number of annotators.
        careless: Share of them that answers at random; these are the first ones.
    """

    noise: float
    annotators: int = 100
    careless: float = 0.0

    def __post_init__(self) -> None:
        good = 0 <= self.noise < float("inf") and 0 <= self.careless <= 1 and self.annotators >= 1
        if not good:
            raise InputError(
                f"simulated annotators: got {self}; expected noise of 0 or more, a careless share "
                "from 0 to 1, and one annotator or more"
            )

    @property
    def n_careless(self) -> int:
        """Number of annotators that answer at random."""
        return round(self.careless * self.annotators)


def simulate_judgements(
    truth: Floats, tuples: Ints, answers: int | Ints, crowd: Crowd, *, seed: int
) -> tuple[Judgements, Ints]:
    """Let simulated annotators answer tuples; each has about the same number of answers to give.

    Args:
        truth: True scores, (N,).
        tuples: Numbers of items, (T, n).
        answers: Answers to each tuple, by different annotators: a number, or (T,).
        crowd: The annotators.
        seed: Decides everything.

    Returns:
        The judgements, in which items are called by their numbers, and the number of the annotator
        of each, (A,).

    Raises:
        InputError: There are more answers to a tuple than annotators.
    """
    most = int(np.max(answers))
    if not 1 <= most <= crowd.annotators:
        raise InputError(
            f"got {most} answers to a tuple by {crowd.annotators} annotators; expected 1 or more, "
            "and at least as many annotators"
        )
    rng = np.random.default_rng(derive_seed(seed, "bws", "simulate"))
    asked = np.repeat(np.arange(len(tuples)), answers)
    who = rng.permutation(crowd.annotators)[np.arange(len(asked)) % crowd.annotators]
    best, worst = _answer(truth, tuples[asked], who, crowd, rng)
    return Judgements(tuple(map(str, range(len(truth)))), tuples, asked, best, worst), who


def calibrate_noise(
    truth: Floats, tuples: Ints, answers: int | Ints, crowd: Crowd, target: float, *, seed: int
) -> float:
    """Return the noise with which the mean split-half reliability of answers is `target`.

    Reliability falls as noise grows, so a root finder finds it; each try uses the same random
    numbers. Arguments are those of `simulate_judgements`; the noise is in units of the true scores.

    Raises:
        InputError: No noise gives the target.
    """
    from scipy.optimize import brentq

    spread = float(np.std(truth))
    if not 0 < target < 1 or spread == 0:
        raise InputError(
            f"reliability {target:g}, standard deviation {spread:g} of the true scores: expected a "
            "correlation between 0 and 1, and scores that differ"
        )

    def miss(noise: float) -> float:
        noisy = replace(crowd, noise=noise * spread)
        judged, _ = simulate_judgements(truth, tuples, answers, noisy, seed=seed)
        halves = split_half(judged, seed=seed, splits=_SPLITS).spearman
        return float(np.nanmean(halves)) - target

    best, worst = miss(0.0), miss(_LARGEST)
    if not worst < 0 < best:
        raise InputError(
            f"no noise gives a reliability of {target:g}: it is {best + target:.3f} without noise, "
            f"and {worst + target:.3f} with very much"
        )
    return spread * float(brentq(miss, 0.0, _LARGEST, xtol=1e-3))


def _answer(
    truth: Floats, members: Ints, who: Ints, crowd: Crowd, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    noise = rng.standard_normal(members.shape)
    seen = truth[members] + crowd.noise * noise
    careless = who < crowd.n_careless
    seen[careless] = noise[careless]
    n, rows = members.shape[1], np.arange(len(members))
    best, worst = seen.argmax(axis=1), n - 1 - seen[:, ::-1].argmin(axis=1)
    return members[rows, best], members[rows, worst]
