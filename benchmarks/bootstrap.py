"""How fast bootstrap intervals are, beside the plain loop around scipy.

    python benchmarks/bootstrap.py [--pairs 9000] [--resamples 1000] [--repeats 3]

Prints the median seconds of both on the same columns, their ratio, and both intervals.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
from scipy import stats

from firth.evaluate.metrics import Floats, Metric, estimate

PEERS = {
    Metric.SPEARMAN: lambda x, y: stats.spearmanr(x, y).statistic,
    Metric.PEARSON: lambda x, y: stats.pearsonr(x, y).statistic,
}


def plain(metric: Metric, x: Floats, y: Floats, resamples: int) -> str:
    """Draw rows, call scipy, take percentiles."""
    rng = np.random.default_rng(1)
    draws = (rng.integers(0, len(x), len(x)) for _ in range(resamples))
    values = [PEERS[metric](x[draw], y[draw]) for draw in draws]
    low, high = 100 * np.quantile(values, [0.025, 0.975])
    return f"[{low:.1f}, {high:.1f}]"


def ours(metric: Metric, x: Floats, y: Floats, resamples: int) -> str:
    """The interval of `firth.evaluate.metrics`."""
    found = estimate(metric, x, y, seed=1, resamples=resamples)
    return f"[{found.low:.1f}, {found.high:.1f}]"


def seconds(call: Callable[[], str], repeats: int) -> tuple[float, str]:
    """Median time and last answer."""
    times, answer = [], ""
    for _ in range(repeats):
        start = time.perf_counter()
        answer = call()
        times.append(time.perf_counter() - start)
    return median(times), answer


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=9_000)
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 26, options.pairs) / 5
    similarity = gold + rng.normal(scale=1.5, size=options.pairs)
    print(f"{options.pairs} pairs, {options.resamples} resamples, median of {options.repeats}")
    for metric in PEERS:
        arguments = (metric, gold, similarity, options.resamples)
        mine, interval = seconds(partial(ours, *arguments), options.repeats)
        theirs, reference = seconds(partial(plain, *arguments), options.repeats)
        print(
            f"{metric:<9} firth {mine:6.3f} s {interval}   scipy loop {theirs:6.3f} s {reference}"
            f"   {theirs / mine:5.1f} times as fast"
        )


if __name__ == "__main__":
    main()
