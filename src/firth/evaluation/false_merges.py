"""FALSE-MERGE: how often a function takes texts that differ for the same, by what they differ in.

Caches, memories and tools that remove duplicates merge texts. The table `false_merges.tsv` has
pairs that such programs merged, with the addresses of the threads that say so, and pairs that were
written in their form, in 20 languages. Pairs that say the same show what a careful function loses.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar

from firth.corpus.files import listed, read_table
from firth.run.errors import InputError, first_line
from firth.run.results import Record, Results

TABLE = Path(__file__).with_name("false_merges.tsv")
SAME = "same"
_COLUMNS = {"sentence1", "sentence2", "label"}

Same = Callable[[str, str], Any]
"""From two texts to whether they say the same, or to a similarity."""


@dataclass(frozen=True, kw_only=True)
class Merges(Record):
    """What a function says of the pairs of one kind.

    Attributes:
        kind: What the pairs differ in, `all that differ`, or `same`.
        pairs: Number of pairs.
        merged: Number of pairs that were taken for the same.
        share: Their share, in [0, 1].
        low, high: 95 % interval of the share (Wilson 1927).
    """

    derived: ClassVar = ("share",)
    kind: str
    pairs: int
    merged: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """The share of merged pairs; 0 without any pair."""
        return self.merged / self.pairs if self.pairs else 0.0


@dataclass(frozen=True, repr=False)
class FalseMerges(Results[Merges]):
    """How often a function merges pairs: of each kind, of all that differ, and of those that say
    the same."""

    columns: ClassVar = ("kind", "pairs", "merged", "share")
    derived: ClassVar = ("wrong", "lost")
    name: str

    @property
    def wrong(self) -> float:
        """Share of the differing pairs that were merged, in [0, 1]."""
        return next(item.share for item in self.items if item.kind == _ALL)

    @property
    def lost(self) -> float:
        """Share of the pairs that say the same and were not merged, in [0, 1]."""
        return next((1 - item.share for item in self.items if item.kind == SAME), 0.0)

    def summary(self) -> str:
        """Return both shares in a sentence."""
        return (
            f"{self.name} merges {self.wrong:.1%} of the pairs that differ, and misses "
            f"{self.lost:.1%} of those that say the same."
        )

    def lines(self, top: int) -> Iterator[str]:
        """Yield the summary, and a line for each kind."""
        yield self.summary()
        for item in self.items:
            interval = f"[{item.low:.1%}, {item.high:.1%}]"
            yield f"{item.kind:>16}  merged {item.merged:3} of {item.pairs:4}  {interval}"


_ALL = "all that differ"


def false_merges(
    same: Same, *, name: str = "", cut: float | None = None, tables: Sequence[str | Path] = ()
) -> FalseMerges:
    """Return how often a function merges the pairs of FALSE-MERGE.

    Args:
        same: From two texts to whether they say the same; with `cut`, to a similarity.
        name: What the result is called; by default the function's own name.
        cut: Similarity from which texts are taken for the same.
        tables: Further tables of pairs (TSV without quoting: sentence1, sentence2, label 1 where
            they differ; kind and source are optional).

    Raises:
        InputError: A table lacks a column, or the function fails or returns nothing usable.
    """
    merged: dict[str, list[bool]] = {}
    read = {path: read_table(path) for path in (TABLE, *map(Path, tables))}
    for path, table in read.items():
        if missing := sorted(_COLUMNS - {*table.header}):
            raise InputError(f"{path}: the columns {listed(missing)} are missing; expected a TSV")
    for row in (row for table in read.values() for _, row in table.records):
        differ = row["label"] == "1"
        kind = (row.get("kind") or row.get("source") or "other") if differ else SAME
        is_merged = _merges(same, row["sentence1"], row["sentence2"], cut)
        merged.setdefault(kind, []).append(is_merged)
        if differ:
            merged.setdefault(_ALL, []).append(is_merged)
    kinds = sorted(merged, key=lambda kind: (kind == SAME, kind == _ALL, kind))
    items = tuple(_counted(kind, merged[kind]) for kind in kinds)
    return FalseMerges(name or getattr(same, "__name__", "the function"), items=items)


def imported(name: str) -> Same:
    """Return the function that `package.module:function` names; the working folder counts.

    Raises:
        InputError: There is no such function.
    """
    sys.path.insert(0, "")
    try:
        function: Any = resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"--check {name}: {first_line(error)}. Expected package.module:function, which can be "
            "imported here"
        ) from error
    finally:
        sys.path.remove("")
    if not callable(function):
        raise InputError(f"--check {name}: got {function!r:.80}; expected a function of two texts")
    same: Same = function
    return same


def _merges(same: Same, a: str, b: str, cut: float | None) -> bool:
    try:
        answer = same(a, b)
        return bool(answer) if cut is None else float(answer) >= cut
    except Exception as error:
        pair = f"{a!r:.60}, {b!r:.60}"
        raise InputError(f"the function fails on {pair}: {first_line(error)}") from error


def _counted(kind: str, merged: Sequence[bool]) -> Merges:
    from scipy.stats import binomtest

    interval = binomtest(sum(merged), len(merged)).proportion_ci(method="wilson")
    low, high = float(interval.low), float(interval.high)
    return Merges(kind=kind, pairs=len(merged), merged=sum(merged), low=low, high=high)
