"""Pairs of sentences to choose from: drawn at random, or found through the inverted index."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from firth.relatedness.pairs.bags import Floats, Ints, close_in_length
from firth.relatedness.pairs.choose import Picker, one_of
from firth.relatedness.pairs.collect import Sentences
from firth.relatedness.pairs.index import Index, Partners
from firth.relatedness.pairs.settings import Settings
from firth.relatedness.pairs.sources import LeftOut
from firth.run.progress import bar

FLOOR = 0.05
"""Least overlap that the index looks for where no other is asked for."""
BANDS = np.linspace(0, 1, 21)
"""A first sentence gives the pool one partner from each of these ranges of overlap."""
SEARCHED = 50_000
"""Partners for the pool are looked for among so many sentences, drawn at random."""
_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Drawn:
    """Pairs of sentences and their overlaps, three arrays of shape (n,)."""

    left: Ints
    right: Ints
    overlap: Floats

    def __len__(self) -> int:
        return len(self.left)

    def only(self, kept: Ints) -> "Drawn":
        """Those at the places `kept`."""
        return Drawn(self.left[kept], self.right[kept], self.overlap[kept])


def together(parts: list[Drawn]) -> Drawn:
    """All parts in one."""
    if not parts:
        return Drawn(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    return Drawn(
        np.concatenate([part.left for part in parts]),
        np.concatenate([part.right for part in parts]),
        np.concatenate([part.overlap for part in parts]),
    )


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
    starts = np.concatenate([[0], np.cumsum(sizes)])
    pairs = sizes * (sizes - 1) // 2
    if int(pairs.sum()) <= count:
        left, right = [], []
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=False):
            a, b = np.triu_indices(size, 1)
            left.append(order[start + a])
            right.append(order[start + b])
        if not left:
            return
        mixed = rng.permutation(int(pairs.sum()))
        a, b = np.concatenate(left)[mixed], np.concatenate(right)[mixed]
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
        _, fresh = np.unique(keys, return_index=True)
        fresh = np.sort(fresh)
        fresh = fresh[~np.isin(keys[fresh], seen)][: count - len(seen)]
        seen = np.concatenate([seen, keys[fresh]])
        yield a[fresh], b[fresh]


def draw_at_random(
    sentences: Sentences,
    settings: Settings,
    rng: np.random.Generator,
    counts: Counter[LeftOut],
    picker: Picker | None = None,
) -> tuple[Drawn, int]:
    """Random pairs that fit, and how many were looked at.

    Args:
        sentences: To pair.
        settings: Limits, and how many pairs to look at.
        rng: Decides the pairs.
        counts: Where the reasons of those that do not fit are added.
        picker: Takes pairs as they come until there are `settings.pairs`; None keeps all that fit.
    """
    bags = sentences.bags
    low, high = settings.overlap_range
    parts: list[Drawn] = []
    found = looked_at = 0
    with bar("Drawing pairs", settings.pairs if picker else settings.examined) as shown:
        for left, right in random_pairs(sentences, settings.examined, rng):
            close = close_in_length(
                bags.lengths[left], bags.lengths[right], settings.length_tolerance
            )
            left, right = left[close], right[close]
            overlap = bags.overlaps(left, right, settings.overlap)
            fits = np.flatnonzero((overlap >= low) & (overlap < high))
            part = Drawn(left, right, overlap).only(fits)
            end = len(close)
            if picker is not None:
                taken = _take(part, picker, settings.pairs - found)
                if found + len(taken) == settings.pairs and len(taken):
                    # What came after the last pair was not needed, so it was not looked at.
                    end = int(np.flatnonzero(close)[fits[taken[-1]]]) + 1
                part = part.only(taken)
            inside = int(close[:end].sum())
            looked_at += end
            counts[LeftOut.LENGTHS] += end - inside
            counts[LeftOut.LOW] += int((overlap[:inside] < low).sum())
            counts[LeftOut.HIGH] += int((overlap[:inside] >= high).sum())
            parts.append(part)
            found += len(part)
            shown.advance(len(part) if picker else end)
            if picker is not None and found == settings.pairs:
                break
    return together(parts), looked_at


def _take(part: Drawn, picker: Picker, most: int) -> Ints:
    taken: list[int] = []
    for place, (a, b) in enumerate(zip(part.left.tolist(), part.right.tolist(), strict=True)):
        if len(taken) == most:
            break
        if picker.take(a, b):
            taken.append(place)
    return np.array(taken, np.int64)


def draw_from_index(
    sentences: Sentences,
    settings: Settings,
    rng: np.random.Generator,
    counts: Counter[LeftOut],
    picker: Picker | None = None,
) -> tuple[Drawn, int]:
    """Pairs of random first sentences with partners that fit, and how many firsts were tried.

    With a picker, each first sentence gets one partner, uniformly among all that fit and are free,
    until there are `settings.pairs`. Without one, it gives one partner from each of `BANDS` that
    has any, until there are `settings.examined` pairs; no unordered pair twice. Nearly every
    sentence has the least overlap that a pool asks for, so partners for it are looked for among
    `SEARCHED` random sentences where there are more.
    """
    among = None
    if picker is None and len(sentences.texts) > SEARCHED:
        among = np.sort(rng.choice(len(sentences.texts), SEARCHED, replace=False))
    index = Index(sentences.bags, settings.overlap, sentences.groups, among)
    low, high = settings.overlap_range
    low = max(low, FLOOR)
    wanted = settings.examined if picker is None else settings.pairs
    left: list[int] = []
    right: list[int] = []
    overlap: list[float] = []
    seen: set[tuple[int, int]] = set()
    tried = 0
    with bar("Finding partners", wanted) as shown:
        for first in rng.permutation(len(sentences.texts)).tolist():
            if len(left) >= wanted:
                break
            if picker is not None and not picker.free(first):
                continue
            tried += 1
            partners = index.partners(first, low, high, settings.length_tolerance)
            places = _one_free(partners, picker, rng) if picker else _one_a_band(partners, rng)
            if not places:
                counts[LeftOut.NO_PARTNER] += 1
            for place in places:
                second = int(partners.sentences[place])
                pair = (min(first, second), max(first, second))
                if pair in seen or (picker is not None and not picker.take(first, second)):
                    continue
                seen.add(pair)
                left.append(first)
                right.append(second)
                overlap.append(float(partners.overlaps[place]))
            shown.advance(min(len(places), wanted - len(left) + len(places)))
    drawn = Drawn(np.array(left, np.int64), np.array(right, np.int64), np.array(overlap))
    return drawn.only(np.arange(min(len(drawn), wanted))), tried


def _one_free(partners: Partners, picker: Picker, rng: np.random.Generator) -> list[int]:
    free = [place for place, one in enumerate(partners.sentences.tolist()) if picker.free(one)]
    return [one_of(free, rng)] if free else []


def _one_a_band(partners: Partners, rng: np.random.Generator) -> list[int]:
    band = np.searchsorted(BANDS, partners.overlaps, side="right")
    return [one_of(np.flatnonzero(band == number), rng) for number in np.unique(band)]
