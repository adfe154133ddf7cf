"""Compare models by the results they left behind, without opening any of them."""

from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

import firth
from firth.errors import InputError
from firth.evaluate.cache import Cache
from firth.evaluate.comparison import Comparison, compare_samples
from firth.evaluate.metrics import CONFIDENCE
from firth.evaluate.sample import Sample
from firth.evaluate.saved import Saved, read_saved

SCHEMA = 1
"""Version of the JSON of differences."""


@dataclass(frozen=True)
class Versus:
    """Differences between models of one or two saved results.

    Attributes:
        differences: Task by task, first minus second.
        seed: Of the resampling.
        resamples: Bootstrap resamples behind each interval.
    """

    differences: tuple[Comparison, ...]
    seed: int
    resamples: int

    def to_dict(self) -> dict[str, Any]:
        """The JSON document as plain values."""
        return {
            "schema": SCHEMA,
            "differences": [difference.to_dict() for difference in self.differences],
            "settings": {
                "seed": self.seed,
                "resamples": self.resamples,
                "confidence": CONFIDENCE,
            },
            "firth": firth.__version__,
        }


def compare_saved(
    first: str | Path,
    second: str | Path | None = None,
    *,
    against: str | None = None,
    subtasks: bool = False,
    seed: int | None = None,
    resamples: int | None = None,
    cache: Cache | None = None,
) -> Versus:
    """Paired bootstrap of every model of one saved result against every one of another.

    Args:
        first: Folder written by `Report.write`, or the `results.json` in it.
        second: Another; None compares the models of `first` with each other.
        against: Keep comparisons with this model only, as the second of each.
        subtasks: Compare the subtasks too, not `all` alone.
        seed: Of the resampling; None takes that of `first`.
        resamples: Bootstrap resamples; None takes those of `first`.
        cache: Differences computed before.

    Raises:
        InputError: A file cannot be used; two models share no set, or saw different rows of one
            (the message names it); `against` is not there; there is nothing to compare.
    """
    one = read_saved(first)
    two = None if second is None else read_saved(second)
    seed = one.seed if seed is None else seed
    resamples = one.resamples if resamples is None else resamples
    pairs = _pairs(one, two, against)
    if not pairs:
        what = one.path if two is None else f"{one.path} and {two.path}"
        raise InputError(f"{what}: one model only; expected two to compare with each other")
    found = [
        difference
        for ours, theirs in pairs
        for difference in compare_samples(
            ours, theirs, seed=seed, resamples=resamples, subtasks=subtasks, cache=cache
        )
    ]
    return Versus(tuple(found), seed, resamples)


_Named = tuple[str, list[Sample]]


def _pairs(one: Saved, two: Saved | None, against: str | None) -> list[tuple[_Named, _Named]]:
    """Each two models once, told apart by their files where one name means two models."""
    ours = list(one.samples.items())
    if two is None:
        pairs = list(combinations(ours, 2))
    else:
        clashes = {
            name
            for name in one.samples.keys() & two.samples.keys()
            if not _same(one.samples[name], two.samples[name])
        }
        left = [(_told_apart(name, one, clashes), found) for name, found in ours]
        right = [(_told_apart(name, two, clashes), found) for name, found in two.samples.items()]
        pairs = list(
            {
                frozenset((a[0], b[0])): (a, b)
                for a, b in reversed(list(product(left, right)))
                if a[0] != b[0]
            }.values()
        )[::-1]
    known = dict.fromkeys(name for pair in pairs for name, _ in pair)
    if against is None:
        return pairs
    if against not in known:
        raise InputError(f"--against {against}: no such model; there are {', '.join(known)}")
    chosen = [pair for pair in pairs if against in (pair[0][0], pair[1][0])]
    return [(b, a) if a[0] == against else (a, b) for a, b in chosen]


def _told_apart(name: str, saved: Saved, clashes: set[str]) -> str:
    return f"{name} ({saved.path})" if name in clashes else name


def _same(ours: list[Sample], theirs: list[Sample]) -> bool:
    """Whether two results of one name hold one model's similarities, as far as both have them."""
    others = {(sample.name, sample.data): sample for sample in theirs}
    shared = [(s, others[s.name, s.data]) for s in ours if (s.name, s.data) in others]
    return all(np.array_equal(a.x, b.x) and np.array_equal(a.y, b.y) for a, b in shared)
