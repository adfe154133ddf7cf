"""The paper's method: coherence in several seeds, each part of it, and Surrogates by size.

usage: python benchmarks/paper.py coherence RUN...
       python benchmarks/paper.py parts RUN [ENCODER...] --data-dir DATA
       python benchmarks/paper.py surrogates RUN --sizes 300 1000 --data-dir DATA

An ENCODER learned from a harvest. Surrogates are kept in RUN, which has a scorer (`firth build`).
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch

from figures import Cell, record
from firth.evaluation.baselines import Dice, open_baseline
from firth.evaluation.sets import load_set
from firth.model import open_scorer
from firth.paper.coherence import COHERENCE
from firth.paper.fits import TERMS
from firth.paper.harvest import ScoredPairs
from firth.paper.settings import PaperSettings, SurrogateSettings, Weights
from firth.paper.surrogate import learn, open_pairs, start_of
from firth.paper.train_coherence import CHOOSES
from firth.reproduce.ablations import Fits, Rated, variants
from firth.reproduce.result import published
from firth.run.run import Run
from firth.run.settings import derive_seed

SEED, CONTEXTS, PAIRS, MOST = 13, 16, 400, 1_500
RATED = "sts-b:dev", "sts13", "sts14", "str-2021"
"""STSb dev chooses, the others confirm; at most 1,500 random pairs of each."""
SCORER, SHUFFLED = "1,000 pairs, firth's scores", "1,000 pairs, scores shuffled"
VARIANTS: dict[str, dict[str, Any]] = {
    SCORER: {},
    SHUFFLED: {},
    "1,000 pairs, raw scores": {"calibration": "none"},
    "1,000 pairs, cross-encoder": {"structure": "cross-encoder"},
    "MiniLM, 1,000 pairs": {"base": "all-MiniLM-L6-v2"},
}


def parts(given: argparse.Namespace) -> dict[str, list[Cell]]:
    """Return what each part of the method is worth on STSb test, and in the paper."""
    folder, *models = given.runs
    rated = Rated(load_set("sts-b:test", given.data_dir).sampled(PAIRS, SEED), SEED)
    pairs, run, nothing = rated.data.pairs, Run.open(folder), dict.fromkeys(TERMS, 0.0)
    fits = Fits(rated, run, CONTEXTS)
    alone = {f"{name} alone": Weights(**nothing | {name: 1.0}) for name in TERMS}
    scores = {
        row: fits.similarities(fits.chosen_sets(weights), "centered", weights=weights)
        for row, weights in (variants(fits.weights) | alone).items()
    }
    scores["Eq. 4 as printed"] = fits.similarities(fits.chosen_sets())
    scores |= {name.name: open_scorer(str(name)).similarities(pairs) for name in models}
    scores["Dice"] = Dice().similarities(pairs)
    scores["tf-idf of stems"] = open_baseline("tfidf", folder).similarities(pairs)
    paper = published("sun", "table8")
    return {row: [rated.spearman(scores[row]), paper.get(row)] for row in scores}


def coherence(given: argparse.Namespace) -> dict[str, list[Cell]]:
    """Return what coherence ranks right in each run, of the held-out half that measures."""
    rows: dict[str, list[Cell]] = {}
    for run in map(Run.open, given.runs):
        summary = run.manifest(COHERENCE).summary
        same = f"{100 * summary[CHOOSES]:.1f} {summary[f'{CHOOSES}_interval']}"
        other = f"{100 * summary['ranked_random']:.1f}"
        rows[f"seed {run.settings.seed}"] = [same, other, summary["step"], summary["steps"]]
    return rows


def surrogates(given: argparse.Namespace) -> dict[str, list[Cell]]:
    """Return how Surrogates of several sizes agree with people, less what their starts do."""
    run, rows = Run.open(given.runs[0]), dict[str, list[Cell]]()
    usual = run.wing("paper", PaperSettings).surrogate.model_dump()
    sets = [Rated(load_set(name, given.data_dir).sampled(MOST, SEED), SEED) for name in RATED]
    sizes = {f"{size:,} pairs": {"pairs": size} for size in given.sizes}
    for row, changes in (sizes | VARIANTS).items():
        chosen = SurrogateSettings(**usual | {"pairs": 1_000} | changes)
        splits = open_pairs(run, chosen.pairs)
        if row == SHUFFLED:  # What any labels teach.
            mixed = np.random.default_rng(SEED).permutation(splits["train"].scores)
            splits["train"] = ScoredPairs(splits["train"].pairs, mixed)
        if row == SCORER:
            teach = open_scorer(str(run.path)).similarities
            splits = {name: ScoredPairs(of.pairs, teach(of.pairs)) for name, of in splits.items()}
        folder = run.path / "surrogates" / row.replace(" ", "-")
        if not (folder / "report.json").is_file():
            learn(run, chosen, splits, folder)
        trained = chosen.model_copy(update={"base": str(folder)})
        torch.manual_seed(derive_seed(run.settings.seed, "surrogate", "weights"))
        work = run.path / "surrogates" / "start"
        before, after = (start_of(run, settings, work) for settings in (chosen, trained))
        start = f"{'MiniLM' if 'base' in changes else chosen.structure.capitalize()}, start"
        rows[start], rows[row] = [], []
        for rated in sets:
            scores = {start: before.similarities(rated.data.pairs)}
            scores[row] = after.similarities(rated.data.pairs)
            rows[start].append(rated.spearman(scores[start]))
            rows[row].append(rated.change(row, start, scores, {}).measured)
    return rows


TABLES = {
    "parts": (parts, ("", "STSb test", "the paper")),
    "coherence": (coherence, ("", "same document", "random", "step", "of")),
    "surrogates": (surrogates, ("", *RATED)),
}


def main() -> None:
    """Measure, and record the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000], help="training pairs")
    given = parser.parse_args()
    measure, columns = TABLES[given.table]
    command = f"python benchmarks/paper.py {given.table} RUNS --data-dir DATA"
    data = f"{PAIRS if measure is parts else MOST} random pairs of each set"
    record(f"paper-{given.table}", columns, measure(given), command=command, data=data, seed=SEED)


if __name__ == "__main__":
    main()
