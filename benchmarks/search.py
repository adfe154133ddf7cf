"""Search: nDCG@10 beside BM25, tf-idf, a pretrained encoder, and simple fusions of them.

usage: python benchmarks/search.py --data-dir DIR --work DIR [--titles FILE.jsonl.gz ...]
           [--first FILE.jsonl.gz ...]
       python benchmarks/search.py --work DIR --known FILE.jsonl.gz ...

`--data-dir` has SciFact and CACM, each a folder with `docs.jsonl.gz` (id, text) and `queries.json`
(queries, qrels). `--titles` names corpora without judgements: 300 titles must find their documents,
which are indexed without them. Of those of `--first`, 300 first sentences must find the rest of
their documents. `--known` measures titles of other files alone, as `known_items.py` makes them.
Runs and vectors stay in `--work`, and are used again. It needs bm25s and bayesian-bm25.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import bayesian_bm25  # type: ignore[import-not-found]
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
from firth.text.sentences import split_paragraphs
from firth.text.types import Floats, Singles
from firth.text.words import stems, words

SETS = {"scifact": "SciFact", "cacm": "CACM"}
ENCODER, BM25, TITLES, SEED = "all-MiniLM-L6-v2", "bm25s, stems", 300, 13
RIVALS = "convex, BM25 and whole", "z of BM25, whole and best"
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


def by_scores(ids: Sequence[str], scores: Callable[[str], Floats], best: int = 10) -> Rank:
    """Return a ranking by one score for each document."""

    def rank(query: str) -> list[str]:
        return [ids[number] for number in np.argsort(-scores(query), kind="stable")[:best]]

    return rank


def first_sentences(file: Path, most: int = 600, longest: int = 500) -> Task:
    """Return first sentences of 6 to 40 words as queries; what follows them is the document."""
    with gzip.open(file, "rt") as lines:
        rows = [json.loads(line) for line, _ in zip(lines, range(most), strict=False)]
    documents, queries = dict[str, str](), dict[str, str]()
    for row in rows:
        sentences = [text for some in split_paragraphs(row["text"], "en") for text in some]
        if len(sentences) < 4 or not 6 <= len(sentences[0].split()) <= 40:
            continue
        documents[row["id"]] = " ".join(" ".join(sentences[1:]).split()[:longest])
        queries[row["id"]] = sentences[0]
    ids = list(documents)
    chosen = [ids[n] for n in np.random.default_rng(SEED).permutation(len(ids))[:TITLES].tolist()]
    name = f"{file.name.partition('.')[0]}, first sentences"
    return Task(name, documents, [queries[each] for each in chosen], [{each} for each in chosen])


def bm25_scores(task: Task) -> Callable[[str], Floats]:
    """Return what scores documents with bm25s over stems, without its English stop words."""
    stemmer = Stemmer.Stemmer("english")

    def tokens(texts: Sequence[str], kind: str) -> Any:
        return bm25s.tokenize(
            [*texts], stopwords="en", stemmer=stemmer, show_progress=False, return_ids=kind == "ids"
        )

    index = bm25s.BM25()
    index.index(tokens([*task.documents.values()], "ids"), show_progress=False)
    return lambda query: np.asarray(index.get_scores(tokens([query], "words")[0]), np.float64)


def bayesian_of(task: Task) -> Callable[[str], Floats]:
    """Return the probabilities of documents by bayesian-bm25, whose prior needs no label."""
    stemmer, scorer = Stemmer.Stemmer("english"), bayesian_bm25.BayesianBM25Scorer(base_rate="auto")

    def tokens(texts: Sequence[str]) -> Any:
        return bm25s.tokenize(
            [*texts], stopwords="en", stemmer=stemmer, show_progress=False, return_ids=False
        )

    scorer.index(tokens([*task.documents.values()]), show_progress=False)
    return lambda query: np.asarray(scorer.get_probabilities(tokens([query])[0]), np.float64)


def bm25_of(task: Task, best: int = 10) -> Rank:
    """Return the best documents of bm25s."""
    return by_scores([*task.documents], bm25_scores(task), best)


def tfidf_of(task: Task) -> Rank:
    """Return cosines of stems, each counted 1 + log(times), with inverse document frequency."""
    table = TfidfVectorizer(analyzer=lambda text: stems(words(text), "porter"), sublinear_tf=True)
    rows = table.fit_transform(task.documents.values())
    return by_scores(
        [*task.documents], lambda query: (rows @ table.transform([query]).T).toarray()[:, 0]
    )


class Random:
    """An encoder that knows nothing: a random direction for each text."""

    name = "random"

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return as many rows, (n, 64)."""
        rows = [np.random.default_rng([*text.encode()]).standard_normal(64) for text in texts]
        return np.array(rows, np.float32).reshape(len(texts), 64)


def firth_of(task: Task, work: Path, encoder: str | Random) -> Search:
    """Return the search of a run of these documents."""
    records = [{"id": each, "text": text} for each, text in task.documents.items()]
    kind = encoder if isinstance(encoder, str) else encoder.name
    folder = work / f"{task.name}-{kind}"
    return Search.open(firth.build(records, folder, encoder=encoder, seed=SEED).run)


def hybrid(search: Search, query: str) -> list[str]:
    """Return what firth ranks highest; documents with one text follow each other."""
    hits = search.search(query, unit="document")
    return [name for hit in hits for name in (hit.document, *hit.also)][:10]


def fusions_of(task: Task, search: Search, work: Path) -> dict[str, Rank]:
    """Return an encoder's rankings, and the simplest ways to add them to BM25.

    The encoder reads as much of a whole document as it can. Scores are standardized over all
    documents (z), or are between 0 and 1 (convex), or ranks (RRF).
    """
    index, ids = search.index, [*task.documents]
    filled = np.flatnonzero(np.diff(index.corpus.document_bounds))
    known = [index.corpus.documents_with_text(number) for number in filled.tolist()]
    of_words, probabilities = bm25_scores(task), bayesian_of(task)
    file = work / f"{task.name}-whole.npy"
    if not file.is_file():
        np.save(file, index.encoder.encode([*task.documents.values()]))
    vectors = np.load(file)
    gathered = index.gather(filled)

    @lru_cache(1)
    def scores(query: str) -> tuple[Floats, Floats, Floats]:
        vector = index.encoder.encode([query])[0]
        cosines = zip(known, gathered.cosines(vector)[1].tolist(), strict=True)
        best = {document.id: cosine for equal, cosine in cosines for document in equal}
        nearest = np.array([best.get(each, -1.0) for each in ids])
        return of_words(query), (vectors @ vector).astype(np.float64), nearest

    def z(values: Floats) -> Floats:
        standard: Floats = (values - values.mean()) / max(float(values.std()), 1e-9)
        return standard

    def from_0_to_1(values: Floats) -> Floats:
        scaled: Floats = (values - values.min()) / max(float(np.ptp(values)), 1e-9)
        return scaled

    def by_rank(values: Floats) -> Floats:
        ranks: Floats = 1 / (61 + np.argsort(np.argsort(-values, kind="stable")))
        return ranks

    rules: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
        f"{ENCODER}, best sentence": lambda _, whole, best: best,
        f"{ENCODER}, whole document": lambda _, whole, best: whole,
        "RRF of BM25 and whole": lambda words, whole, _: by_rank(words) + by_rank(whole),
        "convex, BM25 and whole": lambda words, whole, _: from_0_to_1(words) + from_0_to_1(whole),
        "z of BM25 + 2 z of whole": lambda words, whole, _: z(words) + 2 * z(whole),
        "z of BM25, whole and best": lambda words, whole, best: z(words) + z(whole) + z(best),
    }

    def ranking(rule: Callable[[Floats, Floats, Floats], Floats]) -> Rank:
        return by_scores(ids, lambda query: rule(*scores(query)))

    def bayesian(query: str) -> Floats:
        fused = bayesian_bm25.balanced_log_odds_fusion(probabilities(query), scores(query)[1])
        return np.asarray(fused, np.float64)

    ranked = {name: ranking(rule) for name, rule in rules.items()}
    return {**ranked, "bayesian-bm25, balanced with whole": by_scores(ids, bayesian)}


def rows_of(
    tasks: Sequence[Task], work: Path, gains: dict[str, list[Sample]]
) -> dict[str, list[Estimate]]:
    """Return nDCG@10 of each system on each task, and paired differences of firth to others.

    The samples of the differences are appended to `gains`.
    """
    rows: dict[str, list[Estimate]] = {}
    for task in tasks:
        encoders = "none", Random(), ENCODER
        alone, unknowing, over = (firth_of(task, work, encoder) for encoder in encoders)
        systems: dict[str, Rank] = {
            BM25: bm25_of(task),
            "tf-idf of stems": tfidf_of(task),
            **fusions_of(task, over, work),
            "firth, random vectors": partial(hybrid, unknowing),
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
            sys.stderr.write(f"{task.name}: {name} {value}\n")
        *_, random, text, pretrained = systems
        pairs_of = [(random, BM25), (text, BM25)]
        pairs_of += [(pretrained, other) for other in (BM25, *RIVALS)]
        for name, other in pairs_of:
            gain = difference_of(mean_of_rows(values[name]), mean_of_rows(values[other]))
            sample, row = Sample(gain, len(task.queries), seed), f"{name}, minus {other}"
            gains.setdefault(row, []).append(sample)
            rows.setdefault(row, []).append(estimate(sample))
    return {name: rows[name] for name in sorted(rows, key=lambda name: "minus" in name)}


def sizes_of(tasks: Sequence[Task]) -> str:
    """Return what the tasks are and how many documents and queries they have."""
    return "; ".join(
        f"{task.name}: {len(task.documents):,} documents, {len(task.queries)} queries"
        for task in tasks
    )


def measure_known(tasks: Sequence[Task], work: Path) -> None:
    """Record the table of sets that took no part in a choice, and the means of differences."""
    gains: dict[str, list[Sample]] = {}
    rows = rows_of(tasks, work, gains)
    shown = [row for row in rows if row.startswith("firth") or row in (BM25, *RIVALS)]
    record(
        "search-known",
        ["nDCG@10", *(task.name for task in tasks), "mean"],
        {row: [*rows[row], estimate(gains[row]) if row in gains else None] for row in shown},
        command="python benchmarks/search.py --work WORK "
        "--known FOLDER/{packages,docstrings,manual}.jsonl.gz",
        data=sizes_of(tasks),
        seed=SEED,
    )


def main() -> None:
    """Measure all systems on all sets, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--titles", type=Path, nargs="*", default=[])
    parser.add_argument("--first", type=Path, nargs="*", default=[])
    parser.add_argument("--known", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    set_quiet(True)
    given.work.mkdir(parents=True, exist_ok=True)
    if given.known:
        measure_known([titles(file) for file in given.known], given.work)
        return
    if given.data_dir is None:
        parser.error("--data-dir is missing: the folder of SciFact and CACM")
    command = "python benchmarks/search.py --data-dir DATA --work WORK"
    tasks = {"search": [read(given.data_dir, name) for name in SETS]}
    if given.titles:
        tasks["search-titles"] = [titles(file) for file in given.titles]
    if given.first:
        tasks["search-first"] = [first_sentences(file) for file in given.first]
    options = {"search-titles": " --titles CORPORA", "search-first": " --first CORPORA"}
    gains: dict[str, list[Sample]] = {}
    for table, some in tasks.items():
        record(
            table,
            ["nDCG@10", *(task.name for task in some)],
            rows_of(some, given.work, gains),
            command=command + options.get(table, ""),
            data=sizes_of(some),
            seed=SEED,
        )
    count = sum(map(len, tasks.values()))
    record(
        "search-mean",
        ["nDCG@10, mean of the differences", f"{count} sets"],
        {name: [estimate(samples)] for name, samples in gains.items()},
        command=command + "".join(options[table] for table in tasks if table in options),
        data=", ".join(task.name for some in tasks.values() for task in some),
        seed=SEED,
    )


if __name__ == "__main__":
    main()
