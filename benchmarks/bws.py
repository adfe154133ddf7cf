"""Best-worst scaling: split-half beside a plain loop, and what reliability says about the truth.

    python benchmarks/bws.py speed ITEMS [--splits 20]
    python benchmarks/bws.py choix [--items 400]
    python benchmarks/bws.py truth ITEMS [--noise 0.1766]

ITEMS are items with true scores; annotators are simulated. `speed`: the same random splits by
firth, all at once, and by a loop in plain Python, one after the other. `choix`: Bradley–Terry by
firth (scikit-learn) and by choix, on the same pairs. `truth`: split-half reliability, the
correlation of two annotations of the same tuples, that of two annotations of different tuples, and
the correlation with the truth, by both estimates; and how often intervals hold the mean score over
40 other designs. Times are of the processor, one thread.
"""

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from firth.relatedness.bws.answers import Judgements
from firth.relatedness.bws.design import Floats, design_tuples
from firth.relatedness.bws.records import read_items
from firth.relatedness.bws.reliability import split_half
from firth.relatedness.bws.score import fit_strengths, implied_pairs, score_intervals
from firth.relatedness.bws.simulate import Crowd, evenly_spread, simulate_judgements, true_scores
from firth.run import progress

_DESIGNS = 40
_MANY = 1_000
"""Items with which only one step of choix is tried."""


def timed(what: str, work: Callable[[], Any]) -> tuple[Any, float]:
    """Run `work`, and print the processor time it took."""
    start = time.process_time()
    result = work()
    seconds = time.process_time() - start
    print(f"{what:<44} {seconds:8.2f} s")
    return result, seconds


def rank(values: list[float]) -> list[float]:
    """Average ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in range(start, end + 1):
            ranks[order[place]] = (start + end) / 2
        start = end + 1
    return ranks


def correlate(x: list[float], y: list[float]) -> float:
    """Pearson."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    xy = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    xx = sum((a - mean_x) ** 2 for a in x)
    yy = sum((b - mean_y) ** 2 for b in y)
    return float(xy / (xx * yy) ** 0.5)


def loop(found: Judgements, splits: int, seed: int) -> list[float]:
    """Split-half as it is usually written: dictionaries, one split after the other."""
    rng = random.Random(seed)
    members = found.tuples.tolist()
    by_tuple: dict[int, list[tuple[int, int]]] = {}
    for asked, best, worst in zip(
        found.asked.tolist(), found.best.tolist(), found.worst.tolist(), strict=True
    ):
        by_tuple.setdefault(asked, []).append((best, worst))
    figures = []
    for _ in range(splits):
        shown: list[dict[int, int]] = [{}, {}]
        net: list[dict[int, int]] = [{}, {}]
        for asked, answers in by_tuple.items():
            coin = rng.randrange(2)
            for place, (best, worst) in enumerate(rng.sample(answers, len(answers))):
                half = (place + coin) % 2
                for item in members[asked]:
                    shown[half][item] = shown[half].get(item, 0) + 1
                net[half][best] = net[half].get(best, 0) + 1
                net[half][worst] = net[half].get(worst, 0) - 1
        both = sorted(shown[0].keys() & shown[1].keys())
        x, y = ([net[h].get(item, 0) / shown[h][item] for item in both] for h in (0, 1))
        correlate(x, y)
        figures.append(correlate(rank(x), rank(y)))
    return figures


def speed(truth: Floats, splits: int, noise: float) -> None:
    """The same reliability from both."""
    tuples = design_tuples(len(truth))
    found, _ = simulate_judgements(truth, tuples, 2, Crowd(noise, annotators=389), seed=13)
    split_half(found, seed=1, splits=2)
    slow, slow_time = timed(f"plain Python, {splits} splits", lambda: loop(found, splits, 1))
    fast, fast_time = timed("firth, 1000 splits", lambda: split_half(found, seed=1, splits=1000))
    print(f"mean Spearman {np.mean(slow):.4f} and {fast.spearman.mean():.4f}")
    print(f"a split takes plain Python {slow_time / splits / (fast_time / 1000):.0f} times as long")


def compare_choix(items: int) -> None:
    """Bradley–Terry by firth and by choix; the same objective for `opt_pairwise`."""
    import choix

    truth = np.random.default_rng(1).permutation(evenly_spread(items))
    found, _ = simulate_judgements(truth, design_tuples(items), 2, Crowd(0.2), seed=1)
    pairs = [tuple(pair) for pair in implied_pairs(found).tolist()]
    fit_strengths(found)
    ours, base = timed("firth", lambda: fit_strengths(found))
    alpha = 1 / (2 * 1.5**2)
    peers: dict[str, Callable[[], Any]] = {
        "choix, opt_pairwise": lambda: choix.opt_pairwise(items, pairs, alpha=alpha),
        "choix, lsr_pairwise (one step)": lambda: choix.lsr_pairwise(items, pairs, alpha=0.01),
        "choix, ilsr_pairwise": lambda: choix.ilsr_pairwise(items, pairs, alpha=0.01, tol=1e-4),
    }
    for name, work in peers.items():
        if items > _MANY and "one step" not in name:
            continue
        theirs, seconds = timed(name, work)
        alike, right = spearmanr(ours, theirs).statistic, spearmanr(theirs, truth).statistic
        print(
            f"    {seconds / base:.0f} times as long as firth; Spearman with it {alike:.4f}, with "
            f"the truth {right:.4f} (firth {spearmanr(ours, truth).statistic:.4f})"
        )


def compare_truth(truth: Floats, noise: float) -> None:
    """What is repeatable, and what is true."""
    n = len(truth)
    crowd = Crowd(noise, annotators=389)
    one, other = design_tuples(n, seed=13), design_tuples(n, seed=14)

    def answer(tuples: Any, answers: int, seed: int) -> Judgements:
        return simulate_judgements(truth, tuples, answers, crowd, seed=seed)[0]

    both = answer(one, 2, 13)
    first, again, fresh = answer(one, 1, 21), answer(one, 1, 22), answer(other, 1, 23)
    shr = split_half(both, seed=1, splits=100).spearman.mean()
    print(f"noise {noise:g}: split-half reliability {shr:.3f}")
    estimates: dict[str, Callable[[Judgements], Floats]] = {
        "counting": lambda found: found.count().scores,
        "Bradley-Terry": fit_strengths,
    }
    for name, estimate in estimates.items():
        a, b, c = estimate(first), estimate(again), estimate(fresh)
        print(
            f"{name:<14} repeated on the same tuples {spearmanr(a, b).statistic:.3f}, on other "
            f"tuples {spearmanr(a, c).statistic:.3f}; all answers with the truth "
            f"{spearmanr(estimate(both), truth).statistic:.3f}"
        )
    mean = np.zeros(n)
    for seed in range(100, 100 + _DESIGNS):
        found, _ = simulate_judgements(truth, design_tuples(n, seed=seed), 2, crowd, seed=seed)
        mean += found.count().scores / _DESIGNS
    low, high = score_intervals(both, seed=1)
    held = ((low <= mean) & (mean <= high)).mean()
    print(f"95 % intervals: {(high - low).mean():.3f} wide, hold the mean score of {held:.3f}")


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("what", choices=("speed", "choix", "truth"))
    parser.add_argument("path", nargs="?", type=Path)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--items", type=int, default=400)
    parser.add_argument("--noise", type=float, default=0.1766)
    options = parser.parse_args()
    progress.set_quiet(True)
    if options.what == "choix":
        compare_choix(options.items)
        return
    if options.path is None:
        parser.error("expected ITEMS")
    truth = true_scores(read_items(options.path))
    if options.what == "speed":
        speed(truth, options.splits, options.noise)
    else:
        compare_truth(truth, options.noise)


if __name__ == "__main__":
    main()
