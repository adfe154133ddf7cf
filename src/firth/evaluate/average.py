"""The average over several sets, as tables of the field have it, with an interval of its own.

Each set is resampled by itself, since its rows are a sample of their own; the averages of the
first, the second, … resample of all sets make the interval.
"""

from collections.abc import Sequence

import numpy as np

from firth.evaluate.figures import bootstrap_seed
from firth.evaluate.metrics import (
    Difference,
    Drawn,
    Estimate,
    Metric,
    draw,
    draw_difference,
    interval,
    undefined,
)
from firth.evaluate.sample import Sample
from firth.evaluate.task import ALL
from firth.run.errors import InputError


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


def average(samples: Sequence[Sample], metric: Metric, *, seed: int, resamples: int) -> Estimate:
    """The mean of a metric over sets, with its interval.

    Args:
        samples: One model on two sets or more.
        metric: Which figure.
        seed: Of the resampling.
        resamples: Bootstrap resamples.

    Returns:
        x 100, with `n` the rows of all sets. Undefined, with the reason, if it is so on one set.
    """
    n = sum(len(one.x) for one in samples)
    for one in samples:
        if reason := undefined(metric, one.x, one.y):
            return Estimate(None, None, None, n, f"{one.name}: {reason}")
    found = _mean(
        [
            draw(metric, one.x, one.y, seed=_seed(one, metric, seed), resamples=resamples,
                 units=one.units)
            for one in samples
        ]
    )  # fmt: skip
    return Estimate(100 * found.value, *interval(found.resampled), n)


def average_difference(
    firsts: Sequence[Sample],
    seconds: Sequence[Sample],
    metric: Metric,
    *,
    seed: int,
    resamples: int,
) -> Difference:
    """How far one model's mean over sets is ahead of another's, on the same resamples.

    Args:
        firsts: One model on two sets or more.
        seconds: The other on the same rows of the same sets, in the same order.
        metric: Which figure.
        seed: Of the resampling.
        resamples: Bootstrap resamples.
    """
    n = sum(len(one.x) for one in firsts)
    if any(undefined(metric, one.x, one.y) for one in (*firsts, *seconds)):
        return Difference(None, None, None, n)
    found = _mean(
        [
            draw_difference(metric, (one.x, one.y), (two.x, two.y), units=one.units,
                            seed=_seed(one, metric, seed), resamples=resamples)
            for one, two in zip(firsts, seconds, strict=True)
        ]
    )  # fmt: skip
    return Difference(100 * found.value, *interval(found.resampled), n)


def _mean(drawn: Sequence[Drawn]) -> Drawn:
    value = float(np.mean([one.value for one in drawn]))
    resampled = np.mean([one.resampled for one in drawn], axis=0)
    return Drawn(value, np.asarray(resampled, dtype=np.float64))


def _seed(sample: Sample, metric: Metric, seed: int) -> int:
    """As that of the set's own figure, so that both tell of the same resamples."""
    return bootstrap_seed(seed, sample.task, sample.split, ALL, metric.value)
