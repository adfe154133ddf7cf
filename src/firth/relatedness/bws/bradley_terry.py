"""Scores by a model: Bradley–Terry on the pairs that best-worst answers imply."""

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from firth.relatedness.bws.design import Ints
from firth.relatedness.bws.judgements import Floats, Judgements
from firth.run.errors import InputError

PRIOR = 1.5
"""On simulated answers as reliable as STR-2021's anything from 1 to 8 is as good."""


def implied_pairs(judgements: Judgements) -> Ints:
    """Pairs (winner, loser): the best beats all others, and all others beat the worst.

    A tuple of n items gives 2n − 3 of them, five of a 4-tuple (Abdalla et al., §2.2).

    Returns:
        Shape (A × (2n − 3), 2), numbers of items.
    """
    members = judgements.tuples[judgements.asked]
    best, worst = judgements.best[:, None], judgements.worst[:, None]
    middle = members[(members != best) & (members != worst)].reshape(len(members), -1)
    above = np.stack([np.broadcast_to(best, middle.shape), middle], axis=-1)
    below = np.stack([middle, np.broadcast_to(worst, middle.shape)], axis=-1)
    ends = np.stack([best, worst], axis=-1)
    return np.concatenate([above, below, ends], axis=1).reshape(-1, 2)


def fit_strengths(judgements: Judgements, prior: float = PRIOR) -> Floats:
    """Strengths θ with p(i beats j) = 1 / (1 + exp(θ_j − θ_i)); Bradley and Terry (1952).

    A normal prior keeps the strength of an item finite that won or lost every time. The implied
    pairs of one answer are not independent, so the likelihood says nothing about precision.

    Args:
        judgements: Usable answers.
        prior: Standard deviation of the prior, in log-odds.

    Returns:
        Shape (N,), log-odds with mean 0 over judged items; not a number for items never judged.

    Raises:
        InputError: A prior that is not above 0.
    """
    from sklearn.linear_model import LogisticRegression

    if not prior > 0:
        raise InputError(f"prior: got {prior:g}; expected a standard deviation above 0")
    pairs = implied_pairs(judgements)
    # Logistic regression without intercept on rows +1 (winner), −1 (loser); every other row is
    # turned round, because the library wants both outcomes.
    outcome = np.arange(len(pairs)) % 2
    signs = np.where(outcome, 1.0, -1.0)[:, None] * np.array([1.0, -1.0])
    ends = np.arange(0, 2 * len(pairs) + 1, 2)
    rows = csr_array(
        (signs.ravel(), pairs.ravel(), ends), shape=(len(pairs), len(judgements.items))
    )
    model = LogisticRegression(C=prior**2, fit_intercept=False, tol=1e-6, max_iter=10_000)
    strengths = np.asarray(model.fit(rows, outcome).coef_[0], dtype=np.float64)
    judged = judgements.count().shown > 0
    strengths -= strengths[judged].mean()
    strengths[~judged] = np.nan
    return strengths


def chances(strengths: Floats) -> Floats:
    """The chance of beating an item of strength 0, in 0…1; same shape as `strengths`."""
    return np.asarray(expit(strengths))
