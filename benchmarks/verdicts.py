"""Verdicts without labels: do they agree with people on data that were kept for this?

usage: python benchmarks/verdicts.py --data-dir DIR --work DIR CORPUS.jsonl.gz ...

Nine systems answer the questions of each corpus. Kendall's tau compares their order with that by
ratings (STS12, STSb dev), by average precision on MRPC, and by nDCG@10 of 30 candidates of each
query of SciFact and CACM. `--data-dir` has the folders eval and retrieval. The types of questions
were chosen on other corpora; MRPC took no part in the choice.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from figures import record
from firth.corpus.build import build_corpus
from firth.encoders.kinds import open_encoder
from firth.encoders.words import WORDS, WordSpace, build_words
from firth.evaluation.baselines import open_baseline
from firth.evaluation.compare import FEWEST_QUESTIONS, accuracies_of, pairs_of
from firth.evaluation.metrics import Metric, measure
from firth.evaluation.questions import Question, build_questions, open_questions
from firth.run.console import set_quiet
from firth.run.run import Run
from firth.run.settings import parse_settings
from firth.scorer.components import AlignedWords, Component, EncodedSentences
from firth.scorer.scorer import Blend, Scorer
from firth.text.types import CosineScorer, Floats, PairScorer, TextPair
from firth.train.tokenizer import build_tokenizer
from search import SETS, Task, bm25_of, ndcg, read, rows_of

DOCUMENTS, QUERIES, CANDIDATES, CHARACTERS, SEED = 1_000, 50, 30, 500, 13
TYPES = ("mean", "next-sentence", "same-document", "title")
TARGETS = {"ratings": ("STS12", "STSb"), "MRPC": ("MRPC",), "nDCG@10": tuple(SETS)}
WEAK = ("dice", "wordllama, 24 dimensions")
"""Systems that are weak on purpose; the last column leaves them out."""


def systems_of(run: Run) -> dict[str, PairScorer]:
    """Return the systems: baselines, the scorer and variants, and a static encoder."""
    from wordllama import WordLlama

    space = WordSpace.load(run.folder(WORDS))
    static = open_encoder(WordLlama.load())
    sentences, aligned = EncodedSentences(static.encode), AlignedWords(space)
    parts: dict[str, Component] = {"sentences": sentences, "words": aligned}
    over = Scorer(parts, {"sentences": 1.0, "words": 0.5}, space)
    return {
        **{name: open_baseline(name, run) for name in ("dice", "tfidf", "ngrams")},
        "scorer": Scorer.open(run, Blend()),
        "scorer, sentence vectors": Scorer.open(run, Blend({"sentences": 1.0})),
        "scorer, spelling 0.5": Scorer.open(run, Blend(spelling_weight=0.5)),
        "wordllama": CosineScorer("wordllama", static.encode),
        "scorer over wordllama": over,
        WEAK[1]: CosineScorer("cut", lambda texts: static.encode(texts)[:, :24]),
    }


def rated(data: Path, name: str) -> tuple[list[TextPair], Floats]:
    """Return the pairs of a set and what people said of them."""
    lines = (data / "eval" / name / "pairs.tsv").read_text(encoding="utf-8").split("\n")
    rows = [dict(zip(lines[0].split("\t"), line.split("\t"), strict=True)) for line in lines[1:-1]]
    split = {"STS12": "test", "STSb": "dev"}.get(name)
    kept = [row for row in rows if split in (None, row.get("split"))]
    gold = [float(row.get("score") or row["label"]) for row in kept]
    return [(row["sentence1"], row["sentence2"]) for row in kept], np.array(gold)


def candidates(task: Task) -> list[tuple[str, set[str], list[str]]]:
    """Return each query, what is relevant, and the documents that bm25s ranks highest."""
    rank = bm25_of(task, CANDIDATES)
    rows = zip(task.queries, task.relevant, strict=True)
    return [(query, relevant, [*rank(query)]) for query, relevant in rows][:QUERIES]


def reranked(system: PairScorer, task: Task, pool: list[tuple[str, set[str], list[str]]]) -> float:
    """Return the mean nDCG@10 of candidates by their similarity to the query."""
    values = []
    for query, relevant, ids in pool:
        texts = [task.documents[each][:CHARACTERS] for each in ids]
        order = np.argsort(-system.similarities([(query, text) for text in texts]), kind="stable")
        values.append(ndcg([ids[number] for number in order.tolist()], relevant))
    return float(np.mean(values))


def measured(file: Path, work: Path, data: Path) -> dict[str, dict[str, float]]:
    """Return system → accuracy of each type, and value of each target; kept as JSON in `work`."""
    stored = work / f"verdicts-{file.name.partition('.')[0]}.json"
    if stored.is_file():
        known: dict[str, dict[str, float]] = json.loads(stored.read_text())
        return known
    records = rows_of(file, DOCUMENTS)
    settings = {"corpus": {"held_out_fraction": 0.2}, "questions": {"questions": 400}}
    run = Run(work / stored.stem, parse_settings({**settings, "seed": SEED}, "verdicts"))
    build_corpus(run, records)
    build_tokenizer(run)
    build_words(run)
    build_questions(run)
    questions: dict[str, list[Question]] = {}
    for question in open_questions(run):
        questions.setdefault(question.type, []).append(question)
    asked = {kind: some for kind, some in questions.items() if len(some) >= FEWEST_QUESTIONS}
    sets = {name: rated(data, name) for name in ("STS12", "STSb", "MRPC")}
    tasks = {name: read(data / "retrieval", name) for name in SETS}
    pools = {name: candidates(task) for name, task in tasks.items()}
    values = {}
    for name, system in systems_of(run).items():
        row = {
            str(kind): float(accuracies_of(some, system.similarities(pairs_of(some))).mean())
            for kind, some in asked.items()
        }
        row["mean"] = float(np.mean(list(row.values())))
        for rating, (pairs, gold) in sets.items():
            metric = Metric.AVERAGE_PRECISION if rating == "MRPC" else Metric.SPEARMAN
            scores = system.similarities(pairs)
            row[rating] = float(measure(metric, gold, scores, seed=SEED, resamples=0).value or 0)
        row |= {each: reranked(system, task, pools[each]) for each, task in tasks.items()}
        values[name] = row
    stored.write_text(json.dumps(values, indent=1))
    return values


def main() -> None:
    """Measure all corpora, and record the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("corpora", type=Path, nargs="+")
    given = parser.parse_args()
    set_quiet(True)
    given.work.mkdir(parents=True, exist_ok=True)
    taus: dict[str, list[list[float]]] = {kind: [[], [], [], []] for kind in TYPES}
    for corpus in given.corpora:
        values = measured(corpus, given.work, given.data_dir)
        strong = [name for name in values if name not in WEAK]
        for kind in TYPES:
            if kind not in values["scorer"]:
                continue
            for place, (names, target) in enumerate(
                [*((list(values), each) for each in TARGETS.values()), (strong, TARGETS["ratings"])]
            ):
                ours = [values[name][kind] for name in names]
                theirs = [float(np.mean([values[name][each] for each in target])) for name in names]
                taus[kind][place].append(float(kendalltau(ours, theirs).statistic))
    rows = {
        kind: [
            f"{np.mean(some):.2f} ({min(some):.2f} to {max(some):.2f})" if some else None
            for some in places
        ]
        for kind, places in taus.items()
    }
    record(
        "verdicts",
        ["Kendall's τ with", *TARGETS, "ratings, without the weak"],
        rows,
        command="python benchmarks/verdicts.py --data-dir DATA --work WORK CORPORA",
        data="mean and range over "
        + ", ".join(path.name.partition(".")[0] for path in given.corpora),
        seed=SEED,
    )


if __name__ == "__main__":
    main()
