"""Pairs to choose from, drawn at random or found through the inverted index; and which of them are
taken: no sentence too often, so many from each bucket.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from firth.relatedness.pairs.overlap import Floats, Index, Ints, Partners, close_in_length
from firth.relatedness.pairs.sentences import Sentences, WhyLeftOut
from firth.relatedness.pairs.settings import Growth, SampleSettings
from firth.run.progress import bar

_BLOCK = 1 << 16


class Picker:
    """Takes pairs as long as none of their sentences is in more than `uses` of them (None: no
    limit).
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
    """What a range of overlaps (or scores) gave: its ends, the pairs in it, those it was to give,
    and those it gave.
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
    """Take `wanted[b]` candidates of each bucket b, with the ends `edges[b]` and `edges[b + 1]`, at
    random, unless the picker refuses: where each is in (n,), its left and right sentence (two of
    (n,)). With `total`, where the buckets' own do not suffice, others up to so many.

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


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs of sentences and their overlaps, three arrays of shape (n,)."""

    left: Ints
    right: Ints
    overlap: Floats

    def __len__(self) -> int:
        return len(self.left)

    def only(self, kept: Ints) -> "Candidates":
        """Those at the places `kept`."""
        return Candidates(self.left[kept], self.right[kept], self.overlap[kept])


def together(parts: list[Candidates]) -> Candidates:
    """All parts in one."""
    names = ("left", "right", "overlap")
    parts = parts or [Candidates(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    return Candidates(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def random_pairs(
    sentences: Sentences, count: int, rng: np.random.Generator
) -> Iterator[tuple[Ints, Ints]]:
    """Distinct pairs (unordered, of one group where there are groups), uniformly at random.

    Up to `count` of them, in blocks; all pairs in random order where there are no more than that.
    """
    n = len(sentences.texts)
    groups = np.zeros(n, np.int64) if sentences.groups is None else sentences.groups
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups) if n else np.zeros(0, np.int64)
    starts = np.cumsum(sizes) - sizes
    pairs = sizes * (sizes - 1) // 2
    if not n:
        return
    if int(pairs.sum()) <= count:
        corners = zip(starts, (np.triu_indices(size, 1) for size in sizes), strict=True)
        both = np.concatenate([order[start + np.array(some)] for start, some in corners], axis=1)
        a, b = both[:, rng.permutation(both.shape[1])]
        swap = rng.random(len(a)) < 0.5
        a, b = np.where(swap, b, a), np.where(swap, a, b)
        for low in range(0, len(a), _BLOCK):
            yield a[low : low + _BLOCK], b[low : low + _BLOCK]
        return
    cumulated = np.cumsum(pairs)
    seen = np.empty(0, np.int64)
    while len(seen) < count:
        chosen = np.searchsorted(cumulated, rng.integers(cumulated[-1], size=_BLOCK), side="right")
        first = rng.integers(sizes[chosen])
        second = (first + 1 + rng.integers(sizes[chosen] - 1)) % sizes[chosen]
        a, b = order[starts[chosen] + first], order[starts[chosen] + second]
        keys = np.minimum(a, b) * np.int64(n) + np.maximum(a, b)
        fresh = np.sort(np.unique(keys, return_index=True)[1])
        fresh = fresh[~np.isin(keys[fresh], seen)][: count - len(seen)]
        seen = np.concatenate([seen, keys[fresh]])
        yield a[fresh], b[fresh]


def draw_at_random(
    sentences: Sentences,
    settings: SampleSettings,
    rng: np.random.Generator,
    counts: Counter[WhyLeftOut],
    picker: Picker | None = None,
) -> tuple[Candidates, int]:
    """Random pairs that fit, and how many were looked at.

    Why others do not fit is added to `counts`. A picker takes pairs as they come until there are
    `settings.pairs`; without one all that fit are kept.
    """
    bags = sentences.bags
    low, high = settings.overlap_range
    parts: list[Candidates] = []
    found = looked_at = 0
    with bar("Drawing pairs", settings.pairs if picker else settings.examined) as shown:
        for left, right in random_pairs(sentences, settings.examined, rng):
            close = close_in_length(
                bags.lengths[left], bags.lengths[right], settings.length_tolerance
            )
            left, right = left[close], right[close]
            overlap = bags.overlaps(left, right, settings.overlap)
            fits = np.flatnonzero((overlap >= low) & (overlap < high))
            part = Candidates(left, right, overlap).only(fits)
            end = len(close)
            if picker is not None:
                taken = _take(part, picker, settings.pairs - found)
                if found + len(taken) == settings.pairs and len(taken):
                    # What came after the last pair was not needed, so it was not looked at.
                    end = int(np.flatnonzero(close)[fits[taken[-1]]]) + 1
                part = part.only(taken)
            inside = int(close[:end].sum())
            looked_at += end
            counts[WhyLeftOut.LENGTHS] += end - inside
            counts[WhyLeftOut.LOW] += int((overlap[:inside] < low).sum())
            counts[WhyLeftOut.HIGH] += int((overlap[:inside] >= high).sum())
            parts.append(part)
            found += len(part)
            shown.advance(len(part) if picker else end)
            if picker is not None and found == settings.pairs:
                break
    return together(parts), looked_at


def _take(part: Candidates, picker: Picker, most: int) -> Ints:
    pairs = zip(part.left.tolist(), part.right.tolist(), strict=True)
    taken = (place for place, pair in enumerate(pairs) if picker.take(*pair))
    return np.fromiter(islice(taken, most), np.int64)


def draw_from_index(
    sentences: Sentences,
    settings: SampleSettings,
    rng: np.random.Generator,
    counts: Counter[WhyLeftOut],
    picker: Picker | None = None,
) -> tuple[Candidates, int]:
    """Pairs of random first sentences with partners that fit, and how many firsts were tried.

    With a picker, each first sentence gets one partner, uniformly among all that fit and are free,
    until there are `settings.pairs`. Without one, it gives one partner from each of `bands` that
    has any, until there are `settings.examined` pairs; no unordered pair twice. Nearly every
    sentence has the least overlap that a pool asks for, so partners for it are looked for among
    `searched` random sentences where there are more.
    """
    n, among = len(sentences.texts), None
    if picker is None and n > settings.searched:
        among = np.sort(rng.choice(n, settings.searched, replace=False))
    index = Index(sentences.bags, settings.overlap, sentences.groups, among)
    low, high = settings.overlap_range
    low = max(low, settings.floor)
    wanted = settings.examined if picker is None else settings.pairs
    found: dict[tuple[int, int], tuple[int, int, float]] = {}
    tried = 0
    with bar("Finding partners", wanted) as shown:
        for first in rng.permutation(n).tolist():
            if len(found) >= wanted:
                break
            if picker is not None and not picker.free(first):
                continue
            tried += 1
            partners = index.partners(first, low, high, settings.length_tolerance)
            if picker:
                places = _one_free(partners, picker, rng)
            else:
                places = _one_a_band(partners, settings.bands, rng)
            counts[WhyLeftOut.NO_PARTNER] += not places
            for place in places:
                second = int(partners.sentences[place])
                pair = (min(first, second), max(first, second))
                if pair not in found and (picker is None or picker.take(first, second)):
                    found[pair] = (first, second, float(partners.overlaps[place]))
            shown.advance(min(len(places), wanted - len(found) + len(places)))
    left, right, overlap = zip(*list(found.values())[:wanted], strict=True) if found else ((),) * 3
    return Candidates(np.array(left, np.int64), np.array(right, np.int64), np.array(overlap)), tried


def _one_free(partners: Partners, picker: Picker, rng: np.random.Generator) -> list[int]:
    free = [place for place, one in enumerate(partners.sentences.tolist()) if picker.free(one)]
    return [one_of(free, rng)] if free else []


def _one_a_band(partners: Partners, bands: int, rng: np.random.Generator) -> list[int]:
    band = np.searchsorted(np.linspace(0, 1, bands + 1), partners.overlaps, side="right")
    return [one_of(np.flatnonzero(band == number), rng) for number in np.unique(band)]


def one_of(values: Sequence[int] | Ints, rng: np.random.Generator) -> int:
    """One of `values` at random."""
    return int(values[int(rng.integers(len(values)))])
