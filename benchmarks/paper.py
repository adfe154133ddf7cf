"""The paper's method on pairs of STSb: as printed, each handicap taken away, and all of them.

usage: python benchmarks/paper.py PRINTED RUN CAUSAL --data-dir DATA

The runs are built by the commands of docs/understand/paper.md: by Eq. 1 as printed, by the default
ranking, and with a language model in the place of the trained generator. Terms of Eq. 3 are stages
of the runs, so that a stopped call continues. λ is chosen on STSb dev.
"""

import argparse
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import numpy as np

from figures import Cell, record
from firth.corpus.corpus import Corpus
from firth.evaluation.baselines import Dice, open_baseline
from firth.evaluation.sets import load_set
from firth.model import open_scorer
from firth.paper.fits import TERMS
from firth.paper.harvest import HARVEST
from firth.paper.origin import Origin
from firth.paper.pair_fits import kept_contexts, pair_fits, similarities_of
from firth.paper.settings import Measure, Weights
from firth.paper.surrogate import SURROGATE
from firth.reproduce.ablations import Fits, Rated
from firth.reproduce.result import VariedRun
from firth.run.console import note, progress
from firth.run.files import read_json
from firth.run.run import Run
from firth.text.types import Floats

SEED = 13
SMALL, LARGE, CAUSAL = 8, 16, 8
"""|C_s| of the rows as printed, of those with more contexts, and with the language model."""
ALONE = (2, 4, 8, 16, 100, 500)
COHERENCE = Weights(coherence=1, sentence=0, left=0, right=0)
COMMAND = "python benchmarks/paper.py printed kb smollm2 --data-dir DATA"
ONES = Weights(coherence=1)
ALIKE = (1, 1, 1, 1)
"""Factors of terms that are scaled to the same deviation."""


def sample(split: str, pairs: int, data_dir: Path) -> Rated:
    """Return random pairs of a split of STSb."""
    return Rated(load_set(f"sts-b:{split}", data_dir).sampled(pairs, SEED), SEED)


def fits_of(rated: Rated, folder: Path, contexts: int, *, pmi: bool = False) -> Fits:
    """Return the terms of Eq. 3 of pairs in a run, of which at most `contexts` are chosen."""
    note(f"{folder.name}: {rated.data.id}, {contexts} contexts{', PMI' if pmi else ''}")
    return Fits(rated, VariedRun.of(Run.open(folder), {"paper": {"fits": {"pmi": pmi}}}), contexts)


def deviations(fits: Fits) -> dict[str, float]:
    """Return the deviation of each term between the two sentences of a pair in one context."""
    differences = np.concatenate([a - b for a, b in (one.terms for one in fits.profiles)])
    return dict(zip(TERMS, differences.std(axis=0).tolist(), strict=True))


def scaled(fits: Fits, factors: Iterable[float]) -> Weights:
    """Return λ as factors of terms whose deviation is 1."""
    scale = deviations(fits)
    return Weights(**{t: f / scale[t] for t, f in zip(TERMS, factors, strict=True)})


def tuned(fits: Fits) -> Weights:
    """Return the λ with the highest rank correlation, out of factors 0, 1 and 2 of each term."""
    kept, best = fits.kept(scaled(fits, ALIKE)), (-1.0, ONES)
    for factors in progress(list(product((0, 1, 2), repeat=4))[1:], "Choosing λ"):
        weights = scaled(fits, factors)
        figure = fits.rated.spearman(fits.similarities(kept, "centered", weights=weights)).value
        best = max(best, (figure or -1.0, weights), key=lambda one: one[0])
    return best[1]


def figure(
    fits: Fits, measure: Measure, size: int, weights: Weights = ONES, chosen: Weights | None = None
) -> Cell:
    """Return the rank correlation of Eq. 4 over `size` contexts of each sentence."""
    kept = fits.kept(chosen or weights)
    return fits.rated.spearman(fits.similarities(kept, measure, size, weights))


def overlap(rated: Rated, run: Path) -> dict[str, Floats]:
    """Return the similarities of plain baselines."""
    scorers = {"Dice": Dice(), "tf-idf of stems": open_baseline("tfidf", run)}
    return {name: one.similarities(rated.data.pairs) for name, one in scorers.items()}


def rows_of(rated: Rated, printed: Path, run: Path, chosen: dict[str, Weights]) -> dict[str, Cell]:
    """Return the figures of a split; λ is chosen where `chosen` is empty."""
    cells: dict[str, Cell] = {
        name: rated.spearman(scores) for name, scores in overlap(rated, run).items()
    }
    literal, ranked = (fits_of(rated, folder, LARGE) for folder in (printed, run))
    best = fits_of(rated, run, LARGE, pmi=True)
    if not chosen:
        chosen |= {"printed": tuned(literal), "best": tuned(best)}
    of_printed, of_best = chosen["printed"], chosen["best"]
    note(f"λ: {chosen}")
    cells["as printed"] = figure(literal, "cosine", SMALL)
    cells["more contexts"] = figure(literal, "cosine", LARGE)
    cells["ranking"] = figure(ranked, "cosine", SMALL)
    cells["fits"] = figure(literal, "centered", SMALL, of_printed)
    cells["ranking and fits"] = figure(best, "centered", SMALL, of_best)
    cells["all three"] = figure(best, "centered", LARGE, of_best)
    return cells


def by_kind(rated: Rated, folder: Path) -> dict[str, Cell]:
    """Return the figures of several fits over the same ranking, with `LARGE` contexts."""
    plain, pmi = (fits_of(rated, folder, LARGE, pmi=pmi) for pmi in (False, True))
    alike = scaled(pmi, ALIKE)
    cells = {
        "log p, cosine": figure(plain, "cosine", LARGE),
        "log p, centered": figure(plain, "centered", LARGE),
        "log p of equal deviation, centered": figure(
            plain, "centered", LARGE, scaled(plain, ALIKE)
        ),
        "PMI, cosine": figure(pmi, "cosine", LARGE),
        "PMI, centered": figure(pmi, "centered", LARGE),
        "PMI of equal deviation, centered": figure(pmi, "centered", LARGE, alike),
    }
    for term in TERMS:
        alone = Weights(**{other: float(other == term) for other in TERMS})
        cells[f"PMI, {term} alone, centered"] = figure(pmi, "centered", LARGE, alone)
    return cells


def by_coherence(rated: Rated, folder: Path, measure: Measure) -> list[Cell]:
    """Return the figures of the coherence term alone for every size of `ALONE`."""
    most = ALONE[-1]
    paper = {
        "contexts": {"size": most, "shortlist": 2 * most},
        "fits": {"weights": COHERENCE.model_dump()},
    }
    origin = Origin.open(VariedRun.of(Run.open(folder), {"paper": paper}))
    values: list[list[float]] = []
    for pair in progress(rated.data.pairs, f"Coherence alone, {folder.name}"):
        profiles = pair_fits(origin, [pair])
        kept = kept_contexts(origin, profiles, origin.settings.contexts, COHERENCE)
        sizes = (similarities_of(profiles, kept, n, COHERENCE, measure) for n in ALONE)
        values.append([float(one[0]) for one in sizes])
    return [rated.spearman(np.array(column)) for column in zip(*values, strict=True)]


def surrogate(run: Run, data_dir: Path) -> None:
    """Record how well the Surrogate of a run agrees with its Origin, and with people."""
    report = read_json(run.folder(SURROGATE) / "report.json")
    dev = report["after"]["dev"]["all"]
    model = open_scorer(str(run.folder(SURROGATE)))
    cells: list[Cell] = [int(run.manifest(HARVEST).summary["pairs"]["train"])]
    cells += [
        *(round(dev[name], 4) for name in ("l2", "constant_l2")),
        round(100 * dev["spearman"], 1),
    ]
    data = load_set("sts-b:dev", data_dir)
    cells.append(Rated(data, SEED).spearman(model.similarities(data.pairs)))
    columns = ["", "pairs", "L2 on dev", "of a constant", "ρ with Origin", "STSb dev"]  # noqa: RUF001
    sets = f"{described(run)}{dev['n']} harvested pairs of dev; sts-b:dev"
    record("paper-surrogate", columns, {"Siamese": cells}, command=COMMAND, data=sets)


def described(run: Run, *samples: Rated) -> str:
    """Return the corpus and the sets in words."""
    corpus = Corpus.open(run)
    sets = ", ".join(f"{len(one.data.rows)} random pairs of {one.data.id}" for one in samples)
    words = int(corpus.word_counts.sum())
    return f"{words / 1e6:.1f}M words of captions, news and GUM; {sets}"


def main() -> None:
    """Measure, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("printed", "run", "causal"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=120)
    parser.add_argument("--causal-pairs", type=int, default=30)
    given = parser.parse_args()
    run = Run.open(given.run)
    chosen: dict[str, Weights] = {}
    dev, test = (sample(split, given.pairs, given.data_dir) for split in ("dev", "test"))
    few = sample("dev", given.causal_pairs, given.data_dir)

    of_dev = rows_of(dev, given.printed, given.run, chosen)
    of_test = rows_of(test, given.printed, given.run, chosen)
    sizes = {"more contexts": LARGE, "all three": LARGE, "Dice": None, "tf-idf of stems": None}
    rows: dict[str, list[Cell]] = {
        row: [sizes.get(row, SMALL), cell, of_test[row]] for row, cell in of_dev.items()
    }
    columns = ["", "contexts", "STSb dev", "STSb test"]
    record("paper", columns, rows, command=COMMAND, data=described(run, dev, test), seed=SEED)

    of_dev, of_test = (by_kind(some, given.run) for some in (dev, test))
    kinds: dict[str, list[Cell]] = {kind: [cell, of_test[kind]] for kind, cell in of_dev.items()}
    columns = ["", "STSb dev", "STSb test"]
    record("paper-fits", columns, kinds, command=COMMAND, data=described(run, dev, test))

    large = fits_of(dev, given.run, LARGE, pmi=True)
    language = fits_of(few, given.causal, CAUSAL, pmi=True)
    alike = scaled(language, ALIKE)
    additive = dict(zip(ALONE, by_coherence(few, given.printed, "cosine"), strict=True))
    bilinear = dict(zip(ALONE, by_coherence(few, given.run, "centered"), strict=True))
    contexts: dict[str, list[Cell]] = {}
    for size in ALONE:
        of_run = figure(large, "centered", size, chosen["best"]) if size <= LARGE else None
        causal = figure(language, "centered", size, alike) if size <= CAUSAL else None
        contexts[str(size)] = [additive.get(size), bilinear.get(size), of_run, causal]
    columns = ["contexts", "coherence, printed", "coherence", "all terms", "SmolLM2"]
    record("paper-contexts", columns, contexts, command=COMMAND, data=described(run, dev, few))

    terms = {f"{term} alone": Weights(**{o: float(o == term) for o in TERMS}) for term in TERMS}
    causal_rows: dict[str, list[Cell]] = {
        name: [few.spearman(scores), None] for name, scores in overlap(few, given.run).items()
    }
    for name, weights in {"all terms": alike, **terms}.items():
        of_kind = [figure(language, kind, CAUSAL, weights) for kind in ("cosine", "centered")]
        causal_rows[name] = of_kind
    columns = ["", "cosine", "centered"]
    record("paper-smollm2", columns, causal_rows, command=COMMAND, data=described(run, few))
    if run.has(SURROGATE):
        surrogate(run, given.data_dir)


if __name__ == "__main__":
    main()
