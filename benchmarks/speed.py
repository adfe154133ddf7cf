"""Processor time and memory of what users do, and of search.

usage: python benchmarks/speed.py DOCUMENTS... [--runs RUN ...]

Figures are processor time on one core, because machines are shared. `--runs` names runs whose
search is compared with bm25s over sentences, and with exact search over random unit vectors of
MiniLM's size.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time

import bm25s
import numpy as np
import Stemmer

import firth
from figures import Cell, record
from firth.corpus.corpus import Corpus
from firth.evaluation.baselines import open_baseline
from firth.run.console import set_quiet
from firth.run.run import Run
from firth.search.index import INDEX, build_index
from firth.search.search import Search

WIDTH, QUERIES, SEED = 384, 100, 13
SENTENCES = 2_000
PLACE = "--encoder", "none", "-q", "--run"
USE = """import sys, firth
model, texts = firth.load(sys.argv[1]), ("people without work", "Jobs are scarce.")
model.similarity(*texts), model.search(texts[0]), model.explain(*texts)"""
COMMAND = "python benchmarks/speed.py DOCUMENTS"


def cost(*command: str) -> tuple[float, float]:
    """Return the processor time (s) and peak memory (MiB) of a Python command."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
        "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); "
        "u = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(u.ru_utime + u.ru_stime, u.ru_maxrss / 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, sys.executable, *command],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, peak = map(float, done.stdout.split())
    return round(seconds, 2), round(peak, 1)


def seconds_of(work: Callable[[], object], times: int = 3) -> float:
    """Return the least processor time of some calls."""
    taken = []
    for _ in range(times):
        start = process_time()
        work()
        taken.append(process_time() - start)
    return min(taken)


def uses(documents: Sequence[str], work: Path) -> dict[str, list[Cell]]:
    """Return the time and memory of commands, and what a model does in a second."""
    run = str(work / "run")
    rows: dict[str, list[Cell]] = {
        "import firth": [*cost("-c", "import firth")],
        "firth --help": [*cost("-m", "firth", "--help")],
        "firth build": [*cost("-m", "firth", "build", *documents, *PLACE, run)],
        "firth search": [*cost("-m", "firth", "search", "people without work", "--run", run)],
    }
    model, corpus = firth.load(run), Corpus.open(run)
    texts = corpus.texts(corpus.usual_sentences()[: 2 * SENTENCES])
    pairs = list(zip(texts[::2], texts[1::2], strict=False))
    model.search("people without work")
    for name, count, call in (
        ("10,000 searches", QUERIES, lambda: [model.search(text) for text in texts[:QUERIES]]),
        ("10,000 sentences encoded", len(texts), lambda: model.encode(texts)),
        ("10,000 pairs scored", len(pairs), lambda: model.scorer.similarities(pairs)),
        ("the same by tf-idf", len(pairs),
         lambda: open_baseline("tfidf", Run.open(run)).similarities(pairs)),
    ):  # fmt: skip
        rows[name] = [round(10_000 * seconds_of(call) / count, 2), None]
    return rows


def searches(run: str, work: Path) -> dict[str, list[Cell]]:
    """Return the seconds of an index, and queries a second, of firth, bm25s and exact search."""
    copy = work / "copy"
    shutil.copytree(run, copy, ignore=shutil.ignore_patterns(INDEX.name, "calibration"))
    indexing = seconds_of(lambda: build_index(Run.open(copy)), 1)
    shutil.rmtree(copy)
    search = Search.open(run)
    corpus = search.index.corpus
    titles = [title for title in dict.fromkeys(corpus.document_titles()) if title]
    queries = titles[:: max(1, len(titles) // QUERIES)][:QUERIES]
    stemmer = Stemmer.Stemmer("english")
    sentences, index = corpus.texts(np.arange(len(corpus))), bm25s.BM25()

    def tokens(texts: Sequence[str]) -> object:
        return bm25s.tokenize([*texts], stopwords="en", stemmer=stemmer, show_progress=False)

    def by_words(query: str) -> object:
        return index.retrieve(tokens([query]), k=10, show_progress=False)

    plain = seconds_of(lambda: index.index(tokens(sentences), show_progress=False), 1)
    rng = np.random.default_rng(SEED)
    vectors = rng.standard_normal((len(corpus), WIDTH), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    def exactly(number: int) -> object:
        scores = vectors @ vectors[number]
        return np.argpartition(-scores, 10)[:10]

    search.search(queries[0])
    by = {
        "firth": (indexing, lambda: [search.search(query) for query in queries]),
        "bm25s": (plain, lambda: [by_words(query) for query in queries]),
        "exact, 384 numbers": (None, lambda: [exactly(n) for n in range(len(queries))]),
    }
    return {
        f"{name}, {len(corpus):,} sentences": [
            None if index is None else round(index, 1),
            round(1_000 * seconds_of(call) / len(queries), 1),
        ]
        for name, (index, call) in by.items()
    }


def main() -> None:
    """Measure, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", nargs="+")
    parser.add_argument("--runs", nargs="*", default=[])
    given = parser.parse_args()
    set_quiet(True)
    names = ", ".join(Path(each).name for each in given.documents)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        rows = uses(given.documents, work)
        size = sum(path.stat().st_size for path in (work / "run").rglob("*") if path.is_file())
        peak = cost("-c", USE, str(work / "run"))[1]
        corpus = Corpus.open(work / "run")
        words = f"{names}: {int(corpus.word_counts.sum()):,} words"
        rows["the model in use"] = [None, peak]
        rows["size of the run on disk"] = [None, round(size / 2**20, 1)]
        record("speed", ["", "seconds", "MiB"], rows, command=COMMAND, data=words, seed=SEED)
        if given.runs:
            rows = {}
            for run in given.runs:
                rows |= searches(run, work)
            columns = ["", "index, s", "a query, ms"]
            command, data = f"{COMMAND} --runs RUNS", f"{QUERIES} titles as queries"
            record("speed-search", columns, rows, command=command, data=data, seed=SEED)


if __name__ == "__main__":
    main()
