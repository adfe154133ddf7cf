"""How often pairs are said to differ in what matters, by words and by two plain rivals.

usage: python benchmarks/differences.py [--pairs PAIRS.tsv ...] [--encoder NAME]

The columns of a table are sentence1, sentence2, label (1: they differ) and source; `language` is
optional. The table `false_merges.tsv` has pairs of public issues, each with the address of its
thread, and pairs that were written for it.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path
from time import process_time

import numpy as np

from figures import Cell, record
from firth.encoders.kinds import open_encoder
from firth.evaluation.baselines import Dice
from firth.evaluation.bootstrap import Estimate
from firth.run.settings import derive_seed
from firth.text.differences import differences
from firth.text.types import CosineScorer, Floats, TextPair

SEED, RESAMPLES = 13, 2_000
PUBLIC = Path(__file__).with_name("false_merges.tsv")
COSINES, OVERLAP = (0.8, 0.9), 0.8
"""Similarities below which a rival says that a pair differs."""


def main() -> None:
    """Measure, and write the figure `differences`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, nargs="*", default=[])
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2-int8")
    given = parser.parse_args()
    groups: dict[str, list[TextPair]] = defaultdict(list)
    languages: dict[str, list[str]] = defaultdict(list)
    for path in (*given.pairs, PUBLIC):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                source = "public issues" if row["source"].startswith("http") else row["source"]
                name = f"{source}: {'differ' if row['label'] == '1' else 'say the same'}"
                groups[name].append((row["sentence1"], row["sentence2"]))
                languages[name].append(row.get("language") or "en")
    encoder = CosineScorer(given.encoder, open_encoder(given.encoder).encode)
    rows: dict[str, list[Cell]] = {}
    for code in sorted({code for codes in languages.values() for code in codes}):
        differences("Opens the file of a language: \u0301.", "", language=code)
    began, count = process_time(), sum(map(len, groups.values()))
    found = {
        name: np.array(
            [
                bool(differences(*p, language=code))
                for p, code in zip(pairs, languages[name], strict=True)
            ]
        )
        for name, pairs in groups.items()
    }
    speed = int(round(count / (process_time() - began), -2))
    cost = f"{speed:,} pairs a second of one core, each text read once"
    for name, pairs in groups.items():
        cosines, overlaps = encoder.similarities(pairs), Dice().similarities(pairs)
        flagged = found[name], *(cosines < least for least in COSINES), overlaps < OVERLAP
        rows[name] = [len(pairs), *(share(np.asarray(side, np.float64)) for side in flagged)]
    record(
        "differences",
        ["", "pairs", "firth", *(f"cosine below {c}" for c in COSINES), f"Dice below {OVERLAP}"],
        rows,
        command="python benchmarks/differences.py --pairs PAIRS.tsv",
        data=f"{count:,} pairs; {given.encoder}; {cost}",
        seed=SEED,
    )


def share(flagged: Floats) -> Estimate:
    """Return the share of pairs that are flagged x 100, with a bootstrap interval."""
    rng = np.random.default_rng(derive_seed(SEED, "differences"))
    drawn = flagged[rng.integers(0, len(flagged), (RESAMPLES, len(flagged)))].mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Estimate(100 * flagged.mean(), 100 * low, 100 * high, len(flagged))


if __name__ == "__main__":
    main()
