"""Figures with intervals, and differences with theirs, of samples; from the cache where known."""

import hashlib
import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from firth.evaluate.cache import Cache
from firth.evaluate.metrics import (
    Difference,
    Estimate,
    Metric,
    estimate,
    mean_estimate,
    paired_difference,
)
from firth.evaluate.sample import Sample
from firth.run.code import fingerprint_code
from firth.run.files import fingerprint_value
from firth.run.seeds import derive_seed

FIGURES, DIFFERENCES, MEANS = "figures", "differences", "means"
_CODE = ("evaluate/metrics", "evaluate/statistic", "evaluate/sample", "evaluate/figures", "seeds")

Key = tuple[str, Metric]
"""Subtask (`all` first) and metric."""


def bootstrap_seed(seed: int, *names: str) -> int:
    """Seed of the resamples of one figure, named by task, split, subtask and metric.

    The model is not among the names: all models are measured on the same resamples.
    """
    return derive_seed(seed, "bootstrap", *names)


def figures_of(sample: Sample, seed: int, resamples: int, cache: Cache) -> dict[Key, Estimate]:
    """Every figure of a sample, subtasks included.

    Args:
        sample: One model on one set.
        seed: Of the resampling.
        resamples: Bootstrap resamples behind each interval.
        cache: Looked at first.
    """
    key = fingerprint_value([content_of(sample), seed, resamples, *_code()])
    if (known := cache.value(FIGURES, key)) is not None:
        return {(group, Metric(metric)): Estimate(**value) for group, metric, value in known}
    found = {}
    for group, rows in sample.groups(subtasks=True).items():
        for metric in sample.metrics:
            found[group, metric] = estimate(
                metric,
                sample.x[rows],
                sample.y[rows],
                seed=bootstrap_seed(seed, sample.task, sample.split, group, metric.value),
                resamples=resamples,
                units=None if sample.units is None else sample.units[rows],
            )
    cache.keep_value(FIGURES, key, _plain(found))
    return found


def differences_of(
    first: Sample, second: Sample, subtasks: bool, seed: int, resamples: int, cache: Cache
) -> dict[Key, Difference]:
    """Paired differences of two samples of the same data, first minus second.

    Args:
        first: One model on a set.
        second: Another on the same rows.
        subtasks: Compare the subtasks too, not `all` alone.
        seed: Of the resampling.
        resamples: Bootstrap resamples behind each interval.
        cache: Looked at first.
    """
    content = [content_of(first), content_of(second), subtasks]
    key = fingerprint_value([content, seed, resamples, *_code()])
    if (known := cache.value(DIFFERENCES, key)) is not None:
        return {(group, Metric(metric)): Difference(**value) for group, metric, value in known}
    found = {}
    for group, rows in first.groups(subtasks).items():
        for metric in first.metrics:
            found[group, metric] = paired_difference(
                metric,
                (first.x[rows], first.y[rows]),
                (second.x[rows], second.y[rows]),
                seed=bootstrap_seed(seed, first.task, first.split, group, metric.value),
                resamples=resamples,
                units=None if first.units is None else first.units[rows],
            )
    cache.keep_value(DIFFERENCES, key, _plain(found))
    return found


def means_of(
    samples: Sequence[Sample], seed: int, resamples: int, cache: Cache
) -> dict[Key, Estimate]:
    """The mean of every figure over samples of the same data, subtasks included.

    Args:
        samples: Several models on a set.
        seed: Of the resampling.
        resamples: Bootstrap resamples behind each interval.
        cache: Looked at first.
    """
    key = fingerprint_value([[*map(content_of, samples)], seed, resamples, *_code()])
    if (known := cache.value(MEANS, key)) is not None:
        return {(group, Metric(metric)): Estimate(**value) for group, metric, value in known}
    found, first = {}, samples[0]
    for group, rows in first.groups(subtasks=True).items():
        for metric in first.metrics:
            found[group, metric] = mean_estimate(
                metric,
                [(sample.x[rows], sample.y[rows]) for sample in samples],
                seed=bootstrap_seed(seed, first.task, first.split, group, metric.value),
                resamples=resamples,
                units=None if first.units is None else first.units[rows],
            )
    cache.keep_value(MEANS, key, _plain(found))
    return found


def _plain(found: Mapping[Key, Estimate] | Mapping[Key, Difference]) -> list[Any]:
    return [[group, metric.value, asdict(value)] for (group, metric), value in found.items()]


def content_of(sample: Sample) -> list[object]:
    """What decides the figures of a sample, as plain values: part of a key of the cache."""
    arrays = [sample.x, sample.y, *([] if sample.units is None else [sample.units])]
    digest = hashlib.blake2b(digest_size=20)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    groups = fingerprint_value(list(sample.subtask))
    metrics = [metric.value for metric in sample.metrics]
    return [sample.task, sample.split, metrics, digest.hexdigest(), groups]


def _code() -> tuple[str, str]:
    return fingerprint_code(*_CODE), importlib.metadata.version("numpy")
