"""Which candidates are taken: no sentence too often, so many from each bucket."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.relatedness.pairs.bags import Floats, Ints
from firth.relatedness.pairs.settings import Growth


class Picker:
    """Takes pairs as long as none of their sentences is in more than `uses` pairs.

    Args:
        uses: At least 1; None for no limit.
    """

    def __init__(self, uses: int | None) -> None:
        self._uses, self._used = uses, Counter[int]()

    def free(self, sentence: int) -> bool:
        """Whether the sentence may be in one more pair."""
        return self._uses is None or self._used[sentence] < self._uses

    def take(self, left: int, right: int) -> bool:
        """Take the pair if both sentences are free."""
        if not (self.free(left) and self.free(right)):
            return False
        self._used.update((left, right))
        return True


@dataclass(frozen=True)
class Bucket:
    """What a range of overlaps (or scores) gave.

    Attributes:
        low: Lower end.
        high: Upper end.
        candidates: Pairs in it.
        wanted: Pairs it was to give.
        chosen: Pairs it gave.
    """

    low: float
    high: float
    candidates: int
    wanted: int
    chosen: int


def shares(buckets: int, growth: Growth, steepness: float) -> Floats:
    """Weight of each bucket, shape (buckets,), ascending.

    Uniform: all alike. Exponential: w_k = r^k with r^(buckets-1) = `steepness`, so the last bucket
    counts `steepness` times as much as the first.
    """
    if growth is Growth.UNIFORM or buckets == 1:
        return np.ones(buckets)
    return np.asarray(steepness ** (np.arange(buckets) / (buckets - 1)), dtype=np.float64)


def quotas(total: int, weights: Floats, available: npt.ArrayLike) -> Ints:
    """`total` split in proportion to `weights`, never more than is `available` of each.

    What a bucket lacks is asked of the others in the same proportion. Fractions go to the largest
    remainders, ties to the higher bucket.
    """
    room = np.asarray(available, np.int64).copy()
    split = np.zeros(len(room), np.int64)
    while (left := total - int(split.sum())) > 0 and (room > 0).any():
        open_weights = np.where(room > 0, weights, 0.0)
        exact = left * open_weights / open_weights.sum()
        step = np.floor(exact).astype(np.int64)
        order = np.lexsort((-np.arange(len(room)), -(exact - step)))
        order = order[room[order] > 0]
        step[order[: left - int(step.sum())]] += 1
        step = np.minimum(step, room)
        split += step
        room -= step
    return split


def percentile_edges(values: Floats, buckets: int) -> Floats:
    """Ends of `buckets` ranges with equally many of `values` each, shape (buckets+1,)."""
    return np.asarray(np.quantile(values, np.linspace(0, 1, buckets + 1)), dtype=np.float64)


def bucket_of(values: Floats, edges: Floats) -> Ints:
    """Number of the bucket of each value: [e0, e1), …, [en-1, en]. Equal values share a bucket."""
    return np.searchsorted(edges[1:-1], values, side="right")


def bin_of(scores: Floats, edges: Floats) -> Ints:
    """Number of the bin of each score: [e0, e1], (e1, e2], …, as the paper's (1, 2]."""
    return np.searchsorted(edges[1:-1], scores, side="left")


def choose(
    bucket: Ints,
    edges: Floats,
    wanted: Ints,
    pairs: tuple[Ints, Ints],
    picker: Picker,
    rng: np.random.Generator,
    *,
    total: int | None = None,
) -> tuple[Ints, tuple[Bucket, ...]]:
    """Take `wanted[b]` candidates of each bucket b at random.

    Args:
        bucket: Of each candidate, shape (n,).
        edges: Of the buckets, shape (b+1,).
        wanted: Shape (b,).
        pairs: Left and right sentence of each candidate, both of shape (n,).
        picker: Refuses pairs whose sentences were used before.
        rng: Decides the order.
        total: Where the buckets' own candidates do not suffice, take others up to so many.

    Returns:
        Places of the chosen candidates, ascending; and what each bucket gave.
    """
    order = rng.permutation(len(bucket))
    queues = [order[bucket[order] == number].tolist() for number in range(len(wanted))]
    counts = [len(queue) for queue in queues]
    chosen: list[int] = []
    given = np.zeros(len(wanted), np.int64)

    def draw(number: int, count: int) -> None:
        queue = queues[number]
        while count and queue:
            place = queue.pop()
            if picker.take(int(pairs[0][place]), int(pairs[1][place])):
                chosen.append(place)
                given[number] += 1
                count -= 1

    for number in reversed(range(len(wanted))):
        draw(number, int(wanted[number]))
    while total is not None and len(chosen) < total and any(queues):
        more = quotas(total - len(chosen), np.maximum(wanted, 1e-9), [len(q) for q in queues])
        for number in reversed(range(len(wanted))):
            draw(number, int(more[number]))
    found = [
        Bucket(float(low), float(high), count, int(want), int(got))
        for low, high, count, want, got in zip(
            edges[:-1], edges[1:], counts, wanted, given, strict=True
        )
    ]
    return np.array(sorted(chosen), np.int64), tuple(found)


def one_of(values: Sequence[int] | Ints, rng: np.random.Generator) -> int:
    """One of `values` at random."""
    return int(values[int(rng.integers(len(values)))])
