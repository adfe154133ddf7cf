"""Compare stores for documents (SQLite, DuckDB, LanceDB, Arrow files) and indexes for BM25.

Usage: python benchmarks/store.py CORPUS.jsonl.gz SENTENCES NAME [NAME ...]

Stores: sqlite, duckdb, lance, arrow. Each holds one row per document, with its sentences joined by
line ends. Indexes: fts5, bm25s, lancefts, own. Each ranks by BM25 over our stems. Times are
processor time of all threads, because the machine may be busy.
"""

import gzip
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("key", "section", "date", "text")
TABLE = "CREATE TABLE IF NOT EXISTS d (key {} PRIMARY KEY, section TEXT, date TEXT, text TEXT)"
PUT, WHERE = "INSERT OR REPLACE INTO d VALUES (?, ?, ?, ?)", "date >= '2020' AND section = 'news'"
KILLS, QUERIES, FREQUENT = 20, 200, 0.1
Row = tuple[int, str, str, str]
Search = Callable[[list[str]], Any]


def documents(path: str, most: int) -> Iterator[Row]:
    """Yield documents until there are `most` sentences."""
    count, rng = 0, random.Random(0)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for key, line in enumerate(lines):
            split = [s for s in re.split(r"(?<=[.!?])\s+|\n+", json.loads(line)["text"]) if s]
            date = f"20{rng.randrange(24):02}-01-01"
            yield key, rng.choice(["news", "sport", "law"]), date, "\n".join(split)
            count += len(split)
            if count >= most:
                return


class _Sqlite:
    def __init__(self, folder: Path) -> None:
        self.db: Any = sqlite3.connect(folder / "store.db", isolation_level=None)
        self.db.executescript("PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA")
        self.db.execute(TABLE.format("INTEGER"))

    def write(self, rows: list[Row]) -> None:
        self.db.execute("BEGIN")
        self.db.executemany(PUT, rows)
        self.db.execute("COMMIT")

    def replace(self, row: Row, removed: int) -> None:
        self.db.execute("BEGIN")
        self.db.execute(PUT, row)
        self.db.execute("DELETE FROM d WHERE key = ?", (removed,))
        self.db.execute("COMMIT")

    def select(self, column: str, rest: str) -> Iterator[Any]:
        cursor = self.db.execute(f"SELECT {column} FROM d {rest}")
        while rows := cursor.fetchmany(1000):
            yield from (value for (value,) in rows)

    def read(self) -> Iterator[str]:
        return self.select("text", "ORDER BY key")

    def keys(self, condition: str) -> list[int]:
        return [*self.select("key", f"WHERE {condition}")]


class _DuckDb(_Sqlite):
    def __init__(self, folder: Path) -> None:
        import duckdb  # type: ignore[import-not-found]

        self.db = duckdb.connect(str(folder / "store.duckdb"))
        self.db.execute(TABLE.format("BIGINT"))

    def write(self, rows: list[Row]) -> None:
        self.db.register("given", _table(rows))
        self.db.execute("INSERT INTO d SELECT * FROM given")


class _Lance:
    def __init__(self, folder: Path) -> None:
        import lancedb  # type: ignore[import-not-found]

        self.db: Any = lancedb.connect(str(folder / "lance"))
        self.t: Any = self.db.open_table("d") if (folder / "lance" / "d.lance").exists() else None

    def write(self, rows: list[Row]) -> None:
        self.t = self.db.create_table("d", _table(rows))

    def replace(self, row: Row, removed: int) -> None:  # two commits: it has no larger transaction
        self.t.merge_insert("key").when_matched_update_all().execute(_table([row]))
        self.t.delete(f"key = {removed}")

    def read(self) -> Iterator[str]:
        for batch in self.t.to_lance().to_batches(columns=["text"]):
            yield from batch.column(0).to_pylist()

    def keys(self, condition: str) -> list[int]:
        return [*self.t.to_lance().to_table(["key"], filter=condition).column(0).to_pylist()]


class _Arrow:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "store.arrow"

    def write(self, rows: list[Row]) -> None:
        import pyarrow as pa

        with pa.ipc.new_file(f"{self.path}~", _table(rows).schema) as file:
            file.write_table(_table(rows), 1000)
        os.replace(f"{self.path}~", self.path)

    def replace(self, row: Row, removed: int) -> None:  # all is written again
        rows = {r["key"]: tuple(r.values()) for r in self.table().to_pylist()} | {row[0]: row}
        self.write([each for key, each in rows.items() if key != removed])

    def table(self) -> Any:
        import pyarrow as pa

        return pa.ipc.open_file(pa.memory_map(str(self.path))).read_all()

    def read(self) -> Iterator[str]:
        for batch in self.table().to_batches():
            yield from batch.column("text").to_pylist()

    def keys(self, condition: str) -> list[int]:
        import pyarrow.compute as pc

        kept = (pc.field("date") >= "2020") & (pc.field("section") == "news")
        table = self.table().filter(kept) if condition == WHERE else self.table()
        return [*table.column("key").to_pylist()]


def _table(rows: list[Row]) -> Any:
    import pyarrow as pa

    return pa.table(dict(zip(NAMES, zip(*rows, strict=True), strict=True)))


def _fts5(texts: list[str]) -> Search:
    db = sqlite3.connect("")  # on disk; the tokenizer `ascii` splits our stems at blanks
    db.execute("CREATE VIRTUAL TABLE f USING fts5 (t, content = '', tokenize = 'ascii')")
    db.executemany("INSERT INTO f (rowid, t) VALUES (?, ?)", enumerate(texts))
    db.commit()
    asked = "SELECT rowid FROM f WHERE f MATCH ? ORDER BY rank LIMIT 10"
    return lambda q: db.execute(asked, (" OR ".join(f'"{term}"' for term in q),)).fetchall()


def _bm25s(texts: list[str], own: bool) -> Search:
    import bm25s

    fitted = bm25s.BM25()
    fitted.index([text.split() for text in texts], show_progress=False)
    weights, rows, bounds = (fitted.scores[name] for name in ("data", "indices", "indptr"))

    def search(query: list[str]) -> Any:  # ranks only the rows that have a stem
        scores = np.zeros(len(texts), np.float32)
        for term in map(fitted.vocab_dict.__getitem__, query):
            some = slice(bounds[term], bounds[term + 1])
            scores[rows[some]] += weights[some]
        having = np.flatnonzero(scores)
        k = min(10, len(having))
        return having[np.argpartition(scores[having], -k)[-k:]]

    return search if own else lambda q: fitted.retrieve([q], k=10, show_progress=False)


def _lancefts(texts: list[str]) -> Search:
    import lancedb

    table = lancedb.connect(tempfile.mkdtemp()).create_table("f", [{"t": text} for text in texts])
    off = dict.fromkeys(("stem", "remove_stop_words", "ascii_folding", "with_position"), False)
    table.create_fts_index("t", base_tokenizer="whitespace", **off)
    return lambda q: table.search(" ".join(q), query_type="fts").limit(10).to_list()


STORES: Any = {"sqlite": _Sqlite, "duckdb": _DuckDb, "lance": _Lance, "arrow": _Arrow}
INDEXES: dict[str, Callable[[list[str]], Search]] = {
    "fts5": _fts5,
    "lancefts": _lancefts,
    "bm25s": lambda texts: _bm25s(texts, False),
    "own": lambda texts: _bm25s(texts, True),
}


def inconsistent(name: str, rows: list[Row]) -> int:
    """Kill a process that replaces document 0 by "#n" and removes document n, for n = 1, 2, ..."""
    bad = 0
    for kill in range(KILLS):
        with tempfile.TemporaryDirectory() as folder:
            STORES[name](Path(folder)).write(rows)
            victim = subprocess.Popen([sys.executable, __file__, "victim", name, folder], stdout=-1)
            assert victim.stdout is not None
            victim.stdout.readline()
            time.sleep(0.02 + kill * 0.013)
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            store = STORES[name](Path(folder))
            last = next(int(text[1:]) for text in store.read() if text.startswith("#"))
            bad += {*store.keys("key >= 0")} != {0, *range(last + 1, len(rows))}
    return bad


def timed(call: Callable[[], Any]) -> float:
    """Return the milliseconds of processor time that a call takes, all threads together."""
    start = time.process_time()
    call()
    return 1e3 * (time.process_time() - start)


def measure_store(name: str, rows: list[Row]) -> Iterator[tuple[str, object]]:
    """Yield what is measured of a store, and the value."""
    small = [(key, section, date, "-" if key else "#0") for key, section, date, _ in rows[:2000]]
    yield f"inconsistent after {KILLS} SIGKILLs", inconsistent(name, small)
    with tempfile.TemporaryDirectory() as folder:
        store = STORES[name](Path(folder))
        yield "write, ms", timed(lambda: store.write(rows))
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        yield "bytes on disk per character", size / sum(len(row[3]) for row in rows)
        yield "replace and remove, ms", timed(lambda: store.replace(rows[9], rows[7][0]))
        yield "filter, ms", timed(lambda: store.keys(WHERE))
        counts: list[int] = []
        spent = timed(lambda: counts.extend(len(text.split("\n")) for text in store.read()))
        yield "million sentences read/s", sum(counts) / spent / 1e3


def measure_index(name: str, rows: list[Row]) -> Iterator[tuple[str, object]]:
    """Yield times of queries of up to 6 stems, over sentences and over documents."""
    import Stemmer

    stem, texts = Stemmer.Stemmer("porter").stemWords, [row[3] for row in rows]
    for unit, split in {"sentences": True, "documents": False}.items():
        units = [s for text in texts for s in text.split("\n")] if split else texts
        stemmed = [" ".join(stem(re.findall(r"\w+", text.lower()))) for text in units]
        having = Counter(term for text in stemmed for term in {*text.split()})
        search = INDEXES[name](stemmed)
        for title, most in {"all stems": 1.0, "no stop words": FREQUENT}.items():
            rng, spent = random.Random(1), []
            for _ in range(QUERIES):
                asked = rng.choice(stemmed).split()[:12]
                query = [term for term in asked if having[term] <= most * len(units)][:6]
                if query:
                    spent.append(timed(partial(search, query)))
            yield f"{unit}, {title}, ms at 50 and 95 %", np.quantile(spent, [0.5, 0.95]).round(1)


if __name__ == "__main__":
    if sys.argv[1] == "victim":
        changed = STORES[sys.argv[2]](Path(sys.argv[3]))
        print("ready", flush=True)
        for n in range(1, 2000):
            changed.replace((0, "news", "2020-01-01", f"#{n}"), n)
    given = [*documents(sys.argv[1], int(sys.argv[2]))]
    for candidate in sys.argv[3:]:
        measure = measure_store if candidate in STORES else measure_index
        for what, value in measure(candidate, given):
            print(f"{candidate}: {what}: {value}", flush=True)
