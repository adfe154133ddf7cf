"""Duplicates: average precision on MRPC, whether the error rate holds, time and memory.

usage: python benchmarks/duplicates.py --data-dir DIR --run RUN --encoder-run RUN --news RUN [...]

`--data-dir` has MRPC (`MRPC/pairs.tsv`: two sentences and 1 where they say the same). `--run` and
`--encoder-run` are runs with and without a pretrained encoder. Runs of `--news` are of OneStop,
whose articles are each there at three levels. `--cost` names runs whose duplicates are timed.
"""

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

from figures import Cell, record
from firth.corpus.corpus import Corpus
from firth.evaluation.bootstrap import Estimate, Sample, bootstrap_seed, estimate, mean_of_rows
from firth.evaluation.metrics import Metric, measure, measure_difference
from firth.model import open_scorer
from firth.run.run import Run
from firth.run.settings import TEXT_ALONE
from firth.search.calibration import Calibration
from firth.search.duplicates import duplicates
from firth.search.evidence import Reader
from firth.search.index import Index
from firth.text.types import Floats, Ints
from firth.text.words import normal_form
from speed import cost

ENCODER, SEED, DRAWN, MIN_WORDS = "all-MiniLM-L6-v2", 13, 3_000, 6
RATES, REUSED = (0.1, 0.05, 0.01), 50_000
Booleans = npt.NDArray[np.bool_]
COMMAND = "python benchmarks/duplicates.py --data-dir DATA --run RUN --encoder-run RUN --news RUN"


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


def errors(run: Run) -> dict[str, list[Cell]]:
    """Return how often sentences are given a match in another article, where none can be right.

    A sentence is compared with those of all other articles. Articles that share a sentence word
    for word are one, because some files hold parts of two.
    """
    index, calibration, reader = Index.open(run), Calibration.open(run), Reader("en")
    corpus = index.corpus
    articles = articles_of(index)[corpus.document_of(np.arange(len(corpus)))]
    usual = np.flatnonzero(corpus.word_counts >= MIN_WORDS)
    chosen = np.random.default_rng(SEED).choice(usual, min(DRAWN, len(usual)), replace=False)
    vectors, best, nearest = index.vectors(usual), [], []
    for sentence in chosen.tolist():
        cosines = vectors @ index.vectors([sentence])[0]
        cosines[articles[usual] == articles[sentence]] = -1
        best.append(float(cosines.max()))
        nearest.append(int(usual[cosines.argmax()]))
    pairs = zip(corpus.texts(chosen), corpus.texts(np.array(nearest)), strict=True)
    same = np.array([not reader.differing(*pair) for pair in pairs])
    rows: dict[str, list[Cell]] = {}
    for rate in RATES:
        threshold = calibration.threshold(rate)
        reached = np.array(best) >= threshold
        rows[f"{rate:.0%}"] = [round(threshold, 2), share(reached), share(reached & same)]
    found = duplicates(run)
    ends = np.array([(g.representative.number, m.number) for g in found for m in g.members])
    outside = articles[ends[:, 0]] != articles[ends[:, 1]]
    rows["of all matches"] = [round(found.threshold or 0, 2), None, share(outside)]
    return rows


def articles_of(index: Index) -> Ints:
    """Return the number of the article of each document."""
    corpus = index.corpus
    names = [name.rpartition("-")[0] for name in corpus.document_ids()]
    _, articles = np.unique(names, return_inverse=True)
    first: dict[str, int] = {}
    owners = corpus.document_of(np.arange(len(corpus)))
    for text, owner in zip(corpus.texts(np.arange(len(corpus))), owners.tolist(), strict=True):
        if len(text.split()) >= MIN_WORDS:
            other = first.setdefault(normal_form(text), owner)
            articles[articles == articles[owner]] = articles[other]
    return articles


def share(values: Booleans) -> Estimate:
    """Return the share of true values."""
    seed = bootstrap_seed(SEED, "duplicates", "news")
    return estimate(Sample(mean_of_rows(values.astype(float)), len(values), seed))


def main() -> None:
    """Measure, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    for name in ("run", "encoder-run"):
        parser.add_argument(f"--{name}")
    for name in ("news", "cost"):
        parser.add_argument(f"--{name}", nargs="*", default=[])
    given = parser.parse_args()
    if given.run and given.encoder_run:
        rows = mrpc(given.data_dir, given.run, given.encoder_run)
        columns = ["MRPC", "average precision", "minus", "that of"]
        words = [Corpus.open(run).word_counts.sum() / 1e6 for run in (given.run, given.encoder_run)]
        data = f"MRPC; learned from {words[0]:.1f}M words, over {ENCODER} from {words[1]:.1f}M"
        record("duplicates-mrpc", columns, rows, command=COMMAND, data=data, seed=SEED)
    if given.news:
        rows = {}
        for name in given.news:
            run = Run.open(name)
            model = run.settings.encoder.model
            encoder = "text alone" if model == TEXT_ALONE else model
            rows |= {f"{encoder}, {rate}": row for rate, row in errors(run).items()}
        columns = ["false matches", "least cosine", "measured, %", "without related ones, %"]
        data = f"OneStop, {DRAWN:,} sentences; interval over sentences"
        record("duplicates-error", columns, rows, command=COMMAND, data=data, seed=SEED)
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
