"""Pairs of sentences for annotation, chosen as for STR-2021 (Abdalla et al., §3.1, Appendix A)."""

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from firth.ratings.records import write_table
from firth.ratings.sentences import (
    Bags,
    Measure,
    Sentences,
    read_sentences,
    read_synonyms,
    replacements,
)
from firth.run.console import Progress
from firth.run.errors import InputError
from firth.run.settings import Count, Section, derive_seed
from firth.text.types import Floats, Ints

_BUCKETS, _BINS = 50, 5
"""Percentile buckets of overlap, and bins of scores of equal width (Appendix A)."""
_LEAST_OVERLAP, _MOST_OVERLAP = 0.25, 0.75
"""Overlaps of `overlap`: from the first, below the second (Appendix A.1.1)."""
_LENGTH_DIFFERENCE, _USES = 0.25, 1
"""Largest difference in length of `overlap`, as a share of the longer sentence; pairs that a
sentence may be in."""
_TRIES = 200
"""Random pairs that are drawn for each pair that is wanted, at most."""
_CANDIDATES = 20
"""Candidates of buckets for each pair that is wanted."""
_BANDS = 20
"""Ranges of overlap of equal width. A first sentence gives the candidates one partner of each."""


class Strategy(StrEnum):
    """How pairs are chosen."""

    GIVEN = "given"
    """Pairs of a file at random, such as paraphrases (Wiki_pp)."""
    RANDOM = "random"
    """Sentences paired at random (Stance: within a target, equally many of each two labels)."""
    OVERLAP = "overlap"
    """Sentences paired at random whose overlap lies within limits (Wiki_r, SNLI)."""
    BUCKETS = "buckets"
    """Numbers of pairs from each percentile of overlap (Goodreads, ParaNMT, Formality)."""
    SCORES = "scores"
    """Equal numbers of scored pairs from each bin of their scores (STS)."""


class PairSettings(Section):
    """How pairs are chosen."""

    strategy: Strategy = Strategy.OVERLAP
    """`given`, `random`, `overlap`, `buckets` or `scores`."""
    num_pairs: Count = 1_000
    """Number of pairs; there may be fewer."""
    measure: Measure | None = None
    """Overlap: `dice`, `idf` or `first`. By default `idf` for buckets, else `dice`."""
    partner: Literal["uniform", "first"] = "uniform"
    """Second sentence of the strategy `overlap`: any that fits, or the first one, as printed."""
    labels: str = ""
    """Column whose values the strategy `random` combines: equally many pairs of each combination,
    such as for-for, against-against and for-against."""
    bucket_ratio: Annotated[float, Field(ge=1)] = 1.0
    """How many times as many pairs the last bucket gives as the first; growth is exponential."""
    seed: Annotated[int, Field(ge=0)] = 13
    """Decides every random choice."""


@dataclass(frozen=True)
class Pair:
    """A chosen pair, its overlap in [0, 1], and its bucket or bin from 1.

    `places` has the line of each sentence in its file, or its number in the run.
    """

    texts: tuple[str, str]
    overlap: float
    bucket: int | None
    places: tuple[int, int]
    score: float | None = None


@dataclass(frozen=True)
class PairSample:
    """Chosen pairs, how many of the records that were read are usable, and why others are not."""

    pairs: tuple[Pair, ...]
    usable: int
    read: int
    left_out: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        counts = {"pairs": len(self.pairs), "usable": self.usable, "read": self.read}
        return {**counts, "left_out": dict(self.left_out)}

    def text(self) -> str:
        """Return the counts for a screen."""
        overlap = np.mean([pair.overlap for pair in self.pairs])
        lines = [
            f"{len(self.pairs):,} pairs from {self.usable:,} usable of {self.read:,} records; mean "
            f"overlap {overlap:.2f}",
            *(f"  left out: {count:,} {reason}" for reason, count in self.left_out.items()),
        ]
        return "\n".join(lines)

    def write(self, folder: Path) -> None:
        """Write `pairs.csv`: `id`, `sentence1`, `sentence2`, and how each pair was chosen."""
        score = ["score"] if any(pair.score is not None for pair in self.pairs) else []
        header = ["id", "sentence1", "sentence2", *score]
        header += ["overlap", "bucket", "source1", "source2"]
        width = len(str(len(self.pairs)))
        rows = []
        for number, pair in enumerate(self.pairs, start=1):
            row = [f"{number:0{width}}", *pair.texts, *([pair.score] if score else [])]
            rows.append([*row, f"{pair.overlap:.6f}", pair.bucket, *pair.places])
        write_table(folder / "pairs.csv", header, rows)


def sample_pairs(
    source: str | Path, settings: PairSettings, *, within: str = "", synonyms: Path | None = None
) -> PairSample:
    """Choose pairs of the sentences that `read_sentences` reads.

    Only sentences with the same value of the column `within` are paired. Buckets are of given pairs
    where the table has pairs. Each word counts as the most frequent one of its line of synonyms.
    """
    strategy = settings.strategy
    is_scored = strategy is Strategy.SCORES
    has_buckets = strategy in (Strategy.BUCKETS, Strategy.SCORES)
    columns = ["score"] if is_scored else [name for name in (within, settings.labels) if name]
    sentences = read_sentences(Path(source), columns)
    _check_source(sentences, strategy, source, within, settings.labels)
    frequencies = Counter(word for bag in sentences.tokens for word in bag)
    replaced = replacements(read_synonyms(synonyms), frequencies) if synonyms else {}
    usual = Measure.IDF if strategy is Strategy.BUCKETS else Measure.DICE
    bags = Bags(sentences.tokens, settings.measure or usual, replaced)
    draw = _Draw(bags, sentences.groups(within), settings)
    if sentences.are_pairs:
        pool = np.arange(len(sentences.texts)).reshape(-1, 2)
    elif strategy is Strategy.RANDOM:
        pool = draw.at_random(sentences.groups(settings.labels))
    else:
        pool = draw.from_index()
    overlap = bags.overlaps(*pool.T)
    scores = sentences.numbers("score", source) if is_scored else np.full(len(pool), np.nan)
    bucket, weights = np.zeros(len(pool), np.int64), np.ones(1)
    if is_scored:
        bucket, weights = bin_of(scores, _BINS), np.ones(_BINS)
    elif strategy is Strategy.BUCKETS:
        bucket = bucket_of(overlap, _BUCKETS)
        weights = settings.bucket_ratio ** (np.arange(_BUCKETS) / (_BUCKETS - 1))
    chosen = np.arange(len(pool))
    if strategy not in (Strategy.RANDOM, Strategy.OVERLAP):  # These are chosen as they are drawn.
        chosen = draw.chosen(pool, bucket, weights)
    left_out = {reason: n for reason, n in (sentences.left_out + draw.left_out).items() if n}
    if not len(chosen):
        raise InputError(f"{source}: none of {sentences.read:,} records makes a pair ({left_out})")
    pairs = [
        Pair(
            (sentences.texts[a], sentences.texts[b]),
            float(overlap[place]),
            int(bucket[place]) + 1 if has_buckets else None,
            (sentences.places[a], sentences.places[b]),
            float(scores[place]) if is_scored else None,
        )
        for place, (a, b) in zip(chosen.tolist(), pool[chosen].tolist(), strict=True)
    ]
    usable = len(sentences.texts) // (1 + sentences.are_pairs)
    return PairSample(tuple(pairs), usable, sentences.read, left_out)


def _check_source(
    sentences: Sentences, strategy: Strategy, source: str | Path, within: str, labels: str
) -> None:
    needs_pairs = strategy in (Strategy.GIVEN, Strategy.SCORES)
    if strategy is not Strategy.BUCKETS and sentences.are_pairs != needs_pairs:
        expected = "columns sentence1 and sentence2" if needs_pairs else "sentences, not pairs"
        raise InputError(f"{source}: the strategy {strategy} expects {expected}")
    if within and sentences.are_pairs:
        raise InputError(f"--within {within}: expected sentences; these pairs are given")
    if labels and strategy is not Strategy.RANDOM:
        raise InputError(f"labels={labels}: expected the strategy random, not {strategy}")


# --- Drawing -------------------------------------------------------------------------------------


class _Draw:
    """Draws pairs of numbers of sentences, (n, 2), and counts the uses of each sentence."""

    def __init__(self, bags: Bags, groups: Ints, settings: PairSettings) -> None:
        self._bags, self._groups, self._settings = bags, groups, settings
        seed = derive_seed(settings.seed, "pairs", settings.strategy.value)
        self._rng = np.random.default_rng(seed)
        self._uses = np.zeros(len(bags), np.int64)
        self.left_out = Counter[str]()

    def at_random(self, labels: Ints) -> Ints:
        """Return random distinct pairs of one group, equally many of each two labels."""
        total, members = self._settings.num_pairs, defaultdict[int, list[int]](list)
        for number, group in enumerate(self._groups.tolist()):
            members[group].append(number)
        names = np.unique(labels).tolist()
        kinds = [(first, second) for first in names for second in names if first <= second]
        shares = quotas(total, np.ones(len(kinds)), [total] * len(kinds)).tolist()
        missing = dict(zip(kinds, shares, strict=True))
        pairs: dict[tuple[int, int], None] = {}
        for first in self._rng.integers(len(self._bags), size=_TRIES * total).tolist():
            second = int(self._rng.choice(members[int(self._groups[first])]))
            low, high = min(first, second), max(first, second)
            low_label, high_label = sorted(labels[[low, high]].tolist())
            is_new = low != high and (low, high) not in pairs
            if is_new and missing[low_label, high_label] and self._use(low, high):
                pairs[low, high] = None
                missing[low_label, high_label] -= 1
            if len(pairs) == total:
                break
        return np.array([*pairs], np.int64).reshape(-1, 2)

    def from_index(self) -> Ints:
        """Return pairs of random first sentences with partners that fit, no pair twice.

        A first sentence gets one partner among all that fit. In a pool for buckets it gets a
        partner from each of 20 ranges of overlap that has any, whatever their uses.
        """
        settings, is_pool = self._settings, self._settings.strategy is Strategy.BUCKETS
        count = settings.num_pairs * (_CANDIDATES if is_pool else 1)
        is_first = settings.partner == "first" and not is_pool
        edges = np.linspace(0, 1, _BANDS + 1)
        pairs: dict[tuple[int, int], tuple[int, int]] = {}
        lengths = self._bags.lengths
        with Progress(count, "Finding partners") as bar:
            for first in self._rng.permutation(len(self._bags)).tolist():
                if len(pairs) >= count:
                    break
                if not is_pool and self._uses[first] >= _USES:
                    continue
                overlap = self._bags.overlaps_with_all(first)
                fits = (overlap > 0) & (self._groups == self._groups[first])
                fits[first] = False
                if not is_pool:
                    fits &= (overlap >= _LEAST_OVERLAP) & (overlap < _MOST_OVERLAP)
                    longer = np.maximum(lengths, lengths[first])
                    difference = np.abs(lengths - lengths[first])
                    fits &= difference <= _LENGTH_DIFFERENCE * longer + 1e-9
                    fits &= self._uses < _USES
                partners, before = np.flatnonzero(fits), len(pairs)
                band = np.searchsorted(edges, overlap[partners], side="right") * is_pool
                for number in np.unique(band):
                    these = partners[band == number]
                    second = int(these[0] if is_first else self._rng.choice(these))
                    key = (min(first, second), max(first, second))
                    if key not in pairs and (is_pool or self._use(first, second)):
                        pairs[key] = (first, second)
                self.left_out["sentences without a partner that fits"] += not len(partners)
                bar.advance(len(pairs) - before)
        return np.array([*pairs.values()][:count], np.int64).reshape(-1, 2)

    def chosen(self, pool: Ints, bucket: Ints, weights: Floats) -> Ints:
        """Return the places of candidates taken at random from each bucket, by its weight.

        A bucket gives as much as its weight says, relative to the others, which give what it lacks.
        """
        total = self._settings.num_pairs
        order = self._rng.permutation(len(bucket))
        queues = [deque(order[bucket[order] == k].tolist()) for k in range(len(weights))]
        places: list[int] = []
        shares = quotas(total, weights, [len(queue) for queue in queues])
        while shares.any():
            for number in reversed(range(len(weights))):
                queue, count = queues[number], int(shares[number])
                while queue and count:
                    place = queue.popleft()
                    if self._use(*pool[place].tolist()):
                        places.append(place)
                        count -= 1
            shares = quotas(total - len(places), weights, [len(queue) for queue in queues])
        return np.array(sorted(places), np.int64)

    def _use(self, first: int, second: int) -> bool:
        """Count a use of both sentences; return False where one has no use left."""
        pair = [first, second]
        is_free = bool((self._uses[pair] < _USES).all())
        self._uses[pair] += is_free
        return is_free


# --- Buckets -------------------------------------------------------------------------------------


def quotas(total: int, weights: Floats, available: npt.ArrayLike) -> Ints:
    """Divide `total` in proportion to `weights`, never more than is `available` of each.

    Other buckets give what one lacks, in the same proportion. Fractions go to the largest
    remainders; of equal ones, to the later bucket.
    """
    room = np.array(available, np.int64)
    split = np.zeros(len(room), np.int64)
    while (rest := total - int(split.sum())) > 0 and (room > 0).any():
        open_weights = np.where(room > 0, weights, 0.0)
        exact = rest * open_weights / open_weights.sum()
        step = np.floor(exact).astype(np.int64)
        order = np.lexsort((-np.arange(len(room)), -(exact - step)))
        order = order[room[order] > 0]
        step[order[: rest - int(step.sum())]] += 1
        step = np.minimum(step, room)
        split += step
        room -= step
    return split


def bucket_of(values: Floats, buckets: int) -> Ints:
    """Return the number of each value's bucket, from 0; buckets hold equal shares of the values.

    Equal values are in the same bucket.
    """
    if not len(values):
        return np.empty(0, np.int64)
    edges = np.quantile(values, np.linspace(0, 1, buckets + 1))
    return np.searchsorted(edges[1:-1], values, side="right")


def bin_of(scores: Floats, bins: int) -> Ints:
    """Return the number of each score's bin, from 0; bins are (0, 1], (1, 2] and so on.

    They have equal width over the range of the scores. The lowest score is in none, and has -1.
    """
    edges = np.linspace(scores.min(initial=np.inf), scores.max(initial=-np.inf), bins + 1)
    return np.searchsorted(edges, scores, side="left") - 1
