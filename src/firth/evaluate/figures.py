"""Figures of samples with their intervals: of subtasks, parts, means; and differences."""

import hashlib
import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

import numpy as np

from firth.evaluate.cache import Cache
from firth.evaluate.metrics import (
    Difference,
    Estimate,
    Floats,
    Metric,
    Part,
    Rows,
    estimate,
    mean_difference,
    mean_estimate,
)
from firth.evaluate.rows import EvaluationSet, Sample, Scored, fingerprint_rows
from firth.evaluate.task import ALL
from firth.run.code import fingerprint_code
from firth.run.errors import InputError
from firth.run.files import fingerprint_value
from firth.run.seeds import derive_seed

FOLDS = 10
Key = tuple[str, Metric]
"""Subtask (`all` first), or the name of an aggregate; and metric."""
F = TypeVar("F", Estimate, Difference)


class Scheme(StrEnum):
    """How rows are divided for cross-validation."""

    RANDOM = "10-fold"
    """Ten parts of equal size, each with the same share of every topic; as Misra et al. (2016)
    and Reimers & Gurevych (2019) report AFS. Sentences of a test pair may occur in training
    pairs."""
    CROSS_TOPIC = "cross-topic"
    """Train on all topics but one, test on that one (Reimers & Gurevych 2019)."""


@dataclass(frozen=True, eq=False)
class Fold:
    """One division of the rows, by number, ascending: to learn from, and to report on.

    Every row is in the test part of one fold; `name` is `fold 1` to `fold 10`, or the topic held
    out.
    """

    name: str
    train: Rows
    test: Rows


def divide(data: EvaluationSet, scheme: Scheme, seed: int = 13, folds: int = FOLDS) -> list[Fold]:
    """Divide a set. Which rows stand together depends on their content, not on their order.

    Raises:
        InputError: Fewer rows than folds, or no two topics to hold out.
    """
    topics = {name: rows for name, rows in data.subtasks.items() if name != ALL}
    n = len(data.rows)
    if scheme is Scheme.CROSS_TOPIC:
        if len(topics) < 2:
            raise InputError(
                f"{data.task.name} {data.split}: to leave one group out takes two or more, and "
                f"{data.source} has fewer"
            )
        return [Fold(name, np.setdiff1d(np.arange(n), rows), rows) for name, rows in topics.items()]
    if not 2 <= folds <= n:
        raise InputError(f"{data.task.name} {data.split}: {n} rows cannot make {folds} folds")
    digests = [fingerprint_rows([row]) for row in data.rows]
    of_row = np.empty(n, dtype=np.int64)
    dealt = 0
    for name, rows in (topics or {ALL: np.arange(n)}).items():
        ordered = np.array(sorted(rows.tolist(), key=digests.__getitem__))
        rng = np.random.default_rng(derive_seed(seed, "folds", data.task.name, name))
        # Dealing goes on where the topic before stopped, so that sizes differ by one at most.
        of_row[rng.permutation(ordered)] = (np.arange(len(rows)) + dealt) % folds
        dealt += len(rows)
    return [
        Fold(f"fold {k + 1}", np.flatnonzero(of_row != k), np.flatnonzero(of_row == k))
        for k in range(folds)
    ]


class Aggregate(StrEnum):
    """How a set's parts become one figure."""

    ALL = "all"
    """One correlation over all rows: what SentEval calls `all`."""
    MEAN = "mean"
    """Mean of the subtasks' figures."""
    WEIGHTED = "weighted"
    """Mean weighted by the subtasks' numbers of rows: what SemEval ranked by from 2013 on."""
    FOLDS = "10-fold"
    """Mean of the figures on ten random folds; how AFS is reported."""
    CROSS_TOPIC = "cross-topic"
    """Mean of the figures on each topic: as MEAN, for systems trained on the other topics."""


def parse_aggregates(names: Sequence[str]) -> list[Aggregate]:
    """The aggregates of some names; raise `InputError` for an unknown one."""
    known = {how.value: how for how in Aggregate}
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"aggregate {', '.join(unknown)}: expected one of {', '.join(known)}")
    return [known[name] for name in names]


def applies(data: EvaluationSet, how: Aggregate) -> bool:
    """Whether a set has parts that `how` averages over: subtasks, or rows enough for folds."""
    if data.units is not None or how is Aggregate.ALL:
        return False
    if how is Aggregate.FOLDS:
        return len(data.rows) >= 2 * FOLDS
    return len(data.subtasks) > 1


def parts_of(data: EvaluationSet, how: Aggregate, seed: int) -> Mapping[str, Rows]:
    """Name → row numbers of the parts that `how` averages over."""
    if how in (Aggregate.FOLDS, Aggregate.CROSS_TOPIC):
        scheme = Scheme.RANDOM if how is Aggregate.FOLDS else Scheme.CROSS_TOPIC
        return {fold.name: fold.test for fold in divide(data, scheme, seed)}
    groups = data.subtasks
    return {name: rows for name, rows in groups.items() if name != ALL} or groups


def aggregate(
    data: EvaluationSet, similarities: Floats, metric: Metric, how: Aggregate, *,
    seed: int = 13, resamples: int = 1_000,
) -> Estimate:  # fmt: skip
    """A metric on a set, put together as `how` says, with a bootstrap interval.

    `similarities` are one for each of `data.pairs`; a set without subtasks has one part. `seed` is
    that of the folds, and of the resampling of the rows within each part.

    Raises:
        InputError: The set cannot be divided as asked, or its rows are not independent.
    """
    x, y = data.columns(similarities)
    if how is Aggregate.ALL:
        return estimate(metric, x, y, seed=seed, resamples=resamples, units=data.units)
    if data.units is not None:
        raise InputError(f"{data.task.name}: its rows share texts; only the aggregate `all` fits")
    by_size = how is Aggregate.WEIGHTED
    return mean_over_parts(x, y, parts_of(data, how, seed), metric,
                           by_size=by_size, seed=seed, resamples=resamples)  # fmt: skip


def mean_over_parts(
    x: Floats, y: Floats, parts: Mapping[str, Rows], metric: Metric, *,
    by_size: bool = False, seed: int = 13, resamples: int = 1_000,
) -> Estimate:  # fmt: skip
    """The mean of a metric over parts of some rows, with a bootstrap interval within each part.

    `x` are gold scores, `y` similarities, shape (n,); `parts` name → row numbers, none shared.
    `by_size` weighs each part by its number of rows. Undefined, with the reason, if it is so on a
    part; `n` is the rows of all.
    """
    sizes = np.array([len(rows) for rows in parts.values()], dtype=np.float64)
    if not sizes.sum():
        return Estimate(None, None, None, 0, "there are no rows")
    weights = sizes if by_size else np.ones(len(parts))
    weighted = zip(parts.items(), (weights / weights.sum()).tolist(), strict=True)
    drawn = [
        Part([(x[rows], y[rows])], derive_seed(seed, "part", name), None, name, weight)
        for (name, rows), weight in weighted
    ]
    return mean_estimate(metric, drawn, resamples)


def bootstrap_seed(seed: int, *names: str) -> int:
    """Seed of the resamples of one figure, named by task, split, subtask and metric.

    The model is not among the names: all models are measured on the same resamples.
    """
    return derive_seed(seed, "bootstrap", *names)


@dataclass(frozen=True)
class Bootstrap:
    """What decides intervals, `resamples` of `seed`, and the cache where figures are looked up.

    Samples that are measured together are of the same data, row by row.
    """

    seed: int = 13
    resamples: int = 1_000
    cache: Cache = field(default_factory=lambda: Cache(None))

    def figures(self, samples: Sequence[Sample]) -> dict[Key, Estimate]:
        """Every figure of a model on a set, subtasks included; of several models, the means."""
        return self._known("figures", [*map(_content, samples)], Estimate,
                           lambda: self._each(samples, True, mean_estimate))  # fmt: skip

    def differences(self, first: Sample, second: Sample, subtasks: bool) -> dict[Key, Difference]:
        """Paired differences of two models on the same rows, first minus second."""
        both = [first, second]
        return self._known("differences", [*map(_content, both), subtasks], Difference,
                           lambda: self._each(both, subtasks, mean_difference))  # fmt: skip

    def aggregates(self, item: Scored, hows: Sequence[Aggregate]) -> dict[Key, Estimate]:
        """The aggregates that a set can have; `all` and those that do not apply are passed over."""

        def make(how: Aggregate) -> dict[Key, Estimate]:
            return {
                (how.value, metric): aggregate(item.data, item.similarities, metric, how,
                                               seed=self.seed, resamples=self.resamples)
                for metric in item.data.task.metrics
            }  # fmt: skip

        found: dict[Key, Estimate] = {}
        for how in dict.fromkeys(hows):
            if applies(item.data, how):
                content = [_content(item.sample), item.data.fingerprint, how.value]
                found |= self._known("aggregates", content, Estimate, partial(make, how))
        return found

    def average(self, samples: Sequence[Sample], metric: Metric) -> Estimate:
        """The mean of a metric over sets; `n` is the rows of all of them.

        Each set is resampled by itself, since its rows are a sample of their own, and as for its
        own figure. Undefined, with the reason, if it is so on one set.
        """
        return mean_estimate(metric, self._sets(metric, samples), self.resamples)

    def average_difference(
        self, firsts: Sequence[Sample], seconds: Sequence[Sample], metric: Metric
    ) -> Difference:
        """How far one model's mean over sets is ahead of another's, on the same resamples."""
        return mean_difference(metric, self._sets(metric, firsts, seconds), self.resamples)

    def _sets(self, metric: Metric, *models: Sequence[Sample]) -> list[Part]:
        return [self._part(ALL, metric, of_set, slice(None), of_set[0].name)
                for of_set in zip(*models, strict=True)]  # fmt: skip

    def _each(
        self, samples: Sequence[Sample], subtasks: bool,
        measure: Callable[[Metric, Sequence[Part], int], F],
    ) -> dict[Key, F]:  # fmt: skip
        return {
            (group, metric): measure(metric, [self._part(group, metric, samples, rows)],
                                     self.resamples)
            for group, rows in samples[0].groups(subtasks).items()
            for metric in samples[0].metrics
        }  # fmt: skip

    def _part(
        self, group: str, metric: Metric, samples: Sequence[Sample], rows: Rows | slice,
        name: str = "",
    ) -> Part:  # fmt: skip
        one = samples[0]
        seed = bootstrap_seed(self.seed, one.task, one.split, group, metric.value)
        units = None if one.units is None else one.units[rows]
        return Part([(each.x[rows], each.y[rows]) for each in samples], seed, units, name)

    def _known(
        self, kind: str, content: list[Any], type_: type[F], make: Callable[[], dict[Key, F]]
    ) -> dict[Key, F]:
        code: list[str] = [fingerprint_code(__name__), importlib.metadata.version("numpy")]
        return self.cache.recall(
            kind,
            fingerprint_value([content, self.seed, self.resamples, *code]),
            make,
            lambda made: [[group, metric, asdict(one)] for (group, metric), one in made.items()],
            lambda known: {(group, Metric(metric)): type_(**one) for group, metric, one in known},
        )


def _content(sample: Sample) -> list[object]:
    """What decides the figures of a sample, as plain values."""
    digest = hashlib.blake2b(digest_size=20)
    for array in (sample.x, sample.y, *([] if sample.units is None else [sample.units])):
        digest.update(np.ascontiguousarray(array).tobytes())
    return [sample.task, sample.split, sample.metrics, digest.hexdigest(), sample.subtask]
