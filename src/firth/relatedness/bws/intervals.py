"""How sure the score of each item is: a bootstrap over the tuples it was judged in."""

import math

import numpy as np

from firth.relatedness.bws.design import Ints
from firth.relatedness.bws.judgements import Floats, Judgements, to_scores
from firth.run.progress import bar

RESAMPLES = 1_000
_BLOCK = 1 << 22


def score_intervals(
    judgements: Judgements, *, seed: int, resamples: int = RESAMPLES, confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Expanded percentile intervals of scores by counting (Hesterberg 2015).

    For each item its tuples are drawn again, each with all answers to it: answers to one tuple
    share its other items, and are not independent. Of eight tuples, plain percentiles are too
    narrow, so that those of a t distribution are taken instead. An item that was chosen best (or
    worst) every time has an interval of width 0: a bootstrap does not know of what it has not seen.

    Args:
        judgements: Usable answers.
        seed: Of the resampling.
        resamples: Draws an item.
        confidence: Of the intervals, in (0, 1).

    Returns:
        Lower and upper ends, each of shape (N,), in 0…1; not a number for items judged in less than
        two tuples, of which nothing can be said.
    """
    low, high = (np.full(len(judgements.items), np.nan) for _ in range(2))
    rng = np.random.default_rng(seed)
    with bar("intervals of scores", len(judgements.items)) as shown:
        for items, differences, counts in _by_number_of_tuples(judgements):
            width = differences.shape[1]
            if width < 2:
                shown.advance(len(items))
                continue
            ends = _ends(width, confidence)
            step = max(1, _BLOCK // (resamples * width))
            for start in range(0, len(items), step):
                rows = slice(start, start + step)
                size = len(items[rows])
                drawn = rng.integers(width, size=(size, resamples * width))
                won = np.take_along_axis(differences[rows], drawn, axis=1)
                asked = np.take_along_axis(counts[rows], drawn, axis=1)
                shape = (size, resamples, width)
                scores = to_scores(won.reshape(shape).sum(2), asked.reshape(shape).sum(2))
                low[items[rows]], high[items[rows]] = np.quantile(scores, ends, axis=1)
                shown.advance(size)
    return low, high


def _ends(tuples: int, confidence: float) -> tuple[float, float]:
    """Percentiles such that a normal mean would have t intervals with so many observations."""
    from scipy.stats import norm, t

    quantile = float(t.ppf((1 + confidence) / 2, tuples - 1))
    low = float(norm.cdf(-quantile * math.sqrt(tuples / (tuples - 1))))
    return low, 1 - low


def _by_number_of_tuples(judgements: Judgements) -> list[tuple[Ints, Ints, Ints]]:
    """Items judged in equally many tuples: their numbers (m,), and for each of these tuples times
    best less times worst, and number of answers, both (m, tuples).
    """
    tuples, n = judgements.tuples, len(judgements.items)
    answered = np.bincount(judgements.asked, minlength=len(tuples))
    used = np.flatnonzero(answered)
    items = tuples[used].ravel()
    places = np.repeat(used, tuples.shape[1])
    codes = items * len(tuples) + places  # one for each item in each tuple
    order = np.argsort(codes)
    codes = codes[order]
    won = np.zeros(len(codes), dtype=np.int64)
    for chosen, sign in ((judgements.best, 1), (judgements.worst, -1)):
        at = np.searchsorted(codes, chosen * len(tuples) + judgements.asked)
        np.add.at(won, at, sign)
    counts = answered[places[order]]
    per_item = np.bincount(items, minlength=n)
    starts = np.cumsum(per_item) - per_item
    groups = []
    for width in np.unique(per_item[per_item > 0]):
        members = np.flatnonzero(per_item == width)
        at = starts[members][:, None] + np.arange(width)
        groups.append((members, won[at], counts[at]))
    return groups
