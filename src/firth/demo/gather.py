"""Ask a finished run what the report shows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from firth.corpus import CORPUS
from firth.corpus.statistics import evenly_spaced, fit_idf_on_run
from firth.curves import training_curves
from firth.demo.beside import Beside, beside
from firth.demo.report import DemoReport, Searched
from firth.evaluate import EVALUATION
from firth.evaluate.load import find_named
from firth.evaluate.task import Kind
from firth.lexical.scorer import Scorer
from firth.lexical.tfidf import TfIdf
from firth.origin.origin import Origin
from firth.run.files import read_json
from firth.run.pretrained import open_encoder
from firth.run.run import Run
from firth.search.search import By, Search
from firth.surrogate import SURROGATE
from firth.surrogate.matrices import NEAR, RANDOM, HeldOut
from firth.surrogate.teacher import Teacher

_HITS = 3
_PROPOSED = 100
"""Hits by meaning that are looked through, and hits by words that do not count as found by meaning
alone."""
_BESIDE = 3
"""Pairs that are shown of each kind, where one of Origin and tf-idf is right."""
_PAIRS = 2_000
"""Held-out pairs that are shown."""
_FACTS = ("documents", "sentences", "words", "chunks", "positions")


def gather_report(
    run: Run, pairs: Sequence[tuple[str, str]], explained: Sequence[int], queries: Sequence[str]
) -> DemoReport:
    """Score, explain and search with a run's models, and read what its stages recorded.

    Args:
        run: A run with all stages, among them the context model of the default Origin.
        pairs: Pairs to compare.
        explained: Which of them to explain.
        queries: What to search the corpus for.
    """
    origin = Origin.open(run)
    surrogate = open_encoder(str(run.folder(SURROGATE)))
    recorded = read_json(run.folder(SURROGATE) / "report.json")
    evaluated = read_json(run.folder(EVALUATION) / "results.json")
    counts = run.manifest(CORPUS).summary
    asked, told = _held_out(run)
    scored = zip(pairs, origin.similarities(pairs), _cosines(surrogate, pairs), strict=True)
    return DemoReport(
        facts={name: f"{counts[name]:,}" for name in _FACTS} | {"seed": str(run.config.seed)},
        curves=training_curves(run),
        scores=_by_kind(told),
        distilled=([score for _, score in told], _cosines(surrogate, asked)),
        pairs=[(*pair, float(score), cosine) for pair, score, cosine in scored],
        explanations=[origin.explain(*pairs[i]) for i in explained],
        searches=_searched(run, queries),
        results=[one for one in evaluated["results"] if one["subtask"] == "all"],
        beside=_beside(run, origin),
        notes=_notes(recorded),
        settings=run.config.to_yaml(),
    )


def _held_out(run: Run) -> tuple[list[tuple[str, str]], list[tuple[str, float]]]:
    """Pairs of sentences that the Surrogate did not learn from; of each its kind and Origin's
    score."""
    teacher = Teacher.open(run)
    held = HeldOut.of(teacher, teacher.parts(None)["test"], run.config.seed)
    chosen = evenly_spaced(np.arange(len(held.scores)), _PAIRS)
    pairs = [(held.texts[one], held.texts[two]) for one, two in held.rows[:, chosen].T.tolist()]
    kinds = [NEAR if number < held.near else RANDOM for number in chosen.tolist()]
    return pairs, list(zip(kinds, held.scores[chosen].tolist(), strict=True))


def _by_kind(told: Sequence[tuple[str, float]]) -> dict[str, list[float]]:
    scores: dict[str, list[float]] = {}
    for kind, score in told:
        scores.setdefault(kind, []).append(score)
    return dict(sorted(scores.items()))


def _cosines(model: SentenceTransformer, pairs: Sequence[tuple[str, str]]) -> list[float]:
    first, second = (
        model.encode(list(texts), show_progress_bar=False, convert_to_tensor=True)
        for texts in zip(*pairs, strict=True)
    )
    cosines: list[float] = model.similarity_pairwise(first, second).tolist()
    return cosines


def _searched(run: Run, queries: Sequence[str]) -> list[Searched]:
    """For each query the best hits by meaning that are not among the best by words."""
    search, found = Search.open(run), []
    for query in queries:
        by_words = search.search(query, top=_PROPOSED, by=By.WORDS)
        known = {hit.text for hit in by_words if hit.words > 0}
        hits = search.search(query, top=_PROPOSED, by=By.VECTORS)
        # A sentence that stands more than once in the corpus is one result.
        distinct = list({hit.text: hit for hit in reversed(hits)}.values())[::-1]
        new = [hit for hit in distinct if hit.text not in known]
        found.append(Searched(query, tuple(new[:_HITS]), _PROPOSED))
    return found


def _beside(run: Run, origin: Scorer) -> list[Beside]:
    """Origin beside tf-idf on each set of pairs that the run was evaluated on."""
    config = run.config.evaluate
    sets = [find_named(name).load(config.data_dir) for name in config.tasks]
    words = TfIdf(fit_idf_on_run(run.path))
    return [
        beside(data, origin, words, _BESIDE, run.config.seed)
        for data in sets
        if data.task.kind is Kind.PAIRS
    ]


def _notes(recorded: Mapping[str, Any]) -> list[str]:
    before, after = (recorded[when]["test"]["all"] for when in ("before", "after"))
    trained = recorded["chosen"]["steps"]
    learned = f" (before distillation: {_hundredfold(before['spearman'])})" if trained else ""
    return [
        "Origin and the Surrogate learned from this run's text alone, in minutes and at sizes far "
        "below the paper's. Dice and tf-idf cost nothing: a model is worth its trouble where it is "
        "above them by more than the intervals.",
        f"On {after['n']:,} pairs of held-out sentences the Surrogate's rank correlation with "
        f"Origin is {_hundredfold(after['spearman'])}{learned}.",
        *recorded["notes"],
    ]


def _hundredfold(value: float | None) -> str:
    return "undefined" if value is None else f"{100 * value:.1f}"
