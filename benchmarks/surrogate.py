"""How good the Surrogate's static start is, before any distillation: what its parts are worth.

    python benchmarks/surrogate.py RUN DATA_DIR [--dimensions 128 256 512] [--own 0.3 0.5 0.8 1.4]

For each size of the vector and each length of the words' own directions (None is what the run's
check chose): Spearman's correlation × 100 on STSb dev and STS12, with the ratings and with the
run's Origin. The run needs its corpus, tokenizer and the stages of `firth train context`, whose
encoder may be any.
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
    parser.add_argument("--own", type=float, nargs="+", default=[None])
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
        for own in given.own:
            start = {"base": "static", "dimensions": dimensions}
            model = start_model(run.changed({"surrogate": start, "origin": {"own": own}}))
            shown = []
            for name, (pairs, ratings, scores) in sets.items():
                found = EncoderScorer(model, name).similarities(pairs)
                rated, agreed = (rank_correlation(found, other) for other in (ratings, scores))
                shown.append(
                    f"{name}: {100 * (rated or 0):.1f} (with Origin {100 * (agreed or 0):.1f})"
                )
            print(f"{dimensions} dimensions, own {own}: " + ", ".join(shown), flush=True)


if __name__ == "__main__":
    main()
