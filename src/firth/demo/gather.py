"""Ask a finished run what the report shows."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from sentence_transformers import SentenceTransformer
from sentence_transformers.util import semantic_search

from firth.context import CONTEXT
from firth.context.build import HISTORY
from firth.corpus import CORPUS
from firth.corpus.corpus import Corpus
from firth.demo.report import Curve, DemoReport, Hit, Row, ScoredPair
from firth.evaluate import EVALUATION
from firth.harvest.harvest import SPLITS, read_pairs
from firth.origin.origin import Origin
from firth.origin.settings import Method
from firth.paper.coherence import COHERENCE
from firth.paper.generation import GENERATOR
from firth.run.files import read_json
from firth.run.pretrained import open_encoder
from firth.run.run import Run
from firth.surrogate import SURROGATE

_HITS = 5


def gather_report(
    run: Run, pairs: Sequence[tuple[str, str]], explained: Sequence[int], query: str
) -> DemoReport:
    """Score, explain and search with a run's models, and read what its stages recorded.

    Args:
        run: A run with all stages.
        pairs: Pairs to compare.
        explained: Which of them to explain.
        query: What to search the corpus for.
    """
    origin, corpus = Origin.open(run), Corpus.open(run)
    surrogate = open_encoder(str(run.folder(SURROGATE)))
    recorded = read_json(run.folder(SURROGATE) / "report.json")
    return DemoReport(
        facts=_facts(run),
        curves=_curves(run, recorded),
        scores=_harvested(run),
        distilled=_distilled(run, surrogate),
        pairs=_scored(origin, surrogate, pairs),
        explanations=[origin.explain(*pairs[i]) for i in explained],
        query=query,
        hits=_search(corpus, surrogate, query),
        results=_results(run),
        notes=_notes(recorded),
        settings=run.config.to_yaml(),
    )


def _facts(run: Run) -> dict[str, str]:
    corpus = run.manifest(CORPUS).summary
    return {
        name: f"{corpus[name]:,}" for name in ("documents", "sentences", "words", "chunks", "slots")
    } | {"seed": str(run.config.seed)}


def _curves(run: Run, recorded: Mapping[str, Any]) -> dict[str, tuple[str, dict[str, Curve]]]:
    method = run.config.origin.method
    models = _paper_curves(run) if method is Method.PAPER else _fit_curves(run)
    distillation = recorded["history"]["distillation"]
    return models | {
        "Surrogate: training loss": ("L2", {"distillation": _points(distillation, "loss")})
    }


def _fit_curves(run: Run) -> dict[str, tuple[str, dict[str, Curve]]]:
    history = read_json(run.folder(CONTEXT) / HISTORY)
    return {
        "Context fit: training loss": (
            "nats",
            {name: _points(entries, "loss") for name, entries in history.items()},
        )
    }


def _paper_curves(run: Run) -> dict[str, tuple[str, dict[str, Curve]]]:
    coherence = read_json(run.folder(COHERENCE) / "history.json")
    generator = read_json(run.folder(GENERATOR) / "history.json")
    return {
        "Coherence model: loss": (
            "binary cross-entropy",
            {
                "training": _points(coherence, "loss"),
                "held out": _points(coherence, "held_out_loss"),
            },
        ),
        "Coherence model: held-out accuracy": (
            "accuracy",
            {
                "random negatives": _points(coherence, "accuracy_random"),
                "same document": _points(coherence, "accuracy_same_document"),
            },
        ),
        "Generator: training loss": (
            "nats a token",
            {name: _points(entries, "loss") for name, entries in generator.items()},
        ),
    }


def _points(history: Sequence[Mapping[str, float]], name: str) -> Curve:
    return [(entry["step"], entry[name]) for entry in history if name in entry]


def _harvested(run: Run) -> dict[str, list[float]]:
    scores: dict[str, list[float]] = {}
    for split in SPLITS:
        for row in read_pairs(run, split).select(["kind", "score"]).to_pylist():
            scores.setdefault(row["kind"], []).append(row["score"])
    return dict(sorted(scores.items()))


def _distilled(run: Run, surrogate: SentenceTransformer) -> tuple[list[float], list[float]]:
    rows = [row for split in ("dev", "test") for row in read_pairs(run, split).to_pylist()]
    cosines = _cosines(surrogate, [(row["sentence1"], row["sentence2"]) for row in rows])
    return [row["score"] for row in rows], cosines


def _scored(
    origin: Origin, surrogate: SentenceTransformer, pairs: Sequence[tuple[str, str]]
) -> list[ScoredPair]:
    scores = origin.similarities(pairs).tolist()
    cosines = _cosines(surrogate, pairs)
    return [
        ScoredPair(*pair, score, cosine)
        for pair, score, cosine in zip(pairs, scores, cosines, strict=True)
    ]


def _cosines(model: SentenceTransformer, pairs: Sequence[tuple[str, str]]) -> list[float]:
    first, second = zip(*pairs, strict=True)
    vectors = [
        model.encode(list(texts), show_progress_bar=False, convert_to_tensor=True)
        for texts in (first, second)
    ]
    cosines: list[float] = model.similarity_pairwise(*vectors).tolist()
    return cosines


def _search(corpus: Corpus, model: SentenceTransformer, query: str) -> list[Hit]:
    texts = corpus.texts(range(len(corpus)))
    vectors = model.encode(texts, batch_size=1024, show_progress_bar=False, convert_to_tensor=True)
    asked = model.encode([query], show_progress_bar=False, convert_to_tensor=True)
    # A sentence that stands more than once in the corpus is one result.
    hits: dict[str, tuple[float, int]] = {}
    for found in semantic_search(asked, vectors, top_k=10 * _HITS)[0]:
        number = int(found["corpus_id"])
        hits.setdefault(texts[number], (float(found["score"]), number))
    return [
        Hit(score, text, corpus.document_title(int(corpus.document_of([number])[0])))
        for text, (score, number) in islice(hits.items(), _HITS)
    ]


def _results(run: Run) -> list[Row]:
    document = read_json(run.folder(EVALUATION) / "results.json")
    return [
        Row(
            result["model"],
            f"{result['task']} {result['split']}",
            result["metric"],
            result["value"],
            result["low"],
            result["high"],
            result["n"],
        )
        for result in document["results"]
        if result["subtask"] == "all"
    ]


def _notes(recorded: Mapping[str, Any]) -> list[str]:
    test = recorded["after"]["test"]["all"]
    before = recorded["before"]["test"]["all"]
    return [
        "Origin and the Surrogate learned from this run's text alone, in minutes and at sizes far "
        "below the paper's. Dice and tf-idf cost nothing: a model is worth its trouble where it is "
        "above them by more than the intervals.",
        f"On {test['n']} held-out pairs of the harvest the Surrogate's rank correlation with "
        f"Origin is {_hundredfold(test['spearman'])} (before distillation: "
        f"{_hundredfold(before['spearman'])}); its L2 is {test['l2']:.4f}, that of a constant "
        f"predictor {test['constant_l2']:.4f}.",
        *recorded["notes"],
    ]


def _hundredfold(value: float | None) -> str:
    return "undefined" if value is None else f"{100 * value:.1f}"
