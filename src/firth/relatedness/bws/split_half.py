"""Split-half reliability: how alike the scores of two halves of the answers are.

Abdalla et al., §4, after Kiritchenko and Mohammad (2017): the answers to each tuple are put into
two bins, each bin gives scores by counting, and the two rankings are correlated; many times over.
All splits are done at once: a split is a column of weights, and counting is a sparse product.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.stats import rankdata

from firth.relatedness.bws.judgements import Floats, Judgements, to_scores
from firth.run.errors import InputError
from firth.run.progress import bar
from firth.run.seeds import derive_seed

SPLITS = 1_000
Halves = npt.NDArray[np.int8]
FIRST, SECOND, UNUSED = 0, 1, 2
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Correlations:
    """Correlation of the two halves in each split, over the items judged in both.

    Attributes:
        spearman: Shape (splits,), in −1…1; not a number where a half has no spread.
        pearson: Likewise.
        items: Items judged in both halves, shape (splits,).
    """

    spearman: Floats
    pearson: Floats
    items: npt.NDArray[np.int64]


def split_half(
    judgements: Judgements, *, seed: int, splits: int = SPLITS, answers: int | None = None
) -> Correlations:
    """Correlate the halves of many random splits.

    Args:
        judgements: Usable answers.
        seed: The same seed gives the same splits.
        splits: Number of splits.
        answers: Use at most so many answers to each tuple, drawn anew for each split; None for all.

    Raises:
        InputError: Fewer than one split or one answer, or no item is judged in both halves.
    """
    if splits < 1 or (answers is not None and answers < 1):
        raise InputError(f"got {splits} splits of {answers} answers; expected 1 or more")
    rng = np.random.default_rng(derive_seed(seed, "bws", "split", answers or 0))
    counter, parts = _Counter(judgements), []
    title = "splits" if answers is None else f"splits of {answers} a tuple"
    with bar(title, splits) as shown:
        for size in _blocks(splits, len(judgements) + 2 * len(judgements.items)):
            halves = draw_halves(judgements, rng, size, answers)
            parts.append(_correlate(counter, halves))
            shown.advance(size)
    found = Correlations(
        *(np.concatenate([getattr(p, n) for p in parts]) for n in Correlations.__annotations__)
    )
    if not np.isfinite(found.spearman).any():
        raise InputError(
            "no split has scores to correlate: expected at least three items that are judged in "
            "both halves and differ. Are there two answers or more to the tuples?"
        )
    return found


def draw_halves(
    judgements: Judgements, rng: np.random.Generator, splits: int, answers: int | None = None
) -> Halves:
    """Put the answers to each tuple into two bins of equal size.

    Of an odd number, the last one goes into either bin by a coin: none is lost, and no bin is
    larger on average. The only answer to a tuple, too, goes into one bin or the other.

    Args:
        judgements: Usable answers.
        rng: What draws.
        splits: How many times.
        answers: Use at most so many answers to each tuple, others are `UNUSED`; None for all.

    Returns:
        Shape (splits, A): `FIRST`, `SECOND` or `UNUSED`.
    """
    halves = np.empty((splits, len(judgements)), dtype=np.int8)
    order = np.argsort(judgements.asked, kind="stable")
    numbers = np.bincount(judgements.asked, minlength=len(judgements.tuples))
    starts = np.cumsum(numbers) - numbers
    for number in np.unique(numbers[numbers > 0]):
        members = np.flatnonzero(numbers == number)
        at = order[starts[members][:, None] + np.arange(number)]
        used = int(number if answers is None else min(number, answers))
        bins = np.full(number, UNUSED, dtype=np.int8)
        bins[:used] = np.arange(used) % 2
        drawn = np.broadcast_to(bins, (splits, *at.shape))
        # A coin that turns the two bins round gives the odd answer to either.
        coins = rng.integers(2, size=(splits, len(members), 1), dtype=np.int8)
        turned = np.where(drawn == UNUSED, drawn, drawn ^ coins)
        halves[:, at] = turned if number <= 2 and used == number else rng.permuted(turned, axis=2)
    return halves


def correlate_halves(judgements: Judgements, halves: Halves) -> Correlations:
    """Correlate the scores of both bins.

    Args:
        judgements: Usable answers.
        halves: As of `draw_halves`, shape (splits, A).
    """
    return _correlate(_Counter(judgements), halves)


class _Counter:
    """Counts chosen answers by sparse products; the matrices are made once."""

    def __init__(self, judgements: Judgements) -> None:
        shape = (len(judgements.items), len(judgements))
        answers, size = np.arange(shape[1]), judgements.tuples.shape[1]
        signs = np.repeat([1.0, -1.0], len(answers)).astype(np.float32)
        places = (np.concatenate([judgements.best, judgements.worst]), np.tile(answers, 2))
        self._difference = csr_array((signs, places), shape=shape)
        members = judgements.tuples[judgements.asked].ravel()
        ones = np.ones(len(members), dtype=np.float32)
        self._shown = csr_array((ones, (members, np.repeat(answers, size))), shape=shape)

    def scores(self, chosen: npt.NDArray[np.bool_]) -> Floats:
        """Scores by counting of some of the answers (splits, A); shape (splits, N)."""
        weights = np.ascontiguousarray(chosen.T, dtype=np.float32)  # counts are exact in 24 bits
        return to_scores((self._difference @ weights).T, (self._shown @ weights).T)


def _correlate(counter: _Counter, halves: Halves) -> Correlations:
    scores = [counter.scores(halves == half) for half in (FIRST, SECOND)]
    there = np.isfinite(scores[0]) & np.isfinite(scores[1])
    if there.all():
        spearman = _pearson(*(rankdata(one, axis=1) for one in scores))
        pearson = _pearson(*scores)
    else:
        pairs = [
            [np.ascontiguousarray(one[row, keep]) for one in scores]
            for row, keep in enumerate(there)
        ]
        spearman = np.array([_pearson(*(rankdata(one)[None] for one in p))[0] for p in pairs])
        pearson = np.array([_pearson(*(one[None] for one in p))[0] for p in pairs])
    return Correlations(spearman, pearson, there.sum(axis=1))


def _pearson(x: Floats, y: Floats) -> Floats:
    """Row by row, shape (rows,)."""
    if x.shape[1] < 3:
        return np.full(len(x), np.nan)
    x, y = (one - one.mean(axis=1, keepdims=True) for one in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1)))


def _blocks(splits: int, width: int) -> Iterator[int]:
    step = max(1, _BLOCK // width)
    for start in range(0, splits, step):
        yield min(step, splits - start)
