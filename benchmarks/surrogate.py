"""How good the Surrogate's static start is, before any distillation: what its parts are worth.

    python benchmarks/surrogate.py RUN DATA_DIR [--dimensions 128 256 512] [--shares 0 0.25 0.5 1]

For each size of the vector and each length of the random idf directions (that of learned vectors is
1): Spearman's correlation × 100 on STSb dev and STS12, with the ratings and with the run's Origin.
The run needs its corpus, tokenizer and stage context, whose encoder may be any.
"""

import argparse

import numpy as np

from firth.evaluate.load import load_set
from firth.evaluate.models import EncoderScorer
from firth.evaluate.task import find_task
from firth.origin.origin import Origin
from firth.run.progress import set_quiet
from firth.run.run import Run
from firth.surrogate.report import rank_correlation
from firth.surrogate.start import start_model

TASKS = ("sts-b:dev", "sts12")


def main() -> None:
    """Build each start, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("data_dir")
    parser.add_argument("--dimensions", type=int, nargs="+", default=[256])
    parser.add_argument("--shares", type=float, nargs="+", default=[0.5])
    given = parser.parse_args()
    set_quiet(True)
    run = Run.open(given.run)
    origin = Origin.open(run)
    sets = {}
    for name in TASKS:
        task, split = find_task(name)
        data = load_set(task, given.data_dir, split)
        ratings = np.array([row.score for row in data.rows])
        sets[name] = (data.pairs, ratings, origin.similarities(data.pairs))
        print(f"Origin on {name}: {100 * (rank_correlation(sets[name][2], ratings) or 0):.1f}")
    for dimensions in given.dimensions:
        for share in given.shares:
            start = {"base": "static", "dimensions": dimensions, "idf_share": share}
            model = start_model(run.changed({"surrogate": start}))
            shown = []
            for name, (pairs, ratings, scores) in sets.items():
                found = EncoderScorer(model, name).similarities(pairs)
                rated, agreed = (rank_correlation(found, other) for other in (ratings, scores))
                shown.append(
                    f"{name}: {100 * (rated or 0):.1f} (with Origin {100 * (agreed or 0):.1f})"
                )
            print(f"{dimensions} dimensions, idf {share}: " + ", ".join(shown), flush=True)


if __name__ == "__main__":
    main()
