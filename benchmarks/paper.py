"""The paper's method: its curve, coherence in several seeds, and Surrogates beside their starts.

usage: python benchmarks/paper.py curve RUN --data-dir DATA
       python benchmarks/paper.py coherence RUN...
       python benchmarks/paper.py surrogates RUN... --data-dir DATA

docs/understand/paper.md has the commands that build the runs. Terms of Eq. 3 are stages of a run,
so that a stopped call continues. They have equal deviation, as by default.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from figures import Cell, record
from firth.corpus.corpus import Corpus
from firth.evaluation.baselines import Dice, open_baseline
from firth.evaluation.metrics import Metric, measure_difference
from firth.evaluation.sets import load_set
from firth.model import open_scorer
from firth.paper.coherence import COHERENCE
from firth.paper.harvest import HARVEST
from firth.paper.settings import PaperSettings
from firth.paper.surrogate import SURROGATE, start_of
from firth.paper.train_coherence import CHOOSES
from firth.reproduce.ablations import Fits, Rated
from firth.reproduce.result import published
from firth.run.files import read_json
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.text.types import Floats

SEED, CONTEXTS = 13, 16
RATED = "sts-b:dev", "sts13", "sts14", "str-2021"
"""STSb dev chooses, the others confirm."""


def change(rated: Rated, first: Floats, second: Floats) -> Cell:
    """Return the rank correlation of the first minus that of the second, on the same pairs."""
    gold = rated.data.scores
    return measure_difference(Metric.SPEARMAN, (gold, first), (gold, second), seed=SEED)


def curve(given: argparse.Namespace) -> dict[str, list[Cell]]:
    """Return the figures of the paper by words of the corpus, and those of a run beside them."""
    (folder,) = given.runs
    rated = Rated(load_set("sts-b:test", given.data_dir).sampled(given.pairs, SEED), SEED)
    fits = Fits(rated, Run.open(folder), CONTEXTS)
    scores = fits.similarities(fits.chosen_sets(), "centered", CONTEXTS)
    words = f"{Corpus.open(Run.open(folder)).word_counts.sum() / 1e6:.1f}M, firth"
    pairs, nothing = rated.data.pairs, [None, None]
    rivals = Dice().similarities(pairs), open_baseline("tfidf", folder).similarities(pairs)
    rows: dict[str, list[Cell]] = {
        f"{int(size) // 10**6:,}M": [value, *nothing]
        for size, value in published("sun", "table5").items()
    }
    rows[words] = [*map(rated.spearman, (scores, *rivals))]
    return rows | {"the same minus Dice": [change(rated, scores, rivals[0]), *nothing]}


def coherence(given: argparse.Namespace) -> dict[str, list[Cell]]:
    """Return what coherence ranks right in each run, of the held-out half that measures."""
    rows: dict[str, list[Cell]] = {}
    for folder in given.runs:
        summary = Run.open(folder).manifest(COHERENCE).summary
        same = f"{100 * summary[CHOOSES]:.1f} {summary[f'{CHOOSES}_interval']}"
        random = f"{100 * summary['ranked_random']:.1f}"
        seed = f"seed {Run.open(folder).settings.seed}"
        rows[seed] = [same, random, int(summary["step"]), int(summary["steps"])]
    return rows


def surrogates(given: argparse.Namespace) -> dict[str, list[Cell]]:
    """Return how Surrogates and their starts agree with their teacher and with people."""
    rows: dict[str, list[Cell]] = {}
    for folder in given.runs:
        run = Run.open(folder)
        report = read_json(run.folder(SURROGATE) / "report.json")
        pairs = run.manifest(HARVEST).summary["pairs"]["train"]
        names = f"{folder.name}, start", f"{folder.name}, {pairs:,} pairs"
        for when, name in zip(("before", "after"), names, strict=True):
            rows[name] = [round(100 * report[when]["test"]["spearman"], 1)]
        rows[f"{folder.name} minus start"] = [None]
        model = open_scorer(str(run.folder(SURROGATE)))
        with TemporaryDirectory() as work:
            torch.manual_seed(derive_seed(run.settings.seed, "surrogate", "weights"))
            chosen = run.wing("paper", PaperSettings).surrogate
            start = start_of(run, chosen, Path(work) / "start")
            for name in RATED:
                rated = Rated(load_set(name, given.data_dir), SEED)
                scores = [each.similarities(rated.data.pairs) for each in (start, model)]
                cells = [*map(rated.spearman, scores), change(rated, scores[1], scores[0])]
                for row, cell in zip(list(rows)[-3:], cells, strict=True):
                    rows[row].append(cell)
    return rows


COLUMNS = {
    "curve": ("words", "STSb test", "Dice", "tf-idf of stems"),
    "coherence": ("", "same document", "random", "step", "of"),
    "surrogates": ("", "with the teacher, test", *RATED),
}


def main() -> None:
    """Measure, and record the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=COLUMNS)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--pairs", type=int, default=400, help="random pairs of the curve")
    given = parser.parse_args()
    rows = {"curve": curve, "coherence": coherence, "surrogates": surrogates}[given.table](given)
    record(
        f"paper-{given.table}",
        COLUMNS[given.table],
        rows,
        command=f"python benchmarks/paper.py {given.table} RUNS --data-dir DATA",
        data=f"{given.pairs} random pairs of STSb test" if given.table == "curve" else "all rows",
        seed=SEED,
    )


if __name__ == "__main__":
    main()
