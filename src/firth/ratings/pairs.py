"""Pairs of sentences for annotation, chosen as for STR-2021 (Abdalla et al., §3.1, Appendix A)."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from firth.evaluation.files import parse_score
from firth.ratings.overlap import Bags, Measure, close_in_length
from firth.ratings.records import write_table
from firth.ratings.sentences import (
    Sentences,
    fingerprint_source,
    open_synonyms,
    read_sentences,
    replacements,
)
from firth.run.console import progress
from firth.run.errors import InputError
from firth.run.files import fingerprint_file
from firth.run.outputs import write_folder
from firth.run.seeds import derive_seed
from firth.run.settings import Section
from firth.run.stage import Outcome
from firth.text.arrays import Floats, Ints

_BLOCK = 1 << 16
_BANDS = 20
"""Ranges of overlap of equal width. A first sentence gives the candidates one partner of each."""
_BINS = 10
"""Bins of the histogram that is printed."""
Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]


class Strategy(StrEnum):
    """How pairs are chosen."""

    GIVEN = "given"
    """Pairs of a file at random, such as paraphrases (Wiki_pp)."""
    RANDOM = "random"
    """Sentences paired at random (Stance, within one target)."""
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
    pool: Literal["index", "random"] = "index"
    """Candidates: partners of a random first sentence, or both sentences at random."""
    min_overlap: Fraction | None = None
    """Least overlap. By default 0.25 for the strategy `overlap`, else 0."""
    max_overlap: Fraction | None = None
    """Overlaps are below this. By default 0.75 for the strategy `overlap`, else there is none."""
    length_difference: Fraction | None = None
    """Largest difference in length, as a share of the longer sentence. By default 0.25 for the
    strategy `overlap`, else 1."""
    min_words: Count = 5
    """Fewest words of a sentence."""
    max_words: Count = 25
    """Most words of a sentence."""
    buckets: Annotated[int, Field(ge=2)] = 50
    """Number of percentile buckets of overlap."""
    bucket_ratio: Annotated[float, Field(ge=1)] = 1.0
    """How many times as many pairs the last bucket gives as the first; growth is exponential."""
    candidates: Count = 20
    """Candidates to look at, for each pair that is wanted."""
    bins: Count = 5
    """Number of bins of scores."""
    score_range: tuple[float, float] = (0.0, 5.0)
    """Lowest and highest score."""
    score_column: str = "score"
    """Column of the scores."""
    max_uses: Count = 1
    """Number of pairs that a sentence may be in; given pairs have no limit."""
    seed: Annotated[int, Field(ge=0)] = 13
    """Decides every random choice."""

    @model_validator(mode="after")
    def _check(self) -> "PairSettings":
        low, high = self.overlap_range
        if low >= high:
            raise ValueError(f"max_overlap {high:g}: expected more than min_overlap, {low:g}")
        if self.min_words > self.max_words:
            raise ValueError(f"max_words {self.max_words}: expected at least {self.min_words}")
        if self.score_range[0] >= self.score_range[1]:
            raise ValueError(f"score_range {self.score_range}: expected the lower score first")
        return self

    @property
    def overlap_measure(self) -> Measure:
        """The measure of overlap that is used."""
        usual = Measure.IDF if self.strategy is Strategy.BUCKETS else Measure.DICE
        return self.measure or usual

    @property
    def overlap_range(self) -> tuple[float, float]:
        """Least overlap, and the overlap that must not be reached; 2 is no limit."""
        low, high = (0.25, 0.75) if self.strategy is Strategy.OVERLAP else (0.0, 2.0)
        return (
            low if self.min_overlap is None else self.min_overlap,
            high if self.max_overlap is None else self.max_overlap,
        )

    @property
    def tolerance(self) -> float:
        """Largest difference in length that is used, as a share of the longer sentence."""
        usual = 0.25 if self.strategy is Strategy.OVERLAP else 1.0
        return usual if self.length_difference is None else self.length_difference


@dataclass(frozen=True)
class Pair:
    """A chosen pair.

    Attributes:
        texts: The sentences.
        overlap: Their overlap, in [0, 1].
        bucket: Number of the bucket or bin, from 1; None where there are none.
        places: Line of each sentence in its file, or its number in the run.
        score: The score that was given, or None.
    """

    texts: tuple[str, str]
    overlap: float
    bucket: int | None
    places: tuple[int, int]
    score: float | None = None


@dataclass(frozen=True)
class PairSample:
    """Chosen pairs, and what was left out.

    Attributes:
        pairs: The pairs.
        usable: Number of sentences, or of given pairs, that could be used.
        read: Number of records that were read.
        left_out: Reason → number of records or candidates that were left out.
    """

    pairs: tuple[Pair, ...]
    usable: int
    read: int
    left_out: Mapping[str, int]

    def text(self) -> str:
        """Return counts and a histogram of overlaps for a screen."""
        lines = [
            f"{len(self.pairs):,} pairs from {self.usable:,} usable of {self.read:,} records",
            *(f"  left out: {count:,} {reason}" for reason, count in self.left_out.items()),
            "overlap",
        ]
        overlaps = np.array([pair.overlap for pair in self.pairs])
        counts = np.bincount(np.minimum((overlaps * _BINS + 1e-9).astype(int), _BINS - 1))
        for number, count in enumerate(counts.tolist()):
            bar = "█" * round(40 * count / counts.max())
            lines.append(f"  {number / _BINS:.1f}-{(number + 1) / _BINS:.1f} {count:>7,} {bar}")
        return "\n".join(lines)

    def write(self, path: Path) -> None:
        """Write `id`, `sentence1`, `sentence2`, and how each pair was chosen, as CSV."""
        scored = any(pair.score is not None for pair in self.pairs)
        header = ["id", "sentence1", "sentence2", *(["score"] if scored else [])]
        rows, width = list[list[object]](), len(str(len(self.pairs)))
        for number, pair in enumerate(self.pairs, start=1):
            score = [pair.score] if scored else []
            bucket = "" if pair.bucket is None else pair.bucket
            rows.append(
                [
                    f"{number:0{width}}",
                    *pair.texts,
                    *score,
                    f"{pair.overlap:.6f}",
                    bucket,
                    *pair.places,
                ]
            )
        write_table(path, [*header, "overlap", "bucket", "source1", "source2"], rows)


def sample_pairs(
    source: str | Path,
    settings: PairSettings,
    *,
    columns: Sequence[str] = (),
    within: str = "",
    synonyms: str | None = None,
) -> PairSample:
    """Choose pairs of sentences.

    Args:
        source: A run, a text file or a table, as for `firth.ratings.sentences.read_sentences`.
        settings: How pairs are chosen.
        columns: Columns of the texts. Two of them make given pairs, in buckets too.
        within: A column: only sentences with the same value are paired.
        synonyms: A table for `open_synonyms`; overlap is measured after replacement.

    Raises:
        InputError: The source or the table cannot be read, or no pair fits.
        MissingExtraError: WordNet is needed and nltk is not installed.
    """
    strategy, source = settings.strategy, Path(source)
    is_scored = strategy is Strategy.SCORES
    is_given = is_scored or strategy is Strategy.GIVEN
    is_given |= strategy is Strategy.BUCKETS and len(columns) == 2
    if within and is_given:
        raise InputError(f"--within {within}: expected sentences; these pairs are given")
    table = None if synonyms is None else open_synonyms(synonyms)
    extra = settings.score_column if is_scored else within
    limits = (settings.min_words, settings.max_words)
    sentences = read_sentences(source, *limits, pairs=is_given, columns=columns, extra=extra)
    frequencies = Counter(word for bag in sentences.tokens for word in bag)
    replaced = {} if table is None else replacements(table, frequencies)
    bags = Bags(sentences.tokens, settings.overlap_measure, replaced)
    rng = np.random.default_rng(derive_seed(settings.seed, "pairs", strategy.value))
    draw = _Draw(sentences, bags, settings, rng)
    if is_given:
        pool = draw.given()
    elif strategy is Strategy.RANDOM or settings.pool == "random":
        pool = draw.at_random()
    else:
        pool = draw.from_index()
    scores = _scores(sentences, source) if is_scored else np.empty(0)
    bucket: Ints | None = None
    if strategy is Strategy.GIVEN:
        kept = np.sort(rng.permutation(len(pool.left))[: settings.num_pairs])
    elif strategy is Strategy.BUCKETS:
        bucket = bucket_of(pool.overlap, settings.buckets)
        kept = draw.chosen(pool, bucket, _bucket_weights(settings), is_given)
    elif is_scored:
        bucket = _bin_of(scores[pool.left // 2], settings)
        draw.left_out["pairs: score outside the range"] = int((bucket < 0).sum())
        pool, bucket = pool.at(np.flatnonzero(bucket >= 0)), bucket[bucket >= 0]
        kept = draw.chosen(pool, bucket, np.ones(settings.bins), True, fill_up=False)
    else:
        kept = np.arange(len(pool.left))
    left_out = {reason: n for reason, n in (sentences.left_out + draw.left_out).items() if n}
    if not len(kept):
        raise InputError(f"{source}: none of {sentences.read:,} records makes a pair ({left_out})")
    pairs = []
    for place in kept.tolist():
        a, b = int(pool.left[place]), int(pool.right[place])
        pair = Pair(
            (sentences.texts[a], sentences.texts[b]),
            float(pool.overlap[place]),
            None if bucket is None else int(bucket[place]) + 1,
            (sentences.places[a], sentences.places[b]),
            float(scores[a // 2]) if is_scored else None,
        )
        pairs.append(pair)
    usable = len(sentences.texts) // (1 + is_given)
    return PairSample(tuple(pairs), usable, sentences.read, left_out)


def write_pairs(
    source: Path,
    out: Path,
    settings: PairSettings,
    *,
    columns: Sequence[str] = (),
    within: str = "",
    synonyms: str | None = None,
    force: bool = False,
) -> Outcome:
    """Write chosen pairs as `pairs.csv` into a folder; arguments are those of `sample_pairs`.

    Raises:
        InputError: As `sample_pairs` and `firth.run.outputs.write_folder`.
    """

    def fill(folder: Path) -> Mapping[str, Any]:
        sample = sample_pairs(source, settings, columns=columns, within=within, synonyms=synonyms)
        sample.write(folder / "pairs.csv")
        return {
            "pairs": len(sample.pairs),
            "usable": sample.usable,
            "read": sample.read,
            "left_out": dict(sample.left_out),
            "lines": sample.text().split("\n"),
        }

    inputs = {"source": fingerprint_source(source)}
    if synonyms is not None and Path(synonyms).is_file():
        inputs["synonyms"] = fingerprint_file(Path(synonyms))
    asked = {"columns": list(columns), "within": within, "synonyms": synonyms}
    values = settings.model_dump(mode="json") | asked
    return write_folder(
        out, fill, command="ratings pairs", settings=values, inputs=inputs, force=force
    )


# --- Candidates ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidates:
    """Pairs of numbers of sentences, and their overlaps, each (n,)."""

    left: Ints
    right: Ints
    overlap: Floats

    def at(self, places: Ints) -> "Candidates":
        """Return the candidates at some places."""
        return Candidates(self.left[places], self.right[places], self.overlap[places])


class _Draw:
    """Draws candidates, and counts those that do not fit."""

    def __init__(
        self, sentences: Sentences, bags: Bags, settings: PairSettings, rng: np.random.Generator
    ) -> None:
        self._bags, self._settings, self._rng = bags, settings, rng
        self._groups = sentences.groups
        self._uses = np.zeros(len(bags), np.int64)
        self.left_out = Counter[str]()

    @property
    def _wanted(self) -> int:
        """Number of candidates: those of buckets are chosen from a larger pool."""
        settings = self._settings
        is_pool = settings.strategy is Strategy.BUCKETS
        return settings.num_pairs * (settings.candidates if is_pool else 1)

    def given(self) -> Candidates:
        """Return the given pairs that fit."""
        left = np.arange(0, len(self._bags), 2)
        return self._fitting(left, left + 1)

    def _fitting(self, left: Ints, right: Ints) -> Candidates:
        settings, lengths = self._settings, self._bags.lengths
        low, high = settings.overlap_range
        close = close_in_length(lengths[left], lengths[right], settings.tolerance)
        overlap = self._bags.overlaps(left, right)
        self.left_out["pairs: lengths too different"] += int((~close).sum())
        self.left_out["pairs: too little overlap"] += int((close & (overlap < low)).sum())
        self.left_out["pairs: too much overlap"] += int((close & (overlap >= high)).sum())
        fits = np.flatnonzero(close & (overlap >= low) & (overlap < high))
        return Candidates(left, right, overlap).at(fits)

    def at_random(self) -> Candidates:
        """Return random pairs of one group that fit, until there are enough."""
        parts, count = [Candidates(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))], 0
        is_pool = self._settings.strategy is Strategy.BUCKETS
        with progress(self._wanted, "Drawing pairs") as bar:
            for left, right in random_pairs(self._groups, self._rng):
                part = self._fitting(left, right)
                usable: Iterable[int] = range(len(part.left))
                if not is_pool:
                    usable = (place for place in usable if self._use(part, place))
                taken = np.fromiter(islice(usable, self._wanted - count), np.int64)
                part = part.at(taken)
                parts.append(part)
                count += len(part.left)
                bar.advance(len(part.left))
                if count >= self._wanted:
                    break
        return Candidates(
            np.concatenate([part.left for part in parts]),
            np.concatenate([part.right for part in parts]),
            np.concatenate([part.overlap for part in parts]),
        )

    def from_index(self) -> Candidates:
        """Return pairs of random first sentences with partners that fit, no pair twice.

        A first sentence gets one partner, uniformly among all that fit. In a pool for buckets it
        gets a partner from each of 20 ranges of overlap that has any.
        """
        low, high = self._settings.overlap_range
        is_pool = self._settings.strategy is Strategy.BUCKETS
        edges = np.linspace(0, 1, _BANDS + 1)
        pairs: dict[tuple[int, int], tuple[int, int, float]] = {}
        lengths, n = self._bags.lengths, len(self._bags)
        with progress(self._wanted, "Finding partners") as bar:
            for first in self._rng.permutation(n).tolist():
                if len(pairs) >= self._wanted:
                    break
                if not is_pool and self._uses[first] >= self._settings.max_uses:
                    continue
                overlap = self._bags.overlaps_with_all(first)
                fits = (overlap >= low) & (overlap < high) & (overlap > 0)
                fits &= close_in_length(lengths[first], lengths, self._settings.tolerance)
                fits &= self._groups == self._groups[first]
                fits[first] = False
                if not is_pool:
                    fits &= self._uses < self._settings.max_uses
                partners = np.flatnonzero(fits)
                band = np.searchsorted(edges, overlap[partners], side="right") * is_pool
                before = len(pairs)
                for number in np.unique(band):
                    second = int(self._rng.choice(partners[band == number]))
                    key = (min(first, second), max(first, second))
                    if key not in pairs:
                        pairs[key] = (first, second, float(overlap[second]))
                        if not is_pool:
                            self._uses[[first, second]] += 1
                self.left_out["sentences without a partner that fits"] += not len(partners)
                bar.advance(len(pairs) - before)
        columns = zip(*list(pairs.values())[: self._wanted], strict=True) if pairs else ((),) * 3
        left, right, overlaps = columns
        ints = (np.array(left, np.int64), np.array(right, np.int64))
        return Candidates(*ints, np.array(overlaps, np.float64))

    def chosen(
        self, pool: Candidates, bucket: Ints, weights: Floats, unlimited: bool, fill_up: bool = True
    ) -> Ints:
        """Return the places of candidates taken at random from each bucket, by its weight.

        Args:
            pool: The candidates.
            bucket: Number of the bucket of each, (n,).
            weights: How much each bucket gives, relative to the others.
            unlimited: Whether a sentence may be in any number of pairs.
            fill_up: Whether other buckets give what one lacks.
        """
        most, total = len(weights), self._settings.num_pairs
        order = self._rng.permutation(len(bucket))
        queues = [deque(order[bucket[order] == number].tolist()) for number in range(most)]
        places: list[int] = []
        wanted = quotas(total, weights, [len(queue) if fill_up else total for queue in queues])
        while wanted.any():
            for number in reversed(range(most)):
                queue, count = queues[number], int(wanted[number])
                while queue and count:
                    place = queue.popleft()
                    if unlimited or self._use(pool, place):
                        places.append(place)
                        count -= 1
            if not fill_up:
                break
            wanted = quotas(total - len(places), weights, [len(queue) for queue in queues])
        return np.array(sorted(places), np.int64)

    def _use(self, pool: Candidates, place: int) -> bool:
        """Count a use of both sentences of a candidate; return False where one has no use left."""
        pair = [int(pool.left[place]), int(pool.right[place])]
        is_free = bool((self._uses[pair] < self._settings.max_uses).all())
        self._uses[pair] += is_free
        return is_free


def random_pairs(groups: Ints, rng: np.random.Generator) -> Iterator[tuple[Ints, Ints]]:
    """Yield distinct random pairs of sentences of one group, in blocks; at most a million pairs.

    Where there are no more pairs than that, all are yielded in random order.
    """
    most = 1_000_000
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups) if len(groups) else np.zeros(0, np.int64)
    first, pairs = np.cumsum(sizes) - sizes, sizes * (sizes - 1) // 2
    if int(pairs.sum()) <= most:
        corners = [np.array(np.triu_indices(size, 1)) for size in sizes]
        both = [order[start + some] for start, some in zip(first, corners, strict=True)]
        a, b = rng.permuted(np.concatenate([np.empty((2, 0), np.int64), *both], axis=1), axis=0)
        mixed = rng.permutation(len(a))
        for start in range(0, len(a), _BLOCK):
            yield a[mixed[start : start + _BLOCK]], b[mixed[start : start + _BLOCK]]
        return
    seen, cumulated = np.empty(0, np.int64), np.cumsum(pairs)
    while len(seen) < most:
        chosen = np.searchsorted(cumulated, rng.integers(cumulated[-1], size=_BLOCK), side="right")
        one = rng.integers(sizes[chosen])
        two = (one + 1 + rng.integers(sizes[chosen] - 1)) % sizes[chosen]
        a, b = order[first[chosen] + one], order[first[chosen] + two]
        keys = np.minimum(a, b) * np.int64(len(groups)) + np.maximum(a, b)
        places = np.sort(np.unique(keys, return_index=True)[1])
        places = places[~np.isin(keys[places], seen)]
        seen = np.concatenate([seen, keys[places]])
        yield a[places], b[places]


# --- Buckets -------------------------------------------------------------------------------------


def quotas(total: int, weights: Floats, available: npt.ArrayLike) -> Ints:
    """Divide `total` in proportion to `weights`, never more than is `available` of each.

    Other buckets give what one lacks, in the same proportion. Fractions go to the largest
    remainders; of equal ones, to the later bucket.
    """
    room = np.array(available, np.int64)
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


def bucket_of(values: Floats, buckets: int) -> Ints:
    """Return the number of each value's bucket, from 0; buckets hold equal shares of the values.

    Equal values are in the same bucket.
    """
    if not len(values):
        return np.empty(0, np.int64)
    edges = np.quantile(values, np.linspace(0, 1, buckets + 1))
    return np.searchsorted(edges[1:-1], values, side="right")


def _bucket_weights(settings: PairSettings) -> Floats:
    exponents = np.arange(settings.buckets) / (settings.buckets - 1)
    return np.asarray(settings.bucket_ratio**exponents, dtype=np.float64)


def _bin_of(scores: Floats, settings: PairSettings) -> Ints:
    """Return the number of each score's bin: [e0, e1], (e1, e2], ...; -1 outside the range."""
    low, high = settings.score_range
    edges = np.linspace(low, high, settings.bins + 1)
    bins = np.searchsorted(edges[1:-1], scores, side="left")
    return np.where((scores >= low) & (scores <= high), bins, -1)


def _scores(sentences: Sentences, source: Path) -> Floats:
    scores = []
    for cell, line in zip(sentences.extra, sentences.places[::2], strict=True):
        try:
            scores.append(parse_score(cell))
        except ValueError as error:
            raise InputError(f"{source}, line {line}: {error}") from None
    return np.array(scores, dtype=np.float64)
