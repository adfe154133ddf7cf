"""The paper's method on pairs of STSb: as printed, without each handicap, and on more text.

usage: python benchmarks/paper.py PRINTED RUN LARGE --data-dir DATA [--curve]
       python benchmarks/paper.py --surrogates RUN... --data-dir DATA

docs/understand/paper.md has the commands that build the runs: by Eq. 1 as printed, by the default
ranking, and on more text. Terms of Eq. 3 are stages of the runs, so that a stopped call continues.
λ is chosen on STSb dev, but for the paper's curve, where terms have equal deviation, as by default.
`--curve` measures that alone, of LARGE; `--surrogates` compares those of runs with their starts.
"""

import argparse
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from figures import Cell, record
from firth.corpus.corpus import Corpus
from firth.evaluation.baselines import Dice, open_baseline
from firth.evaluation.leakage import without_copies
from firth.evaluation.metrics import Metric, measure_difference
from firth.evaluation.sets import load_set
from firth.model import open_scorer
from firth.paper.fits import TERMS
from firth.paper.harvest import HARVEST
from firth.paper.origin import Origin
from firth.paper.pair_fits import kept_contexts, pair_fits, similarities_of
from firth.paper.settings import Measure, PaperSettings, Weights
from firth.paper.surrogate import SURROGATE, start_of
from firth.reproduce.ablations import Fits, Rated
from firth.reproduce.result import VariedRun, published
from firth.run.console import note, progress
from firth.run.files import read_json
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.text.types import Floats
from firth.train.students import HELD_OUT

SEED = 13
COMMAND = "python benchmarks/paper.py printed kb large --data-dir DATA"
CORPORA = "0.7M words of captions, news and GUM; 9.6M words of these, a forum and Wikipedia"
SMALL, LARGE = 8, 16
"""|C_s| of the rows as printed, and of those with more contexts."""
RATED = "sts-b:dev", "sts12", "sts13", "sts14", "sick-r:train"
SIZES = (2, 4, 8, 16, 100, 500)
MORE, MOST = SIZES[-2:]
HANDICAPS = {
    "Dice": None,
    "tf-idf of stems": None,
    "as printed": SMALL,
    "more contexts": LARGE,
    "ranking": SMALL,
    "fits": SMALL,
    "ranking and fits": SMALL,
    "all three": LARGE,
    "ranking and fits, more text": SMALL,
    "all three, more text": LARGE,
    "the same minus Dice": LARGE,
}
"""|C_s| of each row of the first table."""
ONES = Weights(coherence=1, sentence=1, left=1, right=1)
ALIKE = (1, 1, 1, 1)
"""Factors of terms that are scaled to the same deviation."""
SINGLE = {term: Weights(**{other: float(other == term) for other in TERMS}) for term in TERMS}


def sample(split: str, pairs: int, data_dir: Path) -> Rated:
    """Return random pairs of a split of STSb."""
    return Rated(load_set(f"sts-b:{split}", data_dir).sampled(pairs, SEED), SEED)


def fits_of(rated: Rated, folder: Path, contexts: int, *, pmi: bool = False) -> Fits:
    """Return the terms of Eq. 3 of pairs in a run, of which at most `contexts` are chosen."""
    note(f"{folder.name}: {rated.data.id}, {contexts} contexts{', PMI' if pmi else ''}")
    return Fits(rated, VariedRun.of(Run.open(folder), {"paper": {"fits": {"pmi": pmi}}}), contexts)


def scaled(fits: Fits, factors: Iterable[float]) -> Weights:
    """Return λ as factors of terms whose difference within a pair has a deviation of 1."""
    differences = np.concatenate([a - b for a, b in (one.terms for one in fits.profiles)])
    scale = differences.std(axis=0).tolist()
    return Weights(**{t: f / s for t, f, s in zip(TERMS, factors, scale, strict=True)})


def tuned(fits: Fits) -> Weights:
    """Return the λ with the highest rank correlation, out of factors 0, 1 and 2 of each term."""
    kept, best = fits.kept(scaled(fits, ALIKE)), (-1.0, ONES)
    for factors in progress(list(product((0, 1, 2), repeat=4))[1:], "Choosing λ"):
        weights = scaled(fits, factors)
        figure = fits.rated.spearman(fits.similarities(kept, "centered", weights=weights)).value
        best = max(best, (figure or -1.0, weights), key=lambda one: one[0])
    return best[1]


def figure(fits: Fits, measure: Measure, size: int, weights: Weights = ONES) -> Cell:
    """Return the rank correlation of Eq. 4 over `size` contexts of each sentence."""
    return fits.rated.spearman(fits.similarities(fits.kept(weights), measure, size, weights))


def change(rated: Rated, first: Floats, second: Floats) -> Cell:
    """Return the rank correlation of the first minus that of the second, on the same pairs."""
    gold = rated.data.scores
    return measure_difference(Metric.SPEARMAN, (gold, first), (gold, second), seed=SEED)


def overlap(rated: Rated, run: Path) -> dict[str, Cell]:
    """Return the figures of plain baselines."""
    scorers = {"Dice": Dice(), "tf-idf of stems": open_baseline("tfidf", run)}
    pairs = rated.data.pairs
    return {name: rated.spearman(one.similarities(pairs)) for name, one in scorers.items()}


def handicaps(rated: Rated, given: argparse.Namespace, chosen: dict[str, Weights]) -> list[Cell]:
    """Return the cells of the rows of `HANDICAPS`; λ is chosen where `chosen` is empty."""
    literal, ranked = (fits_of(rated, run, LARGE) for run in (given.printed, given.run))
    best, more = (fits_of(rated, run, LARGE, pmi=True) for run in (given.run, given.large))
    if not chosen:
        chosen |= {"printed": tuned(literal), "run": tuned(best), "large": tuned(more)}
        note(f"λ: {chosen}")
    kept, dice = more.kept(chosen["large"]), Dice().similarities(rated.data.pairs)
    scores = more.similarities(kept, "centered", LARGE, chosen["large"])
    return [
        *overlap(rated, given.large).values(),
        figure(literal, "cosine", SMALL),
        figure(literal, "cosine", LARGE),
        figure(ranked, "cosine", SMALL),
        figure(literal, "centered", SMALL, chosen["printed"]),
        figure(best, "centered", SMALL, chosen["run"]),
        figure(best, "centered", LARGE, chosen["run"]),
        figure(more, "centered", SMALL, chosen["large"]),
        rated.spearman(scores),
        change(rated, scores, dice),
    ]


def by_coherence(rated: Rated, folder: Path, measure: Measure) -> dict[int, Cell]:
    """Return the figures of the coherence term alone for every size of `SIZES`."""
    weights = SINGLE["coherence"]
    paper = {
        "contexts": {"size": MOST, "shortlist": 2 * MOST},
        "fits": {"weights": weights.model_dump()},
    }
    origin = Origin.open(VariedRun.of(Run.open(folder), {"paper": paper}))
    values: list[list[float]] = []
    for pair in progress(rated.data.pairs, f"Coherence alone, {folder.name}"):
        profiles = pair_fits(origin, [pair])
        kept = kept_contexts(origin, profiles, origin.settings.contexts, weights)
        sizes = (similarities_of(profiles, kept, n, weights, measure) for n in SIZES)
        values.append([float(one[0]) for one in sizes])
    columns = zip(SIZES, zip(*values, strict=True), strict=True)
    return {size: rated.spearman(np.array(column)) for size, column in columns}


def by_size(fits: Fits, weights: Weights) -> dict[int, Cell]:
    """Return the figures of each size of `SIZES` that fits have."""
    sizes = (size for size in SIZES if size <= fits.size)
    return {size: figure(fits, "centered", size, weights) for size in sizes}


def curve(given: argparse.Namespace) -> dict[str, list[Cell]]:
    """Return the figures of the paper by words of the corpus, and those of `large` beside them."""
    rated = sample("test", given.more_pairs, given.data_dir)
    fits = fits_of(rated, given.large, LARGE, pmi=True)
    scores = fits.similarities(fits.kept(), "centered", LARGE)
    read = f"{Corpus.open(Run.open(given.large)).word_counts.sum() / 1e6:.1f}M, firth"
    rows: dict[str, list[Cell]] = {
        f"{int(words) // 10**6:,}M": [value, None, None]
        for words, value in published("sun", "table5").items()
    }
    rows[read] = [rated.spearman(scores), *overlap(rated, given.large).values()]
    return rows | {
        "the same minus Dice": [
            change(rated, scores, Dice().similarities(rated.data.pairs)),
            None,
            None,
        ]
    }


def surrogates(given: argparse.Namespace) -> dict[str, list[Cell]]:
    """Return how Surrogates and their starts agree with Origin and with people."""
    rows: dict[str, list[Cell]] = {}
    for folder in given.surrogates:
        run = Run.open(folder)
        report = read_json(run.folder(SURROGATE) / "report.json")
        for when, name in (("before", f"{folder.name}, start"), ("after", f"{folder.name}")):
            found = (report[when][split]["all"]["spearman"] for split in HELD_OUT)
            rows[name] = [round(100 * value, 1) for value in found]
        rows[f"{folder.name} minus start"] = [None, None]
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


def main() -> None:
    """Measure, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("printed", "run", "large"):
        parser.add_argument(name, type=Path, nargs="?")
    parser.add_argument("--surrogates", type=Path, nargs="+", help="runs with a Surrogate")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=120)
    parser.add_argument("--more-pairs", type=int, default=400)
    parser.add_argument("--few-pairs", type=int, default=40, help="of the number of contexts")
    parser.add_argument("--curve", action="store_true", help="measure the paper's curve alone")
    given = parser.parse_args()

    def store(name: str, columns: str, rows: dict[str, list[Cell]], data: str) -> None:
        record(name, columns.split("|"), rows, command=COMMAND, data=data, seed=SEED)

    if given.surrogates:
        names = ["", *(f"ρ with Origin, {split}" for split in HELD_OUT), *RATED]  # noqa: RUF001
        command = "python benchmarks/paper.py --surrogates RUNS --data-dir DATA"
        pairs = {
            run.name: Run.open(run).manifest(HARVEST).summary["pairs"] for run in given.surrogates
        }
        record(
            "paper-surrogate", names, surrogates(given), command=command,
            data=f"pairs of the harvests: {pairs}", seed=SEED,
        )  # fmt: skip
        return
    if given.large is None:
        parser.error("expected the runs PRINTED, RUN and LARGE")
    of_more = f"{CORPORA}; {given.more_pairs} random pairs of sts-b:test"
    columns = "words|STSb test|Dice|tf-idf of stems"
    store("paper-curve", columns, curve(given), of_more)
    if given.curve:
        return
    dev, test = (sample(split, given.pairs, given.data_dir) for split in ("dev", "test"))
    few = sample("dev", given.few_pairs, given.data_dir)
    clear = without_copies([dev.data, test.data], Run.open(given.large))
    near = 2 * given.pairs - sum(len(one.rows) for one in clear)
    of_both = f"{CORPORA}; {given.pairs} random pairs each of sts-b:dev and sts-b:test"
    of_few = f"{CORPORA}; {given.few_pairs} random pairs of sts-b:dev"

    chosen: dict[str, Weights] = {}
    of_dev, of_test = (handicaps(rated, given, chosen) for rated in (dev, test))
    cells = zip(HANDICAPS.items(), of_dev, of_test, strict=True)
    rows = {row: [size, on_dev, on_test] for (row, size), on_dev, on_test in cells}
    columns = "|contexts|STSb dev|STSb test"
    store("paper", columns, rows, f"{of_both}; {near} have a copy or near copy in the corpora")

    measured = (
        by_coherence(few, given.printed, "cosine"),
        by_coherence(few, given.run, "centered"),
        by_size(fits_of(few, given.run, MORE, pmi=True), chosen["run"]),
        by_size(fits_of(few, given.large, MOST, pmi=True), chosen["large"]),
    )
    rows = {str(size): [column.get(size) for column in measured] for size in SIZES}
    columns = "contexts|coherence, printed|coherence|all terms|more text"
    store("paper-contexts", columns, rows, of_few)


if __name__ == "__main__":
    main()
