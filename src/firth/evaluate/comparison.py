"""Models against each other on the same pairs: fresh or saved, two at a time or groups of seeds.

Intervals of two models that overlap may still hide a clear difference, since both err on the same
hard pairs; the paired bootstrap measures the difference itself.
"""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

import firth
from firth.evaluate.cache import Cache
from firth.evaluate.figures import Bootstrap
from firth.evaluate.metrics import Estimate, Metric
from firth.evaluate.report import Saved, read_saved
from firth.evaluate.results import Comparison, Evaluation, GroupResult, settings_of
from firth.evaluate.rows import Sample
from firth.evaluate.task import ALL
from firth.run.errors import InputError

SCHEMA = 2
"""Version of the JSON of differences."""
_Named = tuple[str, Sequence[Sample]]


def compare(
    first: Evaluation, second: Evaluation, *, subtasks: bool = False, cache: Cache | None = None
) -> list[Comparison]:
    """Paired bootstrap of every figure that two evaluations share: of `all` rows, or subtasks too.

    Raises:
        InputError: They share no set, saw different data, or were resampled differently.
    """
    if (first.seed, first.resamples) != (second.seed, second.resamples):
        raise InputError(
            f"{first.model} and {second.model}: resampled differently (seed, resamples: "
            f"{first.seed}, {first.resamples} and {second.seed}, {second.resamples})"
        )
    one, two = ((e.model, [item.sample for item in e.scored]) for e in (first, second))
    return _compare(one, two, subtasks, Bootstrap(first.seed, first.resamples, Cache.open(cache)))


def _compare(
    first: _Named, second: _Named, subtasks: bool, bootstrap: Bootstrap
) -> list[Comparison]:
    (one, ours), (two, theirs) = first, second
    others = {sample.name: sample for sample in theirs}
    shared = [(sample, others[sample.name]) for sample in ours if sample.name in others]
    if not shared:
        raise InputError(f"{one} and {two} share no evaluated set")
    if differing := [pair for pair in shared if pair[0].data != pair[1].data]:
        names = ", ".join(f"{a.name} ({a.data[:12]} and {b.data[:12]})" for a, b in differing)
        raise InputError(
            f"{one} and {two} saw different data: the rows differ in {names}. "
            "Evaluate both on the same files, and leave out the same rows"
        )
    return [
        Comparison(one, two, sample.task, group, sample.split, metric.value, difference)
        for sample, other in shared
        for (group, metric), difference in bootstrap.differences(sample, other, subtasks).items()
    ]


def group_results(name: str, members: Sequence[Evaluation], cache: Cache) -> list[GroupResult]:
    """Mean and spread of every figure over models that differ in their seed.

    `members` are evaluated on the same sets, with the same seed and resamples; raise `InputError`
    if they are fewer than two.
    """
    if len(members) < 2:
        raise InputError(f"group {name}: got {len(members)} model; expected at least 2")
    bootstrap = Bootstrap(members[0].seed, members[0].resamples, cache)
    models = tuple(one.model for one in members)
    results = []
    for items in zip(*(member.scored for member in members), strict=True):
        samples = [item.sample for item in items]
        task, split = samples[0].task, samples[0].split
        for (group, metric), mean in bootstrap.figures(samples).items():
            found = [one.find(task, metric.value, subtask=group, split=split) for one in members]
            known = [one.value for one in found if one.value is not None]
            spread: tuple[float | None, float | None, float | None] = (None, None, None)
            if len(known) == len(found):
                spread = statistics.stdev(known), min(known), max(known)
            results.append(
                GroupResult(name, models, task, group, split, metric.value, mean.value, *spread,
                            mean.low, mean.high, mean.n)
            )  # fmt: skip
    return results


def choose(samples: Sequence[Sample], names: Sequence[str]) -> list[Sample]:
    """The samples of some sets, in the order of `names`: `sts12`, or `sts-b:dev` with a split.

    Raises:
        InputError: A set that is not there, a name that fits several splits, or one set twice.
    """
    chosen = []
    for name in names:
        task, _, split = name.partition(":")
        found = [one for one in samples if one.task == task and split in ("", one.split)]
        if len(found) != 1:
            there = ", ".join(f"{one.task}:{one.split}" for one in samples)
            problem = "no such set" if not found else "several splits of it"
            raise InputError(f"average over {name}: {problem}; evaluated: {there}")
        chosen.append(found[0])
    if len({one.name for one in chosen}) < max(2, len(chosen)):
        raise InputError(f"average over {', '.join(names)}: expected two different sets or more")
    return chosen


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
        values = asdict(self)
        figure: dict[str, Any] = values.pop("figure")
        return values | figure


@dataclass(frozen=True)
class SavedComparison:
    """Differences between models of saved results, task by task and of averages over sets, first
    minus second; and the averages of each model."""

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
            "settings": settings_of(self.seed, self.resamples),
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
) -> SavedComparison:
    """Paired bootstrap of every model of one saved result against every one of another.

    Args:
        first: Folder written by `Report.write`, or the `results.json` in it.
        second: Another; None compares the models of `first` with each other.
        against: Keep comparisons with this model only, as the second of each.
        subtasks: Compare the subtasks too.
        mean: Names of sets, as `sts12` or `sts-b:dev`: also give each model's mean over them, and
            the differences of these.
        seed: Of the resampling; None takes that of `first`, as it does for `resamples`.
        resamples: Bootstrap resamples.
        cache: Differences computed before.

    Raises:
        InputError: A file cannot be used; two models share no set, or saw different rows of one
            (the message names it); `against` or a set of `mean` is not there; there is nothing to
            compare.
    """
    one = read_saved(first)
    two = None if second is None else read_saved(second)
    bootstrap = Bootstrap(
        one.seed if seed is None else seed,
        one.resamples if resamples is None else resamples,
        Cache.open(cache),
    )
    pairs = _pairs(one, two, against)
    if not pairs:
        what = one.path if two is None else f"{one.path} and {two.path}"
        raise InputError(f"{what}: one model only; expected two to compare with each other")
    found = [one for pair in pairs for one in _compare(*pair, subtasks, bootstrap)]
    averages, more = _averaged(pairs, mean, bootstrap) if mean else ((), [])
    return SavedComparison((*found, *more), bootstrap.seed, bootstrap.resamples, averages)


def _averaged(
    pairs: Sequence[tuple[_Named, _Named]], names: Sequence[str], bootstrap: Bootstrap
) -> tuple[tuple[Average, ...], list[Comparison]]:
    """The averages of every model, and the differences of every pair of them."""
    models = {name: choose(found, names) for pair in pairs for name, found in pair}
    label = f"mean of {', '.join(names)}"
    every = [one.metrics for chosen in models.values() for one in chosen]
    metrics = [metric for metric in Metric if all(metric in found for found in every)]
    if not metrics:
        raise InputError(f"{label}: no metric that all of these sets are measured by")
    averages = tuple(
        Average(model, label, metric.value, bootstrap.average(chosen, metric))
        for model, chosen in models.items()
        for metric in metrics
    )
    differences = [
        Comparison(one, two, label, ALL, "", metric.value,
                   bootstrap.average_difference(models[one], models[two], metric))
        for (one, _), (two, _) in pairs
        for metric in metrics
    ]  # fmt: skip
    return averages, differences


def _pairs(one: Saved, two: Saved | None, against: str | None) -> list[tuple[_Named, _Named]]:
    """Each two models once, told apart by their files where one name means two models."""
    if two is None:
        named: list[_Named] = list(one.samples.items())
        pairs: list[tuple[_Named, _Named]] = list(combinations(named, 2))
    else:
        both = one.samples.keys() & two.samples.keys()
        clashes = {name for name in both if not _same(one.samples[name], two.samples[name])}
        left, right = (
            [(f"{name} ({saved.path})" if name in clashes else name, found)
             for name, found in saved.samples.items()]
            for saved in (one, two)
        )  # fmt: skip
        apart: list[tuple[_Named, _Named]] = [
            (a, b) for a, b in product(left, right) if a[0] != b[0]
        ]
        first_of = {frozenset((a[0], b[0])): (a, b) for a, b in reversed(apart)}
        pairs = list(first_of.values())[::-1]
    known = dict.fromkeys(name for pair in pairs for name, _ in pair)
    if against is None:
        return pairs
    if against not in known:
        raise InputError(f"--against {against}: no such model; there are {', '.join(known)}")
    chosen = [pair for pair in pairs if against in (pair[0][0], pair[1][0])]
    return [(b, a) if a[0] == against else (a, b) for a, b in chosen]


def _same(ours: Sequence[Sample], theirs: Sequence[Sample]) -> bool:
    """Whether two results of one name hold one model's similarities, as far as both have them."""
    others = {(sample.name, sample.data): sample for sample in theirs}
    shared = [(s, others[s.name, s.data]) for s in ours if (s.name, s.data) in others]
    return all(np.array_equal(a.x, b.x) and np.array_equal(a.y, b.y) for a, b in shared)
