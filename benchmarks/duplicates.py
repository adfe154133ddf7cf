"""Duplicates: average precision on MRPC, time and memory.

usage: python benchmarks/duplicates.py --data-dir DIR --run RUN --encoder-run RUN [--cost RUN ...]

`--data-dir` has MRPC (`MRPC/pairs.tsv`: two sentences and 1 where they say the same). `--run` and
`--encoder-run` are runs without and with a pretrained encoder. `--cost` names runs whose duplicates
are timed.
"""

import argparse
from pathlib import Path

import numpy as np

from figures import Cell, record
from firth.corpus.corpus import Corpus
from firth.evaluation.bootstrap import bootstrap_seed
from firth.evaluation.metrics import Metric, measure, measure_difference
from firth.model import open_scorer
from firth.run.run import Run
from firth.text.types import Floats
from speed import cost

ENCODER, SEED, REUSED = "all-MiniLM-L6-v2", 13, 50_000
COMMAND = "python benchmarks/duplicates.py --data-dir DATA --run RUN --encoder-run RUN"


def mrpc(data: Path, run: str, encoder_run: str) -> dict[str, list[Cell]]:
    """Return the average precision of each scorer, minus that of another, and which one."""
    lines = (data / "MRPC" / "pairs.tsv").read_text(encoding="utf-8").splitlines()[1:]
    rows = [line.split("\t") for line in lines]
    pairs, gold = [(row[0], row[1]) for row in rows], np.array([float(row[2]) for row in rows])
    seed = bootstrap_seed(SEED, "duplicates", "MRPC")
    systems = {
        "Dice": "baseline:dice",
        "n-grams of stems": f"baseline:ngrams@{run}",
        "encoder": f"{run}/static",
        "scorer": run,
        ENCODER: ENCODER,
        f"scorer over {ENCODER}": encoder_run,
    }
    scores: dict[str, Floats] = {}
    found: dict[str, list[Cell]] = {}
    for name, opened in systems.items():
        scores[name] = open_scorer(opened).similarities(pairs)
        against = ENCODER if ENCODER in scores else "Dice"
        kind = Metric.AVERAGE_PRECISION
        ours, theirs = (gold, scores[name]), (gold, scores[against])
        gain = measure_difference(kind, ours, theirs, seed=seed)
        value = measure(kind, *ours, seed=seed)
        found[name] = [value, None if name == against else gain, against]
    return found


def main() -> None:
    """Measure, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    for name in ("run", "encoder-run"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--cost", nargs="*", default=[])
    given = parser.parse_args()
    if given.run and given.encoder_run:
        rows = mrpc(given.data_dir, given.run, given.encoder_run)
        columns = ["MRPC", "average precision", "minus", "that of"]
        words = [Corpus.open(run).word_counts.sum() / 1e6 for run in (given.run, given.encoder_run)]
        data = f"MRPC; learned from {words[0]:.1f}M words, over {ENCODER} from {words[1]:.1f}M"
        record("duplicates-mrpc", columns, rows, command=COMMAND, data=data, seed=SEED)
    if given.cost:
        rows = {}
        for run in given.cost:
            corpus = Corpus.open(run, "all")
            for unit in ("sentence", "passage")[: 1 + (len(corpus) < REUSED)]:
                command = "-m", "firth", "duplicates", "--unit", unit, "--run", run, "-q"
                seconds, peak = cost(*command)
                rows[f"duplicates --unit {unit}, {len(corpus):,} sentences"] = [
                    round(seconds),
                    round(peak),
                ]
        columns = ["command", "processor time, s", "peak memory, MiB"]
        inputs = [Run.open(run).settings.corpus.inputs for run in given.cost]
        data = "; ".join(", ".join(Path(each).name for each in some) for some in inputs)
        record("duplicates-cost", columns, rows, command=f"{COMMAND} --cost RUNS", data=data)


if __name__ == "__main__":
    main()
