"""Judgements of simulated annotators, shared by the tests of best-worst scaling."""

import numpy as np

from firth.relatedness.bws.answers import Judgements
from firth.relatedness.bws.design import Floats, design_tuples
from firth.relatedness.bws.simulate import Crowd, simulate_judgements


def truth_of(items: int, seed: int = 3) -> Floats:
    """True scores, evenly spread over 0…1, in random order."""
    return np.random.default_rng(seed).permutation(np.arange(items) / (items - 1))


def judged(
    items: int = 60, answers: int = 2, noise: float = 0.15, seed: int = 1, factor: float = 2.0
) -> tuple[Judgements, Floats]:
    """Judgements, and the truth behind them."""
    truth = truth_of(items)
    tuples = design_tuples(items, factor=factor, seed=seed)
    found, _ = simulate_judgements(truth, tuples, answers, Crowd(noise), seed=seed)
    return found, truth
