"""Search: nDCG@10 beside BM25, tf-idf and the cosine of a pretrained encoder.

usage: python benchmarks/search.py --data-dir DIR --work DIR [--titles FILE.jsonl.gz ...]

`--data-dir` has SciFact and CACM, each a folder with `docs.jsonl.gz` (id, text) and `queries.json`
(queries, qrels). `--titles` names corpora without judgements: 300 titles must find their documents,
which are indexed without them. Runs and vectors stay in `--work`, and are used again.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import bm25s
import numpy as np
import Stemmer
from sklearn.feature_extraction.text import TfidfVectorizer

import firth
from figures import record
from firth.evaluation.bootstrap import (
    Estimate,
    Sample,
    bootstrap_seed,
    difference_of,
    estimate,
    mean_of_rows,
)
from firth.run.console import set_quiet
from firth.search.search import Search
from firth.text.types import Floats
from firth.text.words import stems, words

SETS = {"scifact": "SciFact", "cacm": "CACM"}
ENCODER, BM25, TITLES, SEED = "all-MiniLM-L6-v2", "bm25s, stems", 300, 13
Rank = Callable[[str], Sequence[str]]
"""A query → the ids of the best ten documents."""


@dataclass(frozen=True)
class Task:
    """Documents by id, queries, and the ids that are relevant to each query."""

    name: str
    documents: Mapping[str, str]
    queries: Sequence[str]
    relevant: Sequence[set[str]]


def read(folder: Path, name: str) -> Task:
    """Read a judged collection."""
    with gzip.open(folder / name / "docs.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    judged = json.loads((folder / name / "queries.json").read_text())
    wanted = [query for query in judged["queries"] if judged["qrels"].get(query)]
    return Task(
        SETS[name],
        {row["id"]: row["text"] for row in rows},
        [judged["queries"][query] for query in wanted],
        [set(judged["qrels"][query]) for query in wanted],
    )


def titles(file: Path, most: int = 3_000) -> Task:
    """Return titles as queries; documents with the same title are all relevant."""
    with gzip.open(file, "rt") as lines:
        rows = [json.loads(line) for line, _ in zip(lines, range(most), strict=False)]
    by_title: dict[str, set[str]] = {}
    for row in rows:
        by_title.setdefault(row["title"], set()).add(row["id"])
    named = [title for title in by_title if len(words(title)) > 1]
    chosen = np.random.default_rng(SEED).permutation(len(named))[:TITLES]
    queries = [named[number] for number in chosen.tolist()]
    documents = {row["id"]: row["text"] for row in rows}
    name = file.name.partition(".")[0]
    return Task(name, documents, queries, [by_title[query] for query in queries])


def ndcg(ranked: Sequence[str], relevant: set[str]) -> float:
    """Return nDCG@10 of ten ids, where each document is relevant or not."""
    gains = [1 / np.log2(place + 2) for place in range(10)]
    gained = sum(gain for gain, each in zip(gains, ranked, strict=False) if each in relevant)
    return float(gained / sum(gains[: len(relevant)]))


def by_scores(ids: Sequence[str], scores: Callable[[str], Floats]) -> Rank:
    """Return a ranking by one score for each document."""

    def rank(query: str) -> list[str]:
        return [ids[number] for number in np.argsort(-scores(query), kind="stable")[:10]]

    return rank


def bm25_of(task: Task, best: int = 10) -> Rank:
    """Return the best documents of bm25s over stems, without its English stop words."""
    stemmer = Stemmer.Stemmer("english")

    def tokens(texts: Sequence[str]) -> object:
        return bm25s.tokenize([*texts], stopwords="en", stemmer=stemmer, show_progress=False)

    index, ids = bm25s.BM25(), list(task.documents)
    index.index(tokens([*task.documents.values()]), show_progress=False)

    def rank(query: str) -> list[str]:
        numbers, _ = index.retrieve(tokens([query]), k=best, show_progress=False)
        return [ids[number] for number in numbers[0].tolist()]

    return rank


def tfidf_of(task: Task) -> Rank:
    """Return cosines of stems, each counted 1 + log(times), with inverse document frequency."""
    table = TfidfVectorizer(analyzer=lambda text: stems(words(text), "porter"), sublinear_tf=True)
    rows = table.fit_transform(task.documents.values())
    return by_scores(
        [*task.documents], lambda query: (rows @ table.transform([query]).T).toarray()[:, 0]
    )


def firth_of(task: Task, work: Path, encoder: str | None) -> Search:
    """Return the search of a run of these documents."""
    records = [{"id": each, "text": text} for each, text in task.documents.items()]
    folder = work / f"{task.name}-{'text' if encoder is None else 'encoder'}"
    return Search.open(firth.build(records, folder, encoder=encoder, seed=SEED).run)


def hybrid(search: Search, query: str) -> list[str]:
    """Return what firth ranks highest."""
    return [hit.document for hit in search.search(query, unit="document")]


def by_cosine(search: Search, query: str) -> list[str]:
    """Return the documents by the exact cosine of their best sentence."""
    index = search.index
    best = index.cosines(index.encoder.encode([query])[0], np.arange(len(index)))
    numbers = index.corpus.document_of(np.argsort(-best, kind="stable")).tolist()
    ids = index.corpus.document_ids()
    return [ids[number] for number in list(dict.fromkeys(numbers))[:10]]


def rows_of(tasks: Sequence[Task], work: Path) -> dict[str, list[Estimate]]:
    """Return nDCG@10 of each system on each task, and paired differences to bm25s."""
    rows: dict[str, list[Estimate]] = {}
    for task in tasks:
        alone, over = (firth_of(task, work, encoder) for encoder in (None, ENCODER))
        systems: dict[str, Rank] = {
            BM25: bm25_of(task),
            "tf-idf of stems": tfidf_of(task),
            f"{ENCODER}, best sentence": partial(by_cosine, over),
            "firth, text alone": partial(hybrid, alone),
            f"firth, {ENCODER}": partial(hybrid, over),
        }
        values: dict[str, Floats] = {}
        seed = bootstrap_seed(SEED, "search", task.name)
        for name, rank in systems.items():
            pairs = zip(task.queries, task.relevant, strict=True)
            values[name] = np.array([ndcg(rank(query), relevant) for query, relevant in pairs])
            value = estimate(Sample(mean_of_rows(values[name]), len(values[name]), seed))
            rows.setdefault(name, []).append(value)
        for name in list(systems)[1:]:
            gain = difference_of(mean_of_rows(values[name]), mean_of_rows(values[BM25]))
            difference = estimate(Sample(gain, len(task.queries), seed))
            rows.setdefault(f"{name}, minus bm25s", []).append(difference)
            sys.stderr.write(f"{task.name}: {name} {rows[name][-1]}, {difference.signed}\n")
    return {name: rows[name] for name in sorted(rows, key=lambda name: "minus" in name)}


def main() -> None:
    """Measure all systems on all sets, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--titles", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    set_quiet(True)
    given.work.mkdir(parents=True, exist_ok=True)
    command = "python benchmarks/search.py --data-dir DATA --work WORK"
    tasks = {"search": [read(given.data_dir, name) for name in SETS]}
    if given.titles:
        tasks["search-titles"] = [titles(file) for file in given.titles]
    for table, some in tasks.items():
        record(
            table,
            ["nDCG@10", *(task.name for task in some)],
            rows_of(some, given.work),
            command=command + " --titles CORPORA" * (table != "search"),
            data="; ".join(
                f"{task.name}: {len(task.documents):,} documents, {len(task.queries)} queries"
                for task in some
            ),
            seed=SEED,
        )


if __name__ == "__main__":
    main()
