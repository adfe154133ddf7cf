"""A sample of pairs: what is shown, and the files that are written."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import firth
from firth.relatedness.pairs.choose import Bucket
from firth.relatedness.pairs.settings import Settings
from firth.run.errors import InputError, MissingExtraError
from firth.run.files import fingerprint_file, write_atomically, write_json
from firth.run.progress import note

SCHEMA = 1
BINS = 20
"""Of the histogram, of equal width from 0 to 1; the last one holds 1 too."""
_WIDTH = 40


@dataclass(frozen=True)
class Pair:
    """A chosen pair.

    Attributes:
        texts: Two sentences.
        overlap: By the measure of the sample, in [0, 1].
        bucket: Number of its bucket from 1, or None.
        places: Where the sentences stand in the source: lines from 1, sentences of a run from 0.
        score: The score it came with, as it was written.
    """

    texts: tuple[str, str]
    overlap: float
    bucket: int | None
    places: tuple[int, int]
    score: str | None = None


@dataclass(frozen=True, eq=False)
class Sample:
    """Pairs and how they were come by.

    Attributes:
        settings: What was asked.
        source: Where from.
        inputs: Name → fingerprint of what was read.
        synonyms: Which table, and how many words it replaced.
        pairs: In the order of the search; of given pairs in that of the source.
        read: Records read.
        usable: Sentences (or given pairs) that fit by themselves.
        examined: Pairs looked at; through the index, first sentences looked up.
        pool: Overlaps of all pairs there were to choose from, shape (n,).
        left_out: Reason → how many records, pairs or first sentences.
        broken: The first broken records, with file and line.
        buckets: What each bucket gave, where there are buckets.
    """

    settings: Settings
    source: str
    inputs: Mapping[str, str]
    synonyms: str | None
    pairs: tuple[Pair, ...]
    read: int
    usable: int
    examined: int
    pool: npt.NDArray[np.float64]
    left_out: Mapping[str, int]
    broken: tuple[str, ...]
    buckets: tuple[Bucket, ...]

    @cached_property
    def histogram(self) -> npt.NDArray[np.int64]:
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
        a note says so.

        Raises:
            InputError: `path` does not end in .tsv, or cannot be written.
        """
        path = Path(path)
        if path.suffix != ".tsv":
            raise InputError(f"{path}: expected a file that ends in .tsv")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with write_atomically(path) as partial:
                partial.write_text(self._table(), encoding="utf-8")
            written = [path, *self._plot(path.with_suffix(".png"))]
            report = path.with_suffix(".json")
            write_json(report, self.to_dict() | {"output": {path.name: fingerprint_file(path)}})
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from error
        return [*written, report]

    def _table(self) -> str:
        scored = self.settings.strategy == "scores"
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

    def _plot(self, path: Path) -> list[Path]:
        try:
            from firth.relatedness.pairs.plot import draw
        except MissingExtraError as error:
            note(str(error))
            return []
        image = draw(self.histogram, _histogram(self.pool), f"{self.settings.overlap} overlap")
        with write_atomically(path) as partial:
            partial.write_bytes(image)
        return [path]


def _histogram(overlaps: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    places = np.minimum((overlaps * BINS + 1e-9).astype(np.int64), BINS - 1)
    return np.bincount(places, minlength=BINS)
