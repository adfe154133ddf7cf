"""Search: nDCG@10 of firth beside BM25, an encoder, and simple fusions of both.

usage: python benchmarks/search.py --data-dir DIR --known FOLDER --work DIR [SET ...]

`--data-dir` has folders with SciFact and CACM, corpora, and cached questions of Quora. `--known` is
what `known_items.py` wrote. Sets are samples: each query with what answers it, some further
documents, and the first words of each. Runs and figures stay in `--work`, and are used again. It
needs bm25s and bayesian-bm25.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import bayesian_bm25
import bm25s
import numpy as np
import Stemmer

import firth
from figures import Cell, record
from firth.corpus.build import build_corpus
from firth.evaluation.bootstrap import Sample, bootstrap_seed, difference_of, estimate, mean_of_rows
from firth.run.console import set_quiet
from firth.run.run import Run
from firth.run.settings import parse_settings
from firth.search.calibrate import build_calibration
from firth.search.calibration import ANSWERS, RELATED, UNLIKELY
from firth.search.index import build_index
from firth.search.search import Search
from firth.text.sentences import split_paragraphs
from firth.text.types import Floats, Ints, Singles
from firth.text.words import words

SETS = {"scifact": "SciFact", "cacm": "CACM"}
ENCODER, DEFAULT, SEED = "all-MiniLM-L6-v2", "use-multilingual", 13
SYSTEMS = ("BM25", "whole", "best", "z-sum", "bayesian-bm25", "text alone", "default", "MiniLM")
CHOSE = ("CACM", "captions, first", "science, first")
ABSURD = (
    "How do I bake sourdough bread without yeast?",
    "Who won the chess championship on Mars?",
    "What should I feed a pet penguin in summer?",
    "How many violins fit into a submarine?",
    "Why did the emperor forbid purple umbrellas?",
    "Which cheese goes best with volcanic ash?",
    "How do I knit a sweater for a giraffe?",
    "What is the best way to polish a trombone?",
    "Can I parallel park a hot air balloon?",
    "Where do unicorns renew their passports?",
    "How long should I boil an ostrich egg?",
    "What was the score of the polar bear football match?",
    "How do I teach my goldfish to play the piano?",
    "Which wine should be served with cactus soup?",
    "How can I repair a leaking canoe with chewing gum?",
)
"""Questions that no set answers."""
Rank = Callable[[str], Sequence[str]]
"""A query → the ids of the best ten documents."""


@dataclass(frozen=True)
class Task:
    """Documents by id, queries, and the ids that are relevant to each query."""

    name: str
    documents: Mapping[str, str]
    queries: Sequence[str]
    relevant: Sequence[set[str]]

    def sample(self, queries: int, others: int, longest: int) -> "Task":
        """Return some queries with what answers them, further documents, and their first words."""
        rng = np.random.default_rng(5)
        chosen = sorted(rng.permutation(len(self.queries))[:queries].tolist())
        relevant = [self.relevant[at] for at in chosen]
        answers = set().union(*relevant)
        rest = [name for name in self.documents if name not in answers]
        answers |= {rest[at] for at in rng.permutation(len(rest))[:others].tolist()}
        return Task(
            self.name,
            {
                name: " ".join(text.split()[:longest])
                for name, text in self.documents.items()
                if name in answers
            },
            [self.queries[at] for at in chosen],
            relevant,
        )


def rows_of(file: Path, most: int) -> Iterator[dict[str, Any]]:
    """Yield the first records of a file."""
    with gzip.open(file, "rt") as lines:
        yield from map(json.loads, islice(lines, most))


def read(folder: Path, name: str) -> Task:
    """Read a judged collection."""
    judged = json.loads((folder / name / "queries.json").read_text())
    names = [query for query in judged["queries"] if judged["qrels"].get(query)]
    return Task(
        SETS[name],
        {row["id"]: row["text"] for row in rows_of(folder / name / "docs.jsonl.gz", 10**6)},
        [judged["queries"][query] for query in names],
        [set(judged["qrels"][query]) for query in names],
    )


def titles(file: Path, most: int = 3_000) -> Task:
    """Return titles as queries; documents with the same title are all relevant."""
    rows = [*rows_of(file, most)]
    by_title: dict[str, set[str]] = {}
    for row in rows:
        by_title.setdefault(row["title"], set()).add(row["id"])
    queries = [title for title in by_title if len(words(title)) > 1]
    chosen = np.random.default_rng(SEED).permutation(len(queries))[:300].tolist()
    queries = [queries[number] for number in chosen]
    documents = {row["id"]: row["text"] for row in rows}
    name = file.name.partition(".")[0].partition("_")[0]
    return Task(f"{name}, titles", documents, queries, [by_title[title] for title in queries])


def first_sentences(file: Path, most: int = 600) -> Task:
    """Return first sentences of 6 to 40 words as queries; what follows them is the document."""
    documents, queries = dict[str, str](), dict[str, str]()
    for row in rows_of(file, most):
        sentences = [text for part in split_paragraphs(row["text"], "en") for text in part]
        if len(sentences) >= 4 and 6 <= len(sentences[0].split()) <= 40:
            documents[row["id"]] = " ".join(sentences[1:])
            queries[row["id"]] = sentences[0]
    names = [*documents]
    chosen = np.random.default_rng(SEED).permutation(len(names))[:300].tolist()
    name = file.name.partition(".")[0].partition("_")[0]
    asked = [names[at] for at in chosen]
    return Task(f"{name}, first", documents, [queries[at] for at in asked], [{at} for at in asked])


def answers(file: Path) -> Task:
    """Return titles of a forum as queries; the last paragraph of a thread is the document."""
    documents, queries = dict[str, str](), dict[str, str]()
    for row in rows_of(file, 3_000):
        paragraphs = [text for text in row["text"].split("\n\n") if len(text.split()) >= 20]
        if len(paragraphs) >= 3 and len(row["title"].split()) >= 4:
            documents[row["id"]], queries[row["id"]] = paragraphs[-1], row["title"]
    names = [*documents]
    chosen = [names[at] for at in np.random.default_rng(7).permutation(len(names))[:800].tolist()]
    return Task(
        "forum, answers",
        {name: documents[name] for name in chosen},
        [queries[name] for name in chosen[:300]],
        [{name} for name in chosen[:300]],
    )


def questions(folder: Path) -> Task:
    """Return new questions of Quora as queries; the cached one that is the same answers."""
    tables = [
        [line.split("\t") for line in (folder / name).read_text().splitlines()[1:]]
        for name in ("cached.tsv", "queries.tsv")
    ]
    asked = [row for row in tables[1] if row[1] == "1"][:300]
    documents = {row[0]: row[1] for row in tables[0]}
    return Task("Quora", documents, [row[0] for row in asked], [{row[2]} for row in asked])


def tasks_of(data: Path, known: Path) -> Iterator[Task]:
    """Yield all sets, those that chose the weights first."""
    corpora = data / "corpora"
    judged = [read(data / "retrieval", name) for name in SETS]
    yield judged[1].sample(52, 600, 10**6)
    for name, queries, others, longest in (
        ("captions_coco_val2017", 300, 300, 500),
        ("science_plos", 120, 120, 200),
        ("wiki_en_2021", 100, 60, 80),
        ("wiki_en_2014_part", 100, 60, 80),
        ("textbook_openstax_anthropology", 100, 100, 80),
    ):
        task = first_sentences(corpora / f"{name}.jsonl.gz")
        short = {"wiki_en_2014_part": "wiki 2014, first"}.get(name, task.name)
        yield replace(task, name=short).sample(queries, others, longest)
    yield judged[0].sample(80, 80, 150)
    for file, queries, others, longest in (
        (corpora / "news_onestop.jsonl.gz", 60, 30, 100),
        (corpora / "textbook_openstax_anthropology.jsonl.gz", 100, 100, 80),
        (corpora / "forum_stackexchange.jsonl.gz", 120, 80, 80),
        (known / "packages.jsonl.gz", 300, 400, 3_000),
        (known / "docstrings.jsonl.gz", 200, 300, 150),
        (known / "manual.jsonl.gz", 120, 60, 80),
    ):
        yield titles(file, 1_500).sample(queries, others, longest)
    yield questions(data / "guard" / "cache_dev").sample(200, 1_500, 1_000)
    yield answers(corpora / "forum_stackexchange.jsonl.gz").sample(200, 250, 80)


def ndcg(ranked: Sequence[str], relevant: set[str]) -> float:
    """Return nDCG@10 of ten ids, where each document is relevant or not."""
    gains = [1 / np.log2(place + 2) for place in range(10)]
    gained = sum(gain for gain, name in zip(gains, ranked, strict=False) if name in relevant)
    return float(gained / sum(gains[: len(relevant)]))


def by_scores(ids: Sequence[str], scores: Callable[[str], Floats], best: int = 10) -> Rank:
    """Return a ranking by one score for each document."""
    return lambda query: [ids[at] for at in np.argsort(-scores(query), kind="stable")[:best]]


def tokens(texts: Sequence[str]) -> Any:
    """Return the stems of texts as bm25s cuts them, without its English stop words."""
    stemmer = Stemmer.Stemmer("english")
    return bm25s.tokenize(
        [*texts], stopwords="en", stemmer=stemmer, show_progress=False, return_ids=False
    )


def bm25_scores(task: Task) -> Callable[[str], Floats]:
    """Return what scores documents with bm25s over stems."""
    index = bm25s.BM25()
    index.index(tokens([*task.documents.values()]), show_progress=False)
    return lambda query: np.asarray(index.get_scores(tokens([query])[0]), np.float64)


def bm25_of(task: Task, best: int = 10) -> Rank:
    """Return the best documents of bm25s."""
    return by_scores([*task.documents], bm25_scores(task), best)


@dataclass(frozen=True)
class Systems:
    """What ranks the documents of a task, by the names of `SYSTEMS`."""

    task: Task
    work: Path

    def search(self, encoder: str) -> Search:
        """Return the search of a run; over an encoder, only what search needs is built."""
        records = [{"id": name, "text": text} for name, text in self.task.documents.items()]
        folder = self.work / f"{self.task.name}-{encoder}"
        if encoder == "none":
            return Search.open(firth.build(records, folder, encoder=encoder, seed=SEED).run)
        run = Run(folder, parse_settings({"seed": SEED, "encoder.model": encoder}, "search"))
        build_corpus(run, records)
        build_index(run)
        build_calibration(run)
        return Search.open(run)

    @cached_property
    def over(self) -> Search:
        """The search over the encoder of the rivals."""
        return self.search(ENCODER)

    def cosines(self) -> Callable[[str], tuple[Floats, Floats]]:
        """Return what compares a query with whole documents, and with their best sentences."""
        index, places = self.over.index, {name: at for at, name in enumerate(self.task.documents)}
        filled = np.flatnonzero(np.diff(index.corpus.document_bounds))
        gathered = index.gather(filled)
        owners = [index.corpus.documents_with_text(number) for number in filled.tolist()]
        wholes: Singles = index.encoder.encode([*self.task.documents.values()])

        def compare(query: str) -> tuple[Floats, Floats]:
            vector = index.encoder.encode([query])[0]
            best = np.full(len(places), -1.0)
            for documents, cosine in zip(owners, gathered.cosines(vector)[1], strict=True):
                best[[places[document.id] for document in documents]] = cosine
            return (wholes @ vector).astype(np.float64), best

        return compare

    def all(self) -> dict[str, Rank]:
        """Return the ranking of each system."""
        ids, of_words, cosines = [*self.task.documents], bm25_scores(self.task), self.cosines()
        scorer = bayesian_bm25.BayesianBM25Scorer(base_rate="auto")
        scorer.index(tokens([*self.task.documents.values()]), show_progress=False)

        def bayesian(query: str) -> Floats:
            probabilities = np.asarray(scorer.get_probabilities(tokens([query])[0]), np.float64)
            fused = bayesian_bm25.balanced_log_odds_fusion(probabilities, cosines(query)[0])
            return np.asarray(fused, np.float64)

        def cosine_of(at: int, query: str) -> Floats:
            return cosines(query)[at]

        def z_sum(query: str) -> Floats:
            total: Floats = np.sum([*map(z, (of_words(query), *cosines(query)))], axis=0)
            return total

        ranks = [
            *(by_scores(ids, partial(cosine_of, at)) for at in (0, 1)),
            *(by_scores(ids, scores) for scores in (z_sum, bayesian)),
            *(hybrid(self.search(encoder)) for encoder in ("none", DEFAULT)),
        ]
        return dict(zip(SYSTEMS, [bm25_of(self.task), *ranks, hybrid(self.over)], strict=True))


def verdicts(search: Search, task: Task) -> dict[str, list[str]]:
    """Return the verdict on the first hit: of right ones, of all, without answers, of `ABSURD`."""
    answers = search.calibration.answers.get("document") if search.calibration else None
    if answers is None:
        return {}
    corpus, rank = search.index.corpus, hybrid(search)
    names = [
        {document.id for document in corpus.documents_with_text(number)}
        for number in range(corpus.n_documents)
    ]

    def word(query: str, documents: Ints | None = None) -> str:
        return answers.verdict(search.first_evidence(query, documents)["document"])

    asked = [*zip(task.queries, task.relevant, strict=True)]
    there = [word(query) for query, _ in asked]
    hidden = [
        np.array([number for number, ids in enumerate(names) if not ids & relevant])
        for relevant in task.relevant
    ]
    firsts = [rank(query)[:1] for query in task.queries]
    return {
        "right": [
            verdict
            for verdict, first, relevant in zip(there, firsts, task.relevant, strict=True)
            if {*first} & relevant
        ],
        "answered": there,
        "hidden": [word(query, some) for query, some in zip(task.queries, hidden, strict=True)],
        "absurd": [word(query) for query in ABSURD],
    }


def z(values: Floats) -> Floats:
    """Return scores as deviations above their mean."""
    standard: Floats = (values - values.mean()) / max(float(values.std()), 1e-9)
    return standard


def hybrid(search: Search) -> Rank:
    """Return what firth ranks highest; documents with one text follow each other."""

    def rank(query: str) -> list[str]:
        hits = search.search(query, unit="document")
        return [name for hit in hits for name in (hit.document, *hit.also)][:10]

    return rank


def measured(task: Task, work: Path) -> dict[str, list[float]]:
    """Return system → nDCG@10 of each query; kept as JSON in `work`."""
    stored = work / f"{task.name}.json"
    if not stored.is_file():
        asked = [*zip(task.queries, task.relevant, strict=True)]
        ranks = Systems(task, work).all()
        gains = {
            name: [ndcg(rank(query), relevant) for query, relevant in asked]
            for name, rank in ranks.items()
        }
        stored.write_text(json.dumps(gains))
    values: dict[str, list[float]] = json.loads(stored.read_text())
    sys.stderr.write(
        f"{task.name} {[round(100 * float(np.mean(values[s])), 1) for s in SYSTEMS]}\n"
    )
    return values


def measured_verdicts(task: Task, work: Path) -> dict[str, dict[str, list[str]]]:
    """Return system → verdicts of a set; kept as JSON in `work`."""
    stored, systems = work / f"{task.name}-verdicts.json", Systems(task, work)
    if not stored.is_file():
        encoders = dict(zip(SYSTEMS[-3:], ("none", DEFAULT, ENCODER), strict=True))
        words = {name: verdicts(systems.search(kind), task) for name, kind in encoders.items()}
        stored.write_text(json.dumps(words))
    result: dict[str, dict[str, list[str]]] = json.loads(stored.read_text())
    return result


def report_verdicts(
    tasks: Sequence[Task], results: Sequence[Mapping[str, Mapping[str, Sequence[str]]]]
) -> None:
    """Record how often each verdict is said, in percent, by system: the median and the range."""
    rows: dict[str, list[Cell]] = {}
    shares = (
        ("right first hits refused", "right", UNLIKELY),
        ("absurd questions refused", "absurd", UNLIKELY),
        ("probably answers, answered", "answered", ANSWERS),
        ("probably answers, answer hidden", "hidden", ANSWERS),
        ("may be related, answer hidden", "hidden", RELATED),
    )
    for label, kind, word in shares:
        rows[label] = []
        for system in SYSTEMS[-3:]:
            words = [values[system][kind] for values in results if values[system]]
            values = [
                100 * sum(said == word for said in some) / len(some) for some in words if some
            ]
            low, middle, high = np.quantile(values, (0, 0.5, 1))
            rows[label].append(f"{middle:.0f} ({low:.0f} to {high:.0f})")
    record(
        "search-verdicts",
        ["% of", *SYSTEMS[-3:]],
        rows,
        command="python benchmarks/search.py --data-dir DATA --known FOLDER --work WORK",
        data="median and range over " + "; ".join(task.name for task in tasks),
        seed=SEED,
    )


def report(tasks: Sequence[Task], results: Sequence[Mapping[str, Sequence[float]]]) -> None:
    """Record the table of all sets, and the mean differences over those that only confirm."""
    rows: dict[str, list[Cell]] = {}
    for task, values in zip(tasks, results, strict=True):
        mark = ", chose" if task.name in CHOSE else ""
        name = f"{task.name}{mark} ({len(task.documents):,}, {len(task.queries)})"
        rows[name] = [round(100 * float(np.mean(values[system])), 1) for system in SYSTEMS]
    confirm = [at for at, task in enumerate(tasks) if task.name not in CHOSE]
    means = [[100 * float(np.mean(results[at][system])) for at in confirm] for system in SYSTEMS]
    rows["mean of those that confirm"] = [round(float(np.mean(column)), 1) for column in means]
    command = "python benchmarks/search.py --data-dir DATA --known FOLDER --work WORK"
    data = "samples: names with the numbers of documents and queries"
    record("search", ["nDCG@10", *SYSTEMS], rows, command=command, data=data, seed=SEED)
    pairs = [("text alone", "BM25"), ("default", "BM25"), ("default", "text alone")]
    pairs += [("MiniLM", rival) for rival in ("BM25", "z-sum", "bayesian-bm25", "text alone")]
    gains: dict[str, list[Cell]] = {}
    for system, rival in pairs:
        samples = []
        for at in confirm:
            one, two = (np.array(results[at][name]) for name in (system, rival))
            seed = bootstrap_seed(SEED, "search", tasks[at].name)
            gain = difference_of(mean_of_rows(one), mean_of_rows(two))
            samples.append(Sample(gain, len(one), seed))
        differences = [estimate(sample).value or 0.0 for sample in samples]
        gains[f"{system}, minus {rival}"] = [
            estimate(samples),
            f"{min(differences):.1f} to {max(differences):.1f}",
        ]
    heads = ["nDCG@10, mean of the differences", f"{len(confirm)} sets", "least and most"]
    record("search-mean", heads, gains, command=command, data=data, seed=SEED)


def main() -> None:
    """Measure what is not measured yet, and record the tables of all sets, or of those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--known", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    set_quiet(True)
    given.work.mkdir(parents=True, exist_ok=True)
    tasks = [*tasks_of(given.data_dir, given.known)]
    chosen = [task for task in tasks if not given.names or task.name in given.names]
    results = [measured(task, given.work) for task in chosen]
    report(chosen, results)
    report_verdicts(chosen, [measured_verdicts(task, given.work) for task in chosen])


if __name__ == "__main__":
    main()
