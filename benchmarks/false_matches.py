"""Is a promised false-match rate of 1 % one of 1 %? On documents that the threshold has not seen.

    python benchmarks/false_matches.py RUN [--pairs 200000] [--origin-pairs 5000] [--splits 10]
        [--queries 200] [--seed 13] [--out FILE.json]

RUN needs an index, a scale and an Origin. Three questions, for cosines of the index and for Origin:

- halves: the documents are parted in two at random, `--splits` times; thresholds are taken from
  random pairs of one half, and the rate is measured on as many of the other.
- kept apart: thresholds of the run's own scale (`firth scale`), the rate on random pairs of the
  documents that nothing was learned from, with its binomial interval (Clopper and Pearson 1934).
- one sentence: the same thresholds; of `--queries` sentences that were kept apart, the share of all
  sentences of the corpus that reach the threshold with each. A promise is one of the mean.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from firth.corpus.corpus import Corpus
from firth.corpus.library import Library
from firth.index.index import Index
from firth.lexical.arrays import Floats, Ints
from firth.lexical.levels import Levels
from firth.origin.origin import Origin
from firth.run import progress
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.scale.build import pair_cosines
from firth.scale.scale import Scale, Scorer

RATES = (0.05, 0.01, 0.001)
Score = Callable[[Ints, Ints], Floats]


def random_pairs(numbers: Ints, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Pairs of some sentences, none of one with itself."""
    one = rng.integers(0, len(numbers), count)
    two = rng.integers(0, len(numbers) - 1, count)
    return numbers[one], numbers[two + (two >= one)]


def reached(scores: Floats, threshold: float) -> int:
    """How many scores are as high as a threshold."""
    return int(np.count_nonzero(scores >= threshold))


def halves(corpus: Corpus, score: Score, count: int, splits: int, seed: int) -> dict[float, Floats]:
    """Rate → what it is on the other half, of each split."""
    document = corpus.document_of(np.arange(len(corpus)))
    found: dict[float, list[float]] = {rate: [] for rate in RATES}
    for split in range(splits):
        rng = np.random.default_rng(derive_seed(seed, "halves", str(split)))
        first = rng.permutation(corpus.n_documents) < corpus.n_documents // 2
        sides = [np.flatnonzero(first[document] == side) for side in (True, False)]
        fitted, asked = (score(*random_pairs(side, count, rng)) for side in sides)
        levels = Levels.of(fitted)
        for rate in RATES:
            found[rate].append(reached(asked, levels.threshold(rate)) / count)
    return {rate: np.array(rates) for rate, rates in found.items()}


def kept_apart(
    scale: Scale, held_out: Ints, score: Score, count: int, seed: int
) -> dict[float, tuple[float, float, float]]:
    """Rate → what it is among documents kept apart, with its 95 % interval."""
    rng = np.random.default_rng(derive_seed(seed, "kept apart"))
    scores, found = score(*random_pairs(held_out, count, rng)), {}
    for rate in RATES:
        test = binomtest(reached(scores, scale.threshold(rate)), count)
        ends = test.proportion_ci()
        found[rate] = (float(test.statistic), float(ends.low), float(ends.high))
    return found


def one_sentence(
    index: Index, scale: Scale, held_out: Ints, queries: int, seed: int
) -> dict[float, Floats]:
    """Rate → share of the corpus that reaches the threshold with each of some sentences."""
    rng = np.random.default_rng(derive_seed(seed, "queries"))
    chosen = index.vectors[np.sort(rng.choice(held_out, queries, replace=False))]
    asked = chosen.astype(np.float32)
    thresholds = {rate: scale.threshold(rate) for rate in RATES}
    counts = {rate: np.zeros(queries) for rate in RATES}
    for start, block in index.vectors.blocks(16_384):
        inside = block[: max(0, int(held_out[0]) - start)].astype(np.float32)
        found = asked @ inside.T
        for rate, threshold in thresholds.items():
            counts[rate] += np.count_nonzero(found >= threshold, axis=1)
    return {rate: count / int(held_out[0]) for rate, count in counts.items()}


def percent(share: float) -> str:
    """`1.02 %`, with three digits."""
    return f"{100 * share:#.3g} %"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--origin-pairs", type=int, default=5_000)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    progress.set_quiet(True)
    run = Run.open(options.run)
    corpus, library, index = Corpus.open(run), Library.open(run), Index.open(run)
    origin = Origin.open(run)
    held_out = np.arange(len(corpus), len(library))

    def cosines(one: Ints, two: Ints) -> Floats:
        return pair_cosines(index, one, two)

    def similarities(one: Ints, two: Ints) -> Floats:
        return origin.similarities(list(zip(library.texts(one), library.texts(two), strict=True)))

    scorers: Sequence[tuple[Scorer, Score, int]] = (
        (Scorer.VECTORS, cosines, options.pairs),
        (Scorer.ORIGIN, similarities, options.origin_pairs),
    )
    found: dict[str, Any] = {}
    print("| scores | promised | halves: mean | lowest to highest | kept apart (95 %) |")
    print("|---|---|---|---|---|")
    for scorer, score, count in scorers:
        scale = Scale.open(run, scorer)
        split = halves(corpus, score, count, options.splits, options.seed)
        apart = kept_apart(scale, held_out, score, count, options.seed)
        for rate in RATES:
            rates, (value, low, high) = split[rate], apart[rate]
            print(
                f"| {scorer}, {count:,} pairs | {100 * rate:g} % | {percent(rates.mean())} | "
                f"{percent(rates.min())} to {percent(rates.max())} | "
                f"{percent(value)} [{percent(low)}, {percent(high)}] |",
                flush=True,
            )
        found[scorer] = {
            str(rate): {"halves": split[rate].tolist(), "kept apart": apart[rate]} for rate in RATES
        }
    spread = one_sentence(index, Scale.open(run), held_out, options.queries, options.seed)
    print("\n| one sentence, promised | mean | 10th | median | 90th of a hundred |")
    print("|---|---|---|---|---|")
    for rate, shares in spread.items():
        ends = " | ".join(percent(each) for each in np.quantile(shares, (0.1, 0.5, 0.9)))
        print(f"| {100 * rate:g} % | {percent(shares.mean())} | {ends} |")
    found["one sentence"] = {str(rate): shares.tolist() for rate, shares in spread.items()}
    if options.out:
        options.out.write_text(json.dumps(found, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
