"""Processor time, memory and size of what users do, on documents that you name.

usage: python benchmarks/speed.py DOCUMENTS... [--pairs 5000]

Every figure is measured in a process of its own, by its processor time. Rates are also given as
ratios to tf-idf of stems in the same run.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import firth
from firth.corpus.corpus import Corpus
from firth.evaluation.baselines import open_baseline
from firth.run.run import Run


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


def seconds_of(work: object, *arguments: object) -> float:
    """Return the least processor time of three calls."""
    times = []
    for _ in range(3):
        start = process_time()
        work(*arguments)  # type: ignore[operator]
        times.append(process_time() - start)
    return min(times)


def main() -> None:
    """Measure, and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", nargs="+")
    parser.add_argument("--pairs", type=int, default=5_000)
    given = parser.parse_args()
    found: dict[str, object] = {"cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        run = str(Path(folder) / "run")
        found["import firth"] = cost("-c", "import firth")
        found["firth --help"] = cost("-m", "firth", "--help")
        found["build"] = cost("-m", "firth", "build", *given.documents, "--run", run, "-q")
        found["one search"] = cost("-m", "firth", "search", "people without work", "--run", run)
        size = sum(path.stat().st_size for path in Path(run).rglob("*") if path.is_file())
        found["size of the run, MiB"] = round(size / 2**20, 1)
        model, corpus = firth.load(run), Corpus.open(run)
        found["words"] = int(corpus.word_counts.sum())
        texts = corpus.texts(corpus.usual_sentences()[: 2 * given.pairs])
        half = len(texts) // 2
        pairs = list(zip(texts[:half], texts[half : 2 * half], strict=True))
        model.search("people without work")
        queries = texts[:50]
        seconds = seconds_of(lambda: [model.search(query, top=10) for query in queries])
        found["searches per second"] = round(len(queries) / seconds, 1)
        found["sentences encoded per second"] = round(len(texts) / seconds_of(model.encode, texts))
        baseline = seconds_of(open_baseline("tfidf", Run.open(run)).similarities, pairs)
        scorer = seconds_of(model.scorer.similarities, pairs)
        found["pairs scored per second"] = round(len(pairs) / scorer)
        found["time of a pair, tf-idf = 1"] = round(scorer / baseline, 2)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found["peak of this process, MiB"] = round(peak, 1)
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
