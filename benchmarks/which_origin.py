"""What each kind of Origin costs to score pairs, beside tf-idf on the same pairs.

    python benchmarks/which_origin.py DATA_DIR SPEC [SPEC …] [--pairs 200] [--seed 13]

SPEC is whatever `firth evaluate` takes: a run, an encoder's folder, `baseline:NAME@RUN`. The
first one is what the others are compared with. Prints for each the processor time of opening it,
the pairs scored in a second of it, and how many times longer than the first it takes a pair; one
thread.
"""

import argparse
from time import process_time

import numpy as np
import torch

from firth.evaluate.load import load_set
from firth.evaluate.models import resolve_model
from firth.evaluate.task import find_task
from firth.run import progress


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data_dir")
    parser.add_argument("specs", nargs="+")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=13)
    options = parser.parse_args()
    torch.set_num_threads(1)
    progress.set_quiet(True)
    task, split = find_task("sts-b:dev")
    pairs = load_set(task, options.data_dir, split).pairs
    order = np.random.default_rng(options.seed).permutation(len(pairs))
    chosen = [pairs[i] for i in order[: options.pairs]]
    first = None
    print(f"{'system':<44} {'opening, s':>10} {'pairs a second':>15} {'times the first':>16}")
    for spec in options.specs:
        start = process_time()
        scorer = resolve_model(spec)
        opened = process_time()
        scorer.similarities(chosen)
        took = (process_time() - opened) / len(chosen)
        first = first or took
        print(f"{spec:<44} {opened - start:>10.1f} {1 / took:>15.1f} {took / first:>16.1f}")


if __name__ == "__main__":
    main()
