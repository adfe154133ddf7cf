"""Figures with intervals, and differences with theirs, of samples; from the cache where known."""

import hashlib
import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar

import numpy as np

from firth.evaluate.aggregate import Aggregate, aggregate, applies
from firth.evaluate.cache import Cache
from firth.evaluate.metrics import Difference, Estimate, Metric, mean_estimate, paired_difference
from firth.evaluate.results import Sample, Scored
from firth.run.code import fingerprint_code
from firth.run.files import fingerprint_value
from firth.run.seeds import derive_seed

Key = tuple[str, Metric]
"""Subtask (`all` first), or the name of an aggregate; and metric."""
F = TypeVar("F", Estimate, Difference)


def bootstrap_seed(seed: int, *names: str) -> int:
    """Seed of the resamples of one figure, named by task, split, subtask and metric.

    The model is not among the names: all models are measured on the same resamples.
    """
    return derive_seed(seed, "bootstrap", *names)


def figures_of(
    samples: Sequence[Sample], seed: int, resamples: int, cache: Cache
) -> dict[Key, Estimate]:
    """Every figure of a model on a set, subtasks included; of several models, the means.

    `samples` are one a model, all of the same data.
    """

    def make() -> dict[Key, Estimate]:
        return _each(
            samples, True, seed,
            lambda metric, columns, seed, units: mean_estimate(
                metric, columns, seed=seed, resamples=resamples, units=units
            ),
        )  # fmt: skip

    return _kept("figures", [_content(one) for one in samples], seed, resamples, cache,
                 make, Estimate)  # fmt: skip


def differences_of(
    first: Sample, second: Sample, subtasks: bool, seed: int, resamples: int, cache: Cache
) -> dict[Key, Difference]:
    """Paired differences of two models on the same rows, first minus second."""

    def make() -> dict[Key, Difference]:
        return _each(
            (first, second), subtasks, seed,
            lambda metric, columns, seed, units: paired_difference(
                metric, *columns, seed=seed, resamples=resamples, units=units
            ),
        )  # fmt: skip

    return _kept("differences", [_content(first), _content(second), subtasks], seed, resamples,
                 cache, make, Difference)  # fmt: skip


def aggregates_of(
    item: Scored, hows: Sequence[Aggregate], seed: int, resamples: int, cache: Cache
) -> dict[Key, Estimate]:
    """The aggregates that a set can have; `all` and those that do not apply are passed over."""

    def make(how: Aggregate) -> dict[Key, Estimate]:
        return {
            (how.value, metric): aggregate(item.data, item.similarities, metric, how,
                                           seed=seed, resamples=resamples)
            for metric in item.data.task.metrics
        }  # fmt: skip

    found: dict[Key, Estimate] = {}
    for how in dict.fromkeys(hows):
        if applies(item.data, how):
            content = [_content(item.sample), item.data.fingerprint, how.value]
            found |= _kept("aggregates", content, seed, resamples, cache, partial(make, how),
                           Estimate)  # fmt: skip
    return found


def _each(
    samples: Sequence[Sample], subtasks: bool, seed: int, measure: Callable[..., F]
) -> dict[Key, F]:
    first = samples[0]
    return {
        (group, metric): measure(
            metric,
            [(one.x[rows], one.y[rows]) for one in samples],
            bootstrap_seed(seed, first.task, first.split, group, metric.value),
            None if first.units is None else first.units[rows],
        )
        for group, rows in first.groups(subtasks).items()
        for metric in first.metrics
    }


def _kept(
    kind: str, content: list[Any], seed: int, resamples: int, cache: Cache,
    make: Callable[[], dict[Key, F]], type_: type[F],
) -> dict[Key, F]:  # fmt: skip
    numpy = importlib.metadata.version("numpy")
    return cache.recall(
        kind,
        fingerprint_value([content, seed, resamples, fingerprint_code(__name__), numpy]),
        make,
        lambda found: [[group, metric, asdict(value)] for (group, metric), value in found.items()],
        lambda known: {(group, Metric(metric)): type_(**value) for group, metric, value in known},
    )


def _content(sample: Sample) -> list[object]:
    """What decides the figures of a sample, as plain values."""
    digest = hashlib.blake2b(digest_size=20)
    for array in (sample.x, sample.y, *([] if sample.units is None else [sample.units])):
        digest.update(np.ascontiguousarray(array).tobytes())
    return [sample.task, sample.split, sample.metrics, digest.hexdigest(), sample.subtask]
