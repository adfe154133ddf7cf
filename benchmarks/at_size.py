"""Search, mining and encoding at growing sizes, beside the libraries one would use directly.

    python benchmarks/at_size.py search RUN [--sizes 10000 100000 1000000]
    python benchmarks/at_size.py mining RUN [--sizes …] [--threshold 0.8]
    python benchmarks/at_size.py encode RUN [--sizes …]

    [--queries 100] [--only NAME …] [--limit 3600] [--out FILE]

RUN needs a Surrogate, whose vectors all ways take. Sentences are RUN's own, drawn at random; where
more are wanted than it has, others are made of them, with a word in seven replaced by one of
another sentence. Queries are sentences of the set with a third of their words left out. `search`
needs faiss-cpu, usearch and bm25s beside firth.

Each way is measured in processes of its own, by the clock, on whatever threads it takes by default,
so that the machine should do nothing else: seconds from the start of the process (imports included)
to the first answer; milliseconds of a query, one after the other, the median, by the clock and by
the processor; the share of the exact ten nearest that are found, and of queries that find the
sentence they were made of among ten; seconds to build, and bytes on disk; the most memory a process
had. A way that takes longer than `--limit` seconds is stopped; `--only` measures
those whose names hold one of some words. JSON of everything goes to `--out`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.corpus.library import Library
from firth.run import progress
from firth.run.run import Run
from firth.run.screen import say
from firth.surrogate import SURROGATE

K = 10
_DOCUMENT = 10
"""Sentences of a document."""
_REPLACED, _LEFT_OUT = 1 / 7, 1 / 3
_BORN = "FIRTH_BENCHMARK_START"
Measured = dict[str, Any]
Ask = Callable[[int], Sequence[int]]
"""Number of a query → numbers of sentences, best first."""


# What is measured on


def varied(text: str, other: str, rng: np.random.Generator) -> str:
    """A sentence with some words replaced by those of another."""
    words, spare = text.split(), other.split()
    for place in np.flatnonzero(rng.random(len(words)) < _REPLACED).tolist():
        words[place] = spare[int(rng.integers(len(spare)))]
    return " ".join(words)


def sentences(run: Path, size: int, rng: np.random.Generator) -> list[str]:
    """`size` sentences, those of the run first."""
    library = Library.open(run)
    own = rng.choice(len(library), min(size, len(library)), replace=False)
    found = library.texts(own)
    pairs = rng.integers(0, len(found), (size - len(found), 2)).tolist()
    return found + [varied(found[one], found[two], rng) for one, two in pairs]


def prepare(run: Path, size: int, queries: int, folder: Path) -> None:
    """A run with the sentences as its corpus, their file, and queries."""
    rng = np.random.default_rng(13)
    texts = sentences(run, size, rng)
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        for start in range(0, size, _DOCUMENT):
            document = "\n\n".join(texts[start : start + _DOCUMENT])
            file.write(json.dumps({"text": document}) + "\n")
    Corpus.build(folder / "documents.jsonl", folder / "run", held_out=0)
    corpus = Corpus.open(folder / "run")
    (folder / "sentences.txt").write_text(
        "".join(f"{text}\n" for batch in corpus.batches() for text in batch), encoding="utf-8"
    )
    own = rng.choice(np.flatnonzero(corpus.word_counts >= 6), queries, replace=False)
    asked = []
    for text in corpus.texts(own):
        words = text.split()
        kept = rng.random(len(words)) >= _LEFT_OUT
        asked.append(" ".join(word for word, stays in zip(words, kept, strict=True) if stays))
    (folder / "queries.json").write_text(json.dumps([asked, own.tolist()]), encoding="utf-8")


def lines(folder: Path) -> list[str]:
    """The sentences."""
    return (folder / "sentences.txt").read_text(encoding="utf-8").split("\n")[:-1]


# Processes of their own


def child(name: str, folder: Path, model: str, limit: float) -> Measured:
    """What a process measures of one way; only `over` where it takes too long."""
    command = [sys.executable, __file__, "child", name, str(folder), model]
    environment = os.environ | {_BORN: str(time.time())}
    try:
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, text=True, timeout=limit, check=True
        )
    except subprocess.TimeoutExpired:
        return {"over": limit}
    except subprocess.CalledProcessError as error:
        return {"failed": error.returncode}
    found: Measured = json.loads(done.stdout.splitlines()[-1])
    return found


def since_start() -> float:
    """Seconds since this process was asked for."""
    return time.time() - float(os.environ[_BORN])


def most_memory() -> int:
    """Bytes that this process had at most; what the system counts for it includes its parent's."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return 1024 * int(line.split()[1])


def bytes_of(*paths: Path) -> int:
    """On disk, of files and what is in folders."""
    files = (each for path in paths for each in (path.rglob("*") if path.is_dir() else [path]))
    return sum(file.stat().st_size for file in files if file.is_file())


def asked(folder: Path, ask: Ask) -> Measured:
    """The first answer, then each query by itself."""
    own = json.loads((folder / "queries.json").read_text())[1]
    ask(0)
    found: Measured = {"start": since_start()}
    seconds, busy, numbers = [], [], []
    for place in range(len(own)):
        before = time.perf_counter(), time.process_time()
        numbers.append(ask(place))
        seconds.append(time.perf_counter() - before[0])
        busy.append(time.process_time() - before[1])
    exact = np.load(folder / "exact.npy")
    both = [len(np.intersect1d(one, two)) for one, two in zip(numbers, exact, strict=True)]
    found["query ms"] = 1_000 * float(np.median(seconds))
    found["cpu ms"] = 1_000 * float(np.median(busy))
    found["query ms, 95 %"] = 1_000 * float(np.quantile(seconds, 0.95))
    found["recall"] = float(np.mean(both)) / K
    found["own"] = float(np.mean([one in two for one, two in zip(own, numbers, strict=True)]))
    return found


def questions(folder: Path) -> list[str]:
    """Texts of the queries."""
    found: list[str] = json.loads((folder / "queries.json").read_text())[0]
    return found


# Search


def build_firth(folder: Path, model: str) -> Measured:
    """Vectors, codes and lists; then what is exact, for the others."""
    from firth.index.build import build_index
    from firth.index.index import Index

    before = time.perf_counter()
    build_index(Run.open(folder / "run").changed({"index": {"model": model}}))
    found = {"build": time.perf_counter() - before, "bytes": bytes_of(folder / "run" / "index")}
    index = Index.open(folder / "run")
    wanted = index.encode(questions(folder))
    np.save(folder / "queries.npy", wanted)
    np.save(folder / "exact.npy", index.nearest(wanted, K, exact=True).numbers)
    return found


def ask_firth(by: str) -> Callable[[Path, str], Measured]:
    """Whole searches, from a text to hits."""

    def measured(folder: Path, model: str) -> Measured:
        from firth.search.search import By, Search

        search, texts = Search.open(folder / "run"), questions(folder)

        def ask(place: int) -> list[int]:
            return [hit.sentence for hit in search.search(texts[place], top=K, by=By(by))]

        return asked(folder, ask)

    return measured


def ask_nearest(folder: Path, model: str) -> Measured:
    """From a vector to the nearest, as the libraries are asked."""
    from firth.index.index import Index

    index, wanted = Index.open(folder / "run"), np.load(folder / "queries.npy")
    return asked(folder, lambda place: index.nearest(wanted[place], K).numbers[0].tolist())


def stored(folder: Path) -> Any:
    """The vectors that firth has, (n, d), float16."""
    return np.load(folder / "run" / "index" / "vectors.npy", mmap_mode="r")


def build_faiss(kind: str) -> Callable[[Path, str], Measured]:
    """One of faiss's own kinds of index."""

    def measured(folder: Path, model: str) -> Measured:
        import faiss

        vectors = stored(folder)
        n, d = vectors.shape
        before = time.perf_counter()
        cells = max(16, int(n**0.5))
        named = {"flat": "Flat", "IVF": f"IVF{cells},SQfp16", "HNSW": "HNSW32"}[kind]
        index: Any = faiss.index_factory(d, named, faiss.METRIC_INNER_PRODUCT)
        if not index.is_trained:
            chosen = np.linspace(0, n - 1, min(n, 64 * cells)).astype(np.int64)
            index.train(vectors[chosen].astype(np.float32))
        for start in range(0, n, 1 << 14):
            index.add(vectors[start : start + (1 << 14)].astype(np.float32))
        path = folder / f"faiss-{kind}"
        faiss.write_index(index, str(path))
        return {"build": time.perf_counter() - before, "bytes": bytes_of(path)}

    return measured


def ask_faiss(kind: str, effort: int) -> Callable[[Path, str], Measured]:
    """At an effort: cells or candidates that are looked at."""

    def measured(folder: Path, model: str) -> Measured:
        import faiss

        index: Any = faiss.read_index(str(folder / f"faiss-{kind}"))
        if kind == "IVF":
            index.nprobe = effort
        elif kind == "HNSW":
            index.hnsw.efSearch = effort
        wanted = np.load(folder / "queries.npy")
        return asked(
            folder, lambda place: index.search(wanted[place : place + 1], K)[1][0].tolist()
        )

    return measured


def build_usearch(folder: Path, model: str) -> Measured:
    """Its graph, of 16-bit numbers."""
    from usearch.index import Index

    vectors, path = stored(folder), folder / "usearch"
    before = time.perf_counter()
    index: Any = Index(ndim=vectors.shape[1], metric="ip", dtype="f16")
    index.add(np.arange(len(vectors)), np.asarray(vectors))
    index.save(str(path))
    return {"build": time.perf_counter() - before, "bytes": bytes_of(path)}


def ask_usearch(effort: int) -> Callable[[Path, str], Measured]:
    """At an effort: candidates that are looked at."""

    def measured(folder: Path, model: str) -> Measured:
        from usearch.index import Index

        index: Any = Index.restore(str(folder / "usearch"), view=True)
        index.expansion_search = effort
        wanted = np.load(folder / "queries.npy")
        return asked(folder, lambda place: index.search(wanted[place], K).keys.tolist())

    return measured


def tokens(texts: list[str]) -> Any:
    """As bm25s has them, with stems of firth's kind."""
    import bm25s
    from Stemmer import Stemmer

    return bm25s.tokenize(texts, stopwords="en", stemmer=Stemmer("porter"), show_progress=False)


def build_bm25s(folder: Path, model: str) -> Measured:
    """BM25 over the same sentences."""
    import bm25s

    before = time.perf_counter()
    index: Any = bm25s.BM25()
    index.index(tokens(lines(folder)), show_progress=False)
    index.save(folder / "bm25s")
    return {"build": time.perf_counter() - before, "bytes": bytes_of(folder / "bm25s")}


def ask_bm25s(folder: Path, model: str) -> Measured:
    """From a text to sentences."""
    import bm25s

    index: Any = bm25s.BM25.load(folder / "bm25s", mmap=True)
    texts = questions(folder)

    def ask(place: int) -> list[int]:
        found = index.retrieve(tokens([texts[place]]), k=K, show_progress=False)
        numbers: list[int] = found.documents[0].tolist()
        return numbers

    return asked(folder, ask)


# Mining and encoding


def mine_pairs(folder: Path, model: str) -> Measured:
    """Encode, and find the pairs of sentences over a threshold."""
    from firth.index.encoder import TextEncoder
    from firth.reuse.neighbours import similar_pairs

    encoder, texts = TextEncoder.open(model), lines(folder)
    vectors = np.empty((len(texts), encoder.dimensions), np.float16)
    for start in range(0, len(texts), 1 << 14):
        vectors[start : start + (1 << 14)] = encoder.encode(texts[start : start + (1 << 14)])
    found = similar_pairs(vectors, threshold(folder), 13)
    np.save(folder / "firth.npy", np.column_stack([found.left, found.right]))
    return {"seconds": since_start(), "pairs": len(found)}


def mine_library(folder: Path, model: str) -> Measured:
    """The same by sentence-transformers' `paraphrase_mining`."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import paraphrase_mining

    found = paraphrase_mining(
        SentenceTransformer(model, device="cpu"), lines(folder), batch_size=1024,
        max_pairs=10_000_000,
    )  # fmt: skip
    ends = [sorted(pair) for score, *pair in found if score >= threshold(folder)]
    np.save(folder / "library.npy", np.array(ends, np.int64).reshape(-1, 2))
    return {"seconds": since_start(), "pairs": len(ends)}


def find_duplicates(folder: Path, model: str) -> Measured:
    """All of `firth duplicates`: copies, near copies and re-worded sentences, in groups."""
    from firth.reuse.duplicates import duplicates

    found = duplicates(folder / "run", model=model, threshold=threshold(folder))
    return {"seconds": since_start(), "pairs": sum(len(group.copies) for group in found.groups)}


def mine_documents(folder: Path, model: str) -> Measured:
    """All of `firth mine`: pairs of documents, aligned."""
    from firth.reuse.mine import mine

    found = mine(folder / "run", model=model, threshold=threshold(folder))
    return {"seconds": since_start(), "pairs": len(found.pairs)}


def threshold(folder: Path) -> float:
    """Least cosine of a pair."""
    return float((folder / "threshold").read_text())


def encode_firth(folder: Path, model: str) -> Measured:
    """`firth encode`: from a file of texts to a file of vectors and one of names."""
    from firth.index.encode import encode

    encode(folder / "sentences.txt", folder / "firth.npy", model=model, force=True)
    return {"seconds": since_start()}


def encode_library(batch: int) -> Callable[[Path, str], Measured]:
    """By sentence-transformers, from a file of texts to a file of vectors."""

    def measured(folder: Path, model: str) -> Measured:
        from sentence_transformers import SentenceTransformer

        encoder = SentenceTransformer(model, device="cpu")
        vectors = encoder.encode(
            lines(folder), batch_size=batch, normalize_embeddings=True, show_progress_bar=False
        )
        np.save(folder / "library.npy", vectors)
        return {"seconds": since_start()}

    return measured


BUILDS = {
    "firth": build_firth,
    "faiss flat": build_faiss("flat"),
    "faiss IVF": build_faiss("IVF"),
    "faiss HNSW": build_faiss("HNSW"),
    "usearch HNSW": build_usearch,
    "bm25s": build_bm25s,
}
ASKS = {
    "firth, nearest": ask_nearest,
    "firth, by vectors": ask_firth("vectors"),
    "firth, by words": ask_firth("words"),
    "firth, by both": ask_firth("both"),
    "faiss flat": ask_faiss("flat", 0),
    "faiss IVF, 8 cells": ask_faiss("IVF", 8),
    "faiss IVF, 32 cells": ask_faiss("IVF", 32),
    "faiss HNSW, 64": ask_faiss("HNSW", 64),
    "faiss HNSW, 256": ask_faiss("HNSW", 256),
    "usearch HNSW, 64": ask_usearch(64),
    "usearch HNSW, 256": ask_usearch(256),
    "bm25s": ask_bm25s,
}
MINING = {
    "firth, pairs": mine_pairs,
    "paraphrase_mining": mine_library,
    "firth duplicates": find_duplicates,
    "firth mine": mine_documents,
}
ENCODING = {
    "firth encode": encode_firth,
    "library, batches of 32": encode_library(32),
    "library, batches of 1024": encode_library(1024),
}
WAYS = {
    **{f"build {name}": way for name, way in BUILDS.items()},
    **{f"ask {name}": way for name, way in ASKS.items()},
    **MINING,
    **ENCODING,
}


# Tables


def shown(row: Measured, columns: Sequence[str]) -> str:
    """Cells of a row, as wide as their titles."""
    if "over" in row or "failed" in row:
        return f"over {row['over']:,.0f} s" if "over" in row else f"failed ({row['failed']})"
    return " ".join(f"{row.get(name, ''):>{max(9, len(name))}}" for name in columns)


def table(title: str, rows: dict[str, Measured], columns: dict[str, Callable[[Any], str]]) -> None:
    """Print some figures of each way."""
    say(f"\n{title}\n{'':26}" + " ".join(f"{name:>9}" for name in columns))
    for name, row in rows.items():
        cells = {key: tell(row[key]) for key, tell in columns.items() if key in row}
        say(f"{name:26}" + shown(cells if cells else row, [*columns]))


def seconds(value: float) -> str:
    """With as many digits as say something."""
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def megabytes(value: float) -> str:
    """Of bytes."""
    return f"{value / 1e6:,.0f}"


class Child:
    """Runs ways in processes of their own.

    Args:
        folder: What `prepare` made.
        model: Folder of the Surrogate.
        limit: Seconds that one may take.
        only: Words, of which a way's name must hold one; none: all.
    """

    def __init__(self, folder: Path, model: str, limit: float, only: Sequence[str]) -> None:
        self.folder = folder
        self._given, self._only = (folder, model, limit), only

    def each(self, ways: Mapping[str, Any], what: str = "") -> Iterator[tuple[str, Measured]]:
        """The name of each, and what was measured."""
        for name in ways:
            if not self._only or any(word in name for word in self._only):
                yield name, child(f"{what}{name}", *self._given)


def measure_search(run: Child) -> dict[str, Measured]:
    """Build each index, then ask each way."""
    rows = {f"build {name}": found for name, found in run.each(BUILDS, "build ")}
    for name, row in run.each(ASKS, "ask "):
        rows[name] = row | ({"queries/s": 1_000 / row["query ms"]} if "query ms" in row else {})
    return rows


def measure_mining(run: Child) -> dict[str, Measured]:
    """Each way, its ratio to `paraphrase_mining`, and which of its pairs firth finds."""
    rows = dict(run.each(MINING))
    both = [run.folder / f"{name}.npy" for name in ("firth", "library")]
    if all(path.is_file() for path in both):
        own, theirs = ({*map(tuple, np.load(path).tolist())} for path in both)
        rows["firth, pairs"]["of theirs"] = len(own & theirs) / max(1, len(theirs))
    return compared(rows, "paraphrase_mining")


def measure_encode(run: Child) -> dict[str, Measured]:
    """Each way, and its ratio to the library's own."""
    rows = dict(run.each(ENCODING))
    size = len(lines(run.folder))
    for row in rows.values():
        row |= {"a second": size / row["seconds"]} if "seconds" in row else {}
    return compared(rows, "library, batches of 32")


def compared(rows: dict[str, Measured], to: str) -> dict[str, Measured]:
    """With how many times as fast each is."""
    for row in rows.values():
        if "seconds" in row and "seconds" in rows.get(to, {}):
            row["times"] = rows[to]["seconds"] / row["seconds"]
    return rows


COUNT: Callable[[Any], str] = "{:,.0f}".format
SHARE: Callable[[Any], str] = "{:.1%}".format
RATIO: Callable[[Any], str] = "{:.2f}".format
MEASURES = {
    "search": (
        measure_search,
        {"build": seconds, "bytes": megabytes, "start": seconds, "query ms": RATIO, "cpu ms": RATIO,
         "queries/s": COUNT, "recall": SHARE, "own": SHARE, "peak": megabytes},
    ),
    "mining": (
        measure_mining,
        {"seconds": seconds, "times": RATIO, "pairs": COUNT, "of theirs": SHARE, "peak": megabytes},
    ),
    "encode": (
        measure_encode,
        {"seconds": seconds, "a second": COUNT, "times": RATIO, "peak": megabytes},
    ),
}  # fmt: skip


def main() -> None:
    """Measure, size by size, and print the tables (seconds, megabytes)."""
    progress.set_quiet(True)
    if sys.argv[1:2] == ["child"]:
        name, folder, model = sys.argv[2:]
        found = WAYS[name](Path(folder), model)
        say(json.dumps(found | {"peak": most_memory()}))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=[*MEASURES])
    parser.add_argument("run", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**4, 10**5, 10**6])
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--limit", type=float, default=3_600)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    model = str(Run.open(given.run).folder(SURROGATE).resolve())
    measure, columns = MEASURES[given.what]
    result: dict[str, Any] = {"what": given.what, "cores": os.cpu_count()}
    for size in given.sizes:
        with tempfile.TemporaryDirectory(prefix="firth-") as place:
            here = Path(place)
            (here / "threshold").write_text(str(given.threshold))
            prepare(given.run, size, given.queries, here)
            rows = measure(Child(here, model, given.limit, given.only))
            size = len(lines(here))
        table(f"{given.what}: {size:,} sentences", rows, columns)
        result[str(size)] = rows
        if given.out:
            given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
