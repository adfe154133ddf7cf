"""Sample pairs: read, look for candidates, choose, and say what was left out."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from firth.relatedness.pairs.choose import (
    Bucket,
    Picker,
    bin_of,
    bucket_of,
    choose,
    percentile_edges,
    quotas,
    shares,
)
from firth.relatedness.pairs.collect import GivenPairs, Sentences, collect_pairs, collect_sentences
from firth.relatedness.pairs.draw import Drawn, draw_at_random, draw_from_index
from firth.relatedness.pairs.result import Pair, Sample
from firth.relatedness.pairs.settings import Growth, Pool, Settings, Strategy
from firth.relatedness.pairs.sources import LeftOut, Origin
from firth.relatedness.pairs.synonyms import open_table
from firth.run.errors import InputError
from firth.run.seeds import derive_seed


def sample_pairs(
    source: str | Path,
    settings: Settings,
    *,
    columns: Sequence[str] | None = None,
    pairs: bool | None = None,
    within: str | None = None,
    score_column: str = "score",
    synonyms: str | None = None,
) -> Sample:
    """Choose sentence pairs from a file, or from the corpus of a run.

    Args:
        source: `.txt` (a sentence a line), `.tsv` (split on tabs only), `.csv`, `.jsonl`, each also
            `.gz` and `.zst`; a folder or glob of them; or a run.
        settings: What to sample.
        columns: Columns of the texts: one for sentences, two for pairs. Default: `sentence` or
            `text`, or the only column; `sentence1` and `sentence2`.
        pairs: Whether the source holds pairs; None: it does for `given` and `scores`, and where
            `columns` names two.
        within: A column; sentences are only paired with those of the same value.
        score_column: Column of the scores, for the strategy `scores`.
        synonyms: A synonym table (see `open_table`); overlap is measured after replacement.

    Raises:
        InputError: The source or the table cannot be read, or nothing in it can be used.
        MissingExtraError: WordNet is asked for and nltk is not installed.
    """
    given = _holds_pairs(settings.strategy, columns, pairs)
    if within and given:
        raise InputError(f"--within {within}: expected sentences to pair; these pairs are given")
    scored = settings.strategy is Strategy.SCORES
    extra = (score_column,) if scored else (within,) if within else ()
    table = None if synonyms is None else open_table(synonyms)
    origin = Origin(source, columns, extra=extra, pairs=given)
    rng = np.random.default_rng(derive_seed(settings.seed, "pairs", settings.strategy.value))
    counts: Counter[LeftOut] = Counter()
    picker = Picker(None if given else settings.uses)
    pool: Drawn
    buckets: tuple[Bucket, ...] = ()
    scores: list[str] = []
    if given:
        found = collect_pairs(origin, settings, table)
        sentences, looked_at = found.sentences, len(found.sentences.texts) // 2
        pool, scores = _all_given(found, settings, counts)
        if scored:
            kept, buckets, scores = _by_score(pool, scores, settings, picker, rng, origin, counts)
        elif settings.strategy is Strategy.BUCKETS:
            kept, buckets = _by_bucket(pool, settings, picker, rng)
        else:
            kept = np.sort(rng.permutation(len(pool))[: settings.pairs])
    else:
        sentences = collect_sentences(origin, settings, table)
        draw = draw_from_index if settings.pool is Pool.INDEX else draw_at_random
        if settings.strategy is Strategy.BUCKETS:
            pool, looked_at = draw(sentences, settings, rng, counts)
            kept, buckets = _by_bucket(pool, settings, picker, rng)
        else:
            draw = draw_at_random if settings.strategy is Strategy.RANDOM else draw
            pool, looked_at = draw(sentences, settings, rng, counts, picker)
            kept = np.arange(len(pool))
    left_out = sentences.left_out + counts
    if not len(kept):
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
        raise InputError(f"{source}: no pair left of {sentences.read:,} records ({reasons})")
    chosen = pool.only(kept)
    number = bucket_numbers(pool, kept, settings, buckets, scores)
    return Sample(
        settings=settings,
        source=str(source),
        inputs=origin.fingerprint(),
        synonyms=None if table is None else f"{table.source}, {sentences.replaced:,} replaced",
        pairs=tuple(
            Pair(
                texts=(sentences.texts[a], sentences.texts[b]),
                overlap=float(overlap),
                bucket=bucket,
                places=(sentences.places[a], sentences.places[b]),
                score=scores[place] if scores else None,
            )
            for a, b, overlap, bucket, place in zip(
                chosen.left.tolist(),
                chosen.right.tolist(),
                chosen.overlap.tolist(),
                number,
                kept.tolist(),
                strict=True,
            )
        ),
        read=sentences.read,
        usable=len(sentences.texts) // (2 if given else 1),
        examined=looked_at,
        pool=pool.overlap,
        left_out={str(reason): count for reason, count in left_out.items() if count},
        broken=tuple(origin.examples),
        buckets=buckets,
    )


def _holds_pairs(strategy: Strategy, columns: Sequence[str] | None, pairs: bool | None) -> bool:
    if strategy in (Strategy.GIVEN, Strategy.SCORES):
        return True
    if strategy is Strategy.BUCKETS:
        return pairs if pairs is not None else columns is not None and len(columns) == 2
    return False


def _all_given(
    found: GivenPairs, settings: Settings, counts: Counter[LeftOut]
) -> tuple[Drawn, list[str]]:
    """Given pairs whose overlap fits, with their scores."""
    n = len(found.sentences.texts) // 2
    left, right = np.arange(n) * 2, np.arange(n) * 2 + 1
    overlap = found.sentences.bags.overlaps(left, right, settings.overlap)
    low, high = settings.overlap_range
    counts[LeftOut.LOW] += int((overlap < low).sum())
    counts[LeftOut.HIGH] += int((overlap >= high).sum())
    kept = np.flatnonzero((overlap >= low) & (overlap < high))
    scores = [found.scores[place] for place in kept.tolist()] if found.scores else []
    return Drawn(left, right, overlap).only(kept), scores


def _by_bucket(
    pool: Drawn, settings: Settings, picker: Picker, rng: np.random.Generator
) -> tuple[np.ndarray, tuple[Bucket, ...]]:
    if not len(pool):
        return np.empty(0, np.int64), ()
    edges = percentile_edges(pool.overlap, settings.buckets)
    bucket = bucket_of(pool.overlap, edges)
    available = np.bincount(bucket, minlength=settings.buckets)
    weights = shares(settings.buckets, settings.growth, settings.steepness)
    wanted = quotas(settings.pairs, weights, available)
    sides = (pool.left, pool.right)
    return choose(bucket, edges, wanted, sides, picker, rng, total=settings.pairs)


def _by_score(
    pool: Drawn,
    scores: list[str],
    settings: Settings,
    picker: Picker,
    rng: np.random.Generator,
    origin: Origin,
    counts: Counter[LeftOut],
) -> tuple[np.ndarray, tuple[Bucket, ...], list[str]]:
    """Equally many of each bin; a bin that has fewer gives all, and no other makes up for it."""
    low, high = settings.score_range
    values = np.array([_number(score) for score in scores], dtype=np.float64)
    if np.isnan(values).any():
        wrong = scores[int(np.flatnonzero(np.isnan(values))[0])]
        raise InputError(f"{origin.path}: score {wrong!r} is not a number")
    inside = np.flatnonzero((values >= low) & (values <= high))
    counts[LeftOut.OUTSIDE] += len(values) - len(inside)
    edges = np.linspace(low, high, settings.bins + 1)
    wanted = quotas(settings.pairs, np.ones(settings.bins), [settings.pairs] * settings.bins)
    sides = (pool.left[inside], pool.right[inside])
    kept, buckets = choose(bin_of(values[inside], edges), edges, wanted, sides, picker, rng)
    return inside[kept], buckets, scores


def bucket_numbers(
    pool: Drawn,
    kept: np.ndarray,
    settings: Settings,
    buckets: tuple[Bucket, ...],
    scores: list[str],
) -> list[int | None]:
    """The bucket (from 1) of each chosen pair; None where there are none."""
    if not buckets:
        return [None] * len(kept)
    edges = np.array([buckets[0].low, *(bucket.high for bucket in buckets)])
    if settings.strategy is Strategy.SCORES:
        values = np.array([float(scores[place]) for place in kept.tolist()])
        return [int(number) + 1 for number in bin_of(values, edges)]
    return [int(number) + 1 for number in bucket_of(pool.overlap[kept], edges)]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


__all__ = ["Growth", "Sample", "Sentences", "Settings", "Strategy", "sample_pairs"]
