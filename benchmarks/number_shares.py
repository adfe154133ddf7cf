"""How much of a score numbers that differ should take away (`origin.numbers`), of any system.

    python benchmarks/number_shares.py DATA_DIR SPEC [SPEC …] [--sets NAME …] [--shares S …]

SPEC is whatever `firth evaluate` takes; a run's Origin is opened without its own share. Prints
Spearman x 100 on each set and on their mean: as it is, with the 95 % bootstrap interval, and with
each share how far it is ahead of that (paired); last, how far the mean is ahead of the first
system's with the same share. Choose by STSb dev and STS12, the default.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firth import Origin
from firth.evaluate.cache import Cache
from firth.evaluate.figures import Bootstrap
from firth.evaluate.load import select_sets
from firth.evaluate.metrics import Metric
from firth.evaluate.models import resolve_model, score, system_of
from firth.evaluate.rows import EvaluationSet, Sample
from firth.lexical.arrays import Floats
from firth.lexical.numbers import differing
from firth.lexical.scorer import TextPair
from firth.run import progress
from firth.run.run import CONFIG


@dataclass(frozen=True, eq=False)
class Less:
    """Scores that are known, less what numbers take away."""

    name: str
    scores: dict[TextPair, float]
    share: float

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Similarities of `pairs`, shape (n,)."""
        found = np.array([self.scores[pair] for pair in pairs], dtype=float)
        less: Floats = found - self.share * differing(pairs) * np.maximum(found, 0.0)
        return less


def measured(
    spec: str, sets: Sequence[EvaluationSet], shares: Sequence[float], cache: Cache
) -> dict[float, list[Sample]]:
    """Share → a system's scores of each set, less that share."""
    run = (Path(spec) / CONFIG).is_file()
    scorer = Origin.open(spec, numbers=0) if run else resolve_model(spec)
    pairs = list(dict.fromkeys(pair for one in sets for pair in one.pairs))
    scores = dict(zip(pairs, scorer.similarities(pairs).tolist(), strict=True))
    samples = {}
    for share in shares:
        with progress.bar(spec, len(sets)) as shown:
            _, found = score(system_of(Less(spec, scores, share)), sets, cache, shown)
        samples[share] = [one.sample for one in found]
    return samples


def row(
    mine: Sequence[Sample], plain: Sequence[Sample], first: Sequence[Sample], bootstrap: Bootstrap
) -> list[str]:
    """Cells of a system with a share: of each set, and of all, also beside the first system."""
    groups = [[place] for place in range(len(mine))] + [[*range(len(mine))]] * (len(mine) > 1)
    cells = []
    for group in groups:
        here, there = ([of[place] for place in group] for of in (mine, plain))
        value = bootstrap.average(here, Metric.SPEARMAN)
        cells.append(f"{value.value:.1f} [{value.low:.1f}, {value.high:.1f}]")
        if mine is not plain:
            cells[-1] = f"{value.value:.1f} {_ahead(here, there, bootstrap)}"
    return [*cells, "" if mine is first else _ahead(mine, first, bootstrap)]


def _ahead(mine: Sequence[Sample], theirs: Sequence[Sample], bootstrap: Bootstrap) -> str:
    found = bootstrap.average_difference(mine, theirs, Metric.SPEARMAN)
    return f"{found.value:+.1f} [{found.low:.1f}, {found.high:.1f}]"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data_dir")
    parser.add_argument("specs", nargs="+")
    parser.add_argument("--sets", nargs="+", default=["sts-b:dev", "sts12"], metavar="NAME")
    parser.add_argument("--shares", nargs="+", type=float, default=[0.15, 0.2, 0.25, 0.3, 0.4])
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=13)
    options = parser.parse_args()
    progress.set_quiet(True)
    sets, _ = select_sets(options.sets, options.data_dir, None)
    bootstrap = Bootstrap(options.seed, options.resamples, Cache(None))
    titles = [*options.sets, *["mean"] * (len(sets) > 1), f"ahead of {options.specs[0]}"]
    print("| | share | " + " | ".join(titles) + " |")
    first = None
    for spec in options.specs:
        samples = measured(spec, sets, [0.0, *options.shares], bootstrap.cache)
        first = first or samples
        for share, mine in samples.items():
            cells = row(mine, samples[0.0], first[share], bootstrap)
            print(
                f"| {'' if share else spec} | {share:g} | " + " | ".join(cells) + " |", flush=True
            )


if __name__ == "__main__":
    main()
