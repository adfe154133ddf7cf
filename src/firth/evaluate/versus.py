"""Compare models by the results they left behind, without opening any of them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

import firth
from firth.evaluate.average import average, average_difference, choose
from firth.evaluate.cache import Cache
from firth.evaluate.comparison import Comparison, compare_samples
from firth.evaluate.metrics import CONFIDENCE, Estimate, Metric
from firth.evaluate.sample import Sample
from firth.evaluate.saved import Saved, read_saved
from firth.evaluate.task import ALL
from firth.run.errors import InputError

SCHEMA = 2
"""Version of the JSON of differences."""


@dataclass(frozen=True)
class Average:
    """The mean of a metric over several sets; `str()` says it in words."""

    model: str
    sets: str
    metric: str
    figure: Estimate

    def __str__(self) -> str:
        """`mean of sts12, sts13 spearman: A has 60.1 [58.2, 61.9]`."""
        return f"{self.sets} {self.metric}: {self.model} has {self.figure}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values: the names, and `value`, `low`, `high`, `n`, `reason`."""
        names = ("model", "sets", "metric")
        return {name: getattr(self, name) for name in names} | asdict(self.figure)


@dataclass(frozen=True)
class Versus:
    """Differences between models of one or two saved results.

    Attributes:
        differences: Task by task, and of averages, first minus second.
        seed: Of the resampling.
        resamples: Bootstrap resamples behind each interval.
        averages: Of each model over the sets that were asked for.
    """

    differences: tuple[Comparison, ...]
    seed: int
    resamples: int
    averages: tuple[Average, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON document as plain values."""
        return {
            "schema": SCHEMA,
            "differences": [difference.to_dict() for difference in self.differences],
            "averages": [average.to_dict() for average in self.averages],
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
    mean: Sequence[str] = (),
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
        mean: Names of sets, as `sts12` or `sts-b:dev`: also give each model's mean over them, and
            the differences of these.
        seed: Of the resampling; None takes that of `first`.
        resamples: Bootstrap resamples; None takes those of `first`.
        cache: Differences computed before.

    Raises:
        InputError: A file cannot be used; two models share no set, or saw different rows of one
            (the message names it); `against` or a set of `mean` is not there; there is nothing to
            compare.
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
    if not mean:
        return Versus(tuple(found), seed, resamples)
    averages, more = _averaged(pairs, mean, seed, resamples)
    return Versus((*found, *more), seed, resamples, averages)


def _averaged(
    pairs: "Sequence[tuple[_Named, _Named]]", names: Sequence[str], seed: int, resamples: int
) -> tuple[tuple[Average, ...], list[Comparison]]:
    """The averages of every model, and the differences of every pair of them."""
    models = {name: choose(found, names) for pair in pairs for name, found in pair}
    label = f"mean of {', '.join(names)}"
    every = [set(one.metrics) for chosen in models.values() for one in chosen]
    metrics = [metric for metric in Metric if all(metric in found for found in every)]
    if not metrics:
        raise InputError(f"{label}: no metric that all of these sets are measured by")
    averages = tuple(
        Average(model, label, metric.value,
                average(chosen, metric, seed=seed, resamples=resamples))
        for model, chosen in models.items()
        for metric in metrics
    )  # fmt: skip
    differences = [
        Comparison(one, two, label, ALL, "", metric.value,
                   average_difference(models[one], models[two], metric, seed=seed,
                                      resamples=resamples))
        for (one, _), (two, _) in pairs
        for metric in metrics
    ]  # fmt: skip
    return averages, differences


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
