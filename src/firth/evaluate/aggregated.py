"""Aggregated figures of what a model scored; from the cache where known."""

from collections.abc import Sequence
from dataclasses import asdict

from firth.evaluate.aggregate import Aggregate, aggregate, applies
from firth.evaluate.cache import Cache
from firth.evaluate.evaluation import Scored
from firth.evaluate.figures import Key, content_of
from firth.evaluate.metrics import Estimate
from firth.evaluate.sample import sample_of
from firth.run.code import fingerprint_code
from firth.run.files import fingerprint_value

AGGREGATES = "aggregates"
_CODE = ("evaluate/aggregate", "evaluate/folds", "evaluate/metrics", "evaluate/statistic", "seeds")


def aggregates_of(
    item: Scored, hows: Sequence[Aggregate], seed: int, resamples: int, cache: Cache
) -> dict[Key, Estimate]:
    """(Name of the aggregate, metric) → figure, for the aggregates that the set can have.

    Args:
        item: One model on one set.
        hows: Which aggregates; `all` and those that do not apply are passed over.
        seed: Of folds and resampling.
        resamples: Bootstrap resamples behind each interval.
        cache: Looked at first.
    """
    found: dict[Key, Estimate] = {}
    sample = sample_of(item)
    for how in dict.fromkeys(hows):
        if not applies(item.data, how):
            continue
        for metric in sample.metrics:
            content = [content_of(sample), how.value, metric.value, seed, resamples]
            key = fingerprint_value([*content, fingerprint_code(*_CODE)])
            if (known := cache.value(AGGREGATES, key)) is None:
                figure = aggregate(
                    item.data, item.similarities, metric, how, seed=seed, resamples=resamples
                )
                cache.keep_value(AGGREGATES, key, asdict(figure))
            else:
                figure = Estimate(**known)
            found[how.value, metric] = figure
    return found
