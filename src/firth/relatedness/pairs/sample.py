"""A sample of pairs: read, look for candidates, choose, say what was left out, write."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import firth
from firth.relatedness.pairs.choose import (
    Bucket,
    Candidates,
    Picker,
    bin_of,
    bucket_of,
    choose,
    draw_at_random,
    draw_from_index,
    percentile_edges,
    quotas,
    shares,
)
from firth.relatedness.pairs.overlap import Floats, Ints
from firth.relatedness.pairs.sentences import Sentences, SentenceSource, WhyLeftOut, collect
from firth.relatedness.pairs.settings import PairPool, SampleSettings, Strategy
from firth.relatedness.pairs.synonyms import open_synonyms
from firth.relatedness.plots import draw_overlaps, save
from firth.run.errors import InputError
from firth.run.files import claim_file, fingerprint_file, write_atomically, write_json
from firth.run.seeds import derive_seed

SCHEMA = 1
BINS = 20
"""Of the histogram, of equal width from 0 to 1; the last one holds 1 too."""
_WIDTH = 40


@dataclass(frozen=True)
class Pair:
    """A chosen pair, its overlap in [0, 1], the number of its bucket from 1, where the sentences
    stand in the source (lines from 1, sentences of a run from 0), and the score it came with, as
    written.
    """

    texts: tuple[str, str]
    overlap: float
    bucket: int | None
    places: tuple[int, int]
    score: str | None = None


@dataclass(frozen=True, eq=False)
class PairSample:
    """Pairs and how they were come by.

    Attributes:
        inputs: Name → fingerprint of what was read.
        synonyms: Which table, and how many words it replaced.
        pairs: In the order of the search; of given pairs in that of the source.
        usable: Sentences (or given pairs) that fit by themselves, of the records `read`.
        examined: Pairs looked at; through the index, first sentences looked up.
        pool: Overlaps of all pairs there were to choose from, shape (n,).
        left_out: Reason → how many records, pairs or first sentences.
        broken: The first broken records, with file and line.
    """

    settings: SampleSettings
    source: str
    inputs: Mapping[str, str]
    synonyms: str | None
    pairs: tuple[Pair, ...]
    read: int
    usable: int
    examined: int
    pool: Floats
    left_out: Mapping[str, int]
    broken: tuple[str, ...]
    buckets: tuple[Bucket, ...]

    @cached_property
    def histogram(self) -> Ints:
        """Chosen pairs by overlap, shape (20,)."""
        return _histogram(np.array([pair.overlap for pair in self.pairs]))

    def text(self) -> str:
        """Counts and the histogram for a screen."""
        lines = [
            f"{len(self.pairs):,} pairs ({self.settings.strategy}, {self.settings.overlap}) from "
            f"{self.usable:,} usable of {self.read:,} records of {self.source}, "
            f"seed {self.settings.seed}"
        ]
        if len(self.pairs) < self.settings.pairs:
            lines.append(f"  fewer than the {self.settings.pairs:,} asked for")
        lines += [f"  left out: {count:,} {reason}" for reason, count in self.left_out.items()]
        lines += [f"  {example}" for example in self.broken[:3]]
        empty = sum(1 for bucket in self.buckets if bucket.candidates == 0)
        if empty:
            lines.append(f"  {empty} of {len(self.buckets)} buckets are empty (equal overlaps)")
        highest = max(int(self.histogram.max()), 1)
        lines.append("overlap")
        for number, count in enumerate(self.histogram.tolist()):
            blocks = "█" * round(_WIDTH * count / highest)
            lines.append(f"  {number / BINS:.2f}-{(number + 1) / BINS:.2f} {count:>7,} {blocks}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the sentences, as plain values."""
        return {
            "schema": SCHEMA,
            "settings": {
                **asdict(self.settings),
                "measure": self.settings.overlap.value,
                "overlap_range": list(self.settings.overlap_range),
                "length_difference": self.settings.length_tolerance,
                "examine": self.settings.examined,
            },
            "source": Path(self.source).name,
            "inputs": dict(self.inputs),
            "synonyms": self.synonyms,
            "pairs": len(self.pairs),
            "read": self.read,
            "usable": self.usable,
            "examined": self.examined,
            "left_out": dict(self.left_out),
            "broken": list(self.broken),
            "histogram": {
                "edges": [number / BINS for number in range(BINS + 1)],
                "chosen": self.histogram.tolist(),
                "pool": _histogram(self.pool).tolist(),
            },
            "buckets": [asdict(bucket) for bucket in self.buckets],
            "firth": firth.__version__,
        }

    def write(self, path: str | Path) -> list[Path]:
        """Write the pairs (`.tsv`), and beside them the report (`.json`) and the plot (`.png`).

        The TSV has `id sentence1 sentence2`, `score` where the pairs came with one, and `strategy
        measure overlap bucket source1 source2`; tabs separate, nothing is quoted. The report is
        written last and holds the fingerprint of the TSV. Without matplotlib there is no plot, and
        a note says so. Files that are there are replaced (see `claim_sample`).

        Raises:
            InputError: `path` does not end in .tsv, or cannot be written.
        """
        path, plot, report = _files(Path(path))
        try:
            with write_atomically(path) as partial:
                partial.write_text(self._table(), encoding="utf-8")
            label = f"{self.settings.overlap} overlap"
            written = save(
                lambda: draw_overlaps(self.histogram, _histogram(self.pool), label), plot
            )
            write_json(report, self.to_dict() | {"output": {path.name: fingerprint_file(path)}})
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from error
        return [path, *written, report]

    def _table(self) -> str:
        scored = self.settings.strategy is Strategy.SCORES
        header = ["id", "sentence1", "sentence2", *(["score"] if scored else [])]
        header += ["strategy", "measure", "overlap", "bucket", "source1", "source2"]
        width = len(str(len(self.pairs)))
        lines = ["\t".join(header)]
        for number, pair in enumerate(self.pairs, start=1):
            cells = [f"{number:0{width}}", *pair.texts]
            cells += [pair.score or ""] if scored else []
            cells += [self.settings.strategy, self.settings.overlap, f"{pair.overlap:.6f}"]
            cells += ["" if pair.bucket is None else str(pair.bucket), *map(str, pair.places)]
            lines.append("\t".join(cells))
        return "\n".join(lines) + "\n"


def claim_sample(path: Path, force: bool = False) -> None:
    """Refuse, before any work, a sample that could not be written or would replace files.

    Raises:
        InputError: `path` does not end in .tsv; or of it, the report and the plot beside it one is
            there (unless `force`), or cannot be written.
    """
    for file in _files(path):
        claim_file(file, force)


def _files(path: Path) -> tuple[Path, Path, Path]:
    """Pairs, plot, report."""
    if path.suffix != ".tsv":
        raise InputError(f"{path}: expected a file that ends in .tsv")
    return path, path.with_suffix(".png"), path.with_suffix(".json")


def _histogram(overlaps: Floats) -> Ints:
    places = np.minimum((overlaps * BINS + 1e-9).astype(np.int64), BINS - 1)
    return np.bincount(places, minlength=BINS)


def sample_pairs(
    source: str | Path,
    settings: SampleSettings,
    *,
    columns: Sequence[str] | None = None,
    pairs: bool | None = None,
    within: str | None = None,
    score_column: str = "score",
    synonyms: str | None = None,
) -> PairSample:
    """Choose sentence pairs from a file, or from the corpus of a run.

    Args:
        source: `.txt` (a sentence a line), `.tsv` (split on tabs only), `.csv`, `.jsonl`, each also
            `.gz` and `.zst`; a folder or glob of them; or a run.
        settings: What to sample.
        columns: Columns of the texts: one for sentences, two for pairs. Default: `sentence` or
            `text`, or the only column; `sentence1` and `sentence2`.
        pairs: Whether the source holds pairs; None: it does for `given` and `scores`, and for
            `buckets` where `columns` names two.
        within: A column; sentences are only paired with those of the same value.
        score_column: Column of the scores, for the strategy `scores`.
        synonyms: A synonym table (see `open_synonyms`); overlap is measured after replacement.

    Raises:
        InputError: The source or the table cannot be read, or nothing in it can be used.
        MissingExtraError: WordNet is asked for and nltk is not installed.
    """
    scored = settings.strategy is Strategy.SCORES
    given = scored or settings.strategy is Strategy.GIVEN
    if settings.strategy is Strategy.BUCKETS:
        given = pairs if pairs is not None else columns is not None and len(columns) == 2
    if within and given:
        raise InputError(f"--within {within}: expected sentences to pair; these pairs are given")
    extra = (score_column,) if scored else (within,) if within else ()
    table = None if synonyms is None else open_synonyms(synonyms)
    origin = SentenceSource(source, columns, extra=extra, pairs=given)
    rng = np.random.default_rng(derive_seed(settings.seed, "pairs", settings.strategy.value))
    counts: Counter[WhyLeftOut] = Counter()
    picker = Picker(None if given else settings.uses)
    buckets: tuple[Bucket, ...] = ()
    numbers: Ints | None = None
    scores: list[str] = []
    sentences = collect(origin, settings, table)
    if given:
        looked_at = len(sentences.texts) // 2
        pool, scores = _all_given(sentences, settings, counts)
        kept = np.arange(len(pool))
    else:
        at_random = settings.strategy is Strategy.RANDOM or settings.pool is PairPool.RANDOM
        draw = draw_at_random if at_random else draw_from_index
        own = None if settings.strategy is Strategy.BUCKETS else picker
        pool, looked_at = draw(sentences, settings, rng, counts, own)
        kept = np.arange(len(pool))
    if settings.strategy is Strategy.GIVEN:
        kept = np.sort(rng.permutation(len(pool))[: settings.pairs])
    elif settings.strategy is Strategy.BUCKETS:
        kept, buckets, numbers = _by_bucket(pool, settings, picker, rng)
    elif scored:
        values = _values(scores, origin.path)
        kept, buckets, numbers = _by_score(pool, values, settings, picker, rng, counts)
    left_out = sentences.left_out + counts
    if not len(kept):
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
        raise InputError(f"{source}: no pair left of {sentences.read:,} records ({reasons})")
    chosen = pool.only(kept)
    found = zip(
        chosen.left.tolist(), chosen.right.tolist(), chosen.overlap.tolist(), kept.tolist(),
        [None] * len(kept) if numbers is None else (numbers[kept] + 1).tolist(), strict=True,
    )  # fmt: skip
    return PairSample(
        settings=settings,
        source=str(source),
        inputs=origin.fingerprint(),
        synonyms=None if table is None else f"{table.source}, {sentences.replaced:,} replaced",
        pairs=tuple(
            Pair(
                (sentences.texts[a], sentences.texts[b]),
                overlap,
                bucket,
                (sentences.places[a], sentences.places[b]),
                scores[place] if scores else None,
            )
            for a, b, overlap, place, bucket in found
        ),
        read=sentences.read,
        usable=len(sentences.texts) // (2 if given else 1),
        examined=looked_at,
        pool=pool.overlap,
        left_out={str(reason): count for reason, count in left_out.items() if count},
        broken=tuple(origin.examples),
        buckets=buckets,
    )


def _all_given(
    sentences: Sentences, settings: SampleSettings, counts: Counter[WhyLeftOut]
) -> tuple[Candidates, list[str]]:
    """Given pairs whose overlap fits, with their scores."""
    n = len(sentences.texts) // 2
    left, right = np.arange(n) * 2, np.arange(n) * 2 + 1
    overlap = sentences.bags.overlaps(left, right, settings.overlap)
    low, high = settings.overlap_range
    counts[WhyLeftOut.LOW] += int((overlap < low).sum())
    counts[WhyLeftOut.HIGH] += int((overlap >= high).sum())
    kept = np.flatnonzero((overlap >= low) & (overlap < high))
    scores = [sentences.scores[place] for place in kept.tolist()] if sentences.scores else []
    return Candidates(left, right, overlap).only(kept), scores


_Chosen = tuple[Ints, tuple[Bucket, ...], Ints]
"""Places of the chosen candidates, what each bucket gave, and the bucket of every candidate."""


def _by_bucket(
    pool: Candidates, settings: SampleSettings, picker: Picker, rng: np.random.Generator
) -> _Chosen:
    if not len(pool):
        return np.empty(0, np.int64), (), np.empty(0, np.int64)
    edges = percentile_edges(pool.overlap, settings.buckets)
    bucket = bucket_of(pool.overlap, edges)
    available = np.bincount(bucket, minlength=settings.buckets)
    weights = shares(settings.buckets, settings.growth, settings.steepness)
    wanted = quotas(settings.pairs, weights, available)
    sides = (pool.left, pool.right)
    return *choose(bucket, edges, wanted, sides, picker, rng, total=settings.pairs), bucket


def _by_score(
    pool: Candidates,
    values: Floats,
    settings: SampleSettings,
    picker: Picker,
    rng: np.random.Generator,
    counts: Counter[WhyLeftOut],
) -> _Chosen:
    """Equally many of each bin; a bin that has fewer gives all, and no other makes up for it."""
    low, high = settings.score_range
    inside = np.flatnonzero((values >= low) & (values <= high))
    counts[WhyLeftOut.OUTSIDE] += len(values) - len(inside)
    edges = np.linspace(low, high, settings.bins + 1)
    wanted = quotas(settings.pairs, np.ones(settings.bins), [settings.pairs] * settings.bins)
    sides = (pool.left[inside], pool.right[inside])
    kept, buckets = choose(bin_of(values[inside], edges), edges, wanted, sides, picker, rng)
    return inside[kept], buckets, bin_of(values, edges)


def _values(scores: list[str], path: Path) -> Floats:
    """Scores as numbers; raise `InputError` naming the first that is none."""
    values = np.empty(len(scores))
    for place, score in enumerate(scores):
        try:
            values[place] = float(score)
        except ValueError:
            values[place] = np.nan
        if np.isnan(values[place]):
            raise InputError(f"{path}: score {score[:80]!r} is not a number")
    return values
