"""How often pairs are said to differ in what matters, by words and by two plain rivals.

usage: python benchmarks/differences.py --pairs PAIRS.tsv [--encoder NAME]

The columns of the table are sentence1, sentence2, label (1: they differ) and source. The pairs of
`false_merges.tsv`, which public issues report with their links, are measured, too.
"""

import argparse
from collections import defaultdict
from pathlib import Path
from time import process_time

import numpy as np

from figures import Cell, record
from firth.encoders.kinds import open_encoder
from firth.evaluation.baselines import Dice
from firth.evaluation.bootstrap import Estimate
from firth.run.settings import derive_seed
from firth.text.differences import compared
from firth.text.types import CosineScorer, Floats, TextPair

SEED, RESAMPLES = 13, 2_000
COSINE, OVERLAP = 0.9, 0.8
"""Similarities below which a rival says that a pair differs."""


def main() -> None:
    """Measure, and write the figure `differences`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2-int8")
    given = parser.parse_args()
    groups: dict[str, list[TextPair]] = defaultdict(list)
    reported = Path(__file__).with_name("false_merges.tsv")
    lines = [line for file in (given.pairs, reported) for line in table_of(file)]
    for one, two, label, source in lines:
        source = "public issues" if source.startswith("https://") else source
        groups[f"{source}: {'differ' if label == '1' else 'say the same'}"].append((one, two))
    encoder = CosineScorer(given.encoder, open_encoder(given.encoder).encode)
    rows: dict[str, list[Cell]] = {}
    began, count = process_time(), sum(map(len, groups.values()))
    found = {
        name: np.array([bool(compared(*pair, "en")) for pair in pairs])
        for name, pairs in groups.items()
    }
    speed = int(round(count / (process_time() - began), -2))
    for name, pairs in groups.items():
        flagged = (
            found[name],
            encoder.similarities(pairs) < COSINE,
            Dice().similarities(pairs) < OVERLAP,
        )
        rows[name] = [len(pairs), *(share(np.asarray(each, np.float64)) for each in flagged)]
    record(
        "differences",
        ["", "pairs", "firth", f"cosine below {COSINE}", f"Dice below {OVERLAP}"],
        rows,
        command="python benchmarks/differences.py --pairs PAIRS.tsv",
        data=f"{count:,} pairs; {given.encoder}; {speed:,} pairs a second of one core",
        seed=SEED,
    )


def table_of(file: Path) -> list[tuple[str, str, str, str]]:
    """Return sentence1, sentence2, label and source of each row of a table."""
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def share(flagged: Floats) -> Estimate:
    """Return the share of pairs that are flagged x 100, with a bootstrap interval."""
    rng = np.random.default_rng(derive_seed(SEED, "differences"))
    drawn = flagged[rng.integers(0, len(flagged), (RESAMPLES, len(flagged)))].mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Estimate(100 * flagged.mean(), 100 * low, 100 * high, len(flagged))


if __name__ == "__main__":
    main()
