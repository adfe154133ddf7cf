"""The report of a run: one file of HTML that needs no script, no network and no other file."""

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.pipeline.built import compare_with_baseline, examples, verdict
from firth.pipeline.stages import status
from firth.run.outputs import claim_output, write_file
from firth.run.run import Run
from firth.run.settings import HEADER, settings_text
from firth.scorer.contexts import CONTEXTS, Contexts
from firth.scorer.explanation import article, style, template
from firth.scorer.scorer import Scorer
from firth.search.calibration import Calibration
from firth.search.duplicates import duplicates
from firth.search.index import Index
from firth.search.search import Hit, Search

_HITS, _GROUPS = 3, 3
_MOST_SENTENCES = 100_000
"""More sentences are not compared with each other for a report."""


def write_report(run: Run, path: Path, force: bool = False) -> Path:
    """Write the report of a run to a file, and return the file."""
    claim_output(path, force)
    write_file(path, page(gather(run)), force)
    return path


def gather(run: Run) -> dict[str, Any]:
    """Return what `page.html` shows, by name; an empty part is left out there."""
    learned, corpus = Corpus.open(run), Corpus.open(run, "all")
    calibration, pairs = Calibration.current(run), examples(run)
    contexts = Contexts.load(run.folder(CONTEXTS))
    largest = contexts.topics[int(np.bincount(contexts.labels).argmax())]
    queries = " ".join(largest.words[:3]), *(text for pair in pairs for text in pair)
    query, hits = _searched(run, queries)
    return {
        "title": f"Report of {run.path.name}",
        "verdict": verdict(run, compare_with_baseline(run)),
        "facts": {
            "documents": f"{len(corpus.owners):,}",
            "sentences": f"{len(corpus):,}",
            "words": f"{int(corpus.word_counts.sum()):,}",
            "held-out documents": f"{corpus.n_documents - learned.n_documents:,}",
        },
        "thresholds": calibration.thresholds() if calibration else {},
        "query": query,
        "hits": hits,
        "duplicates": duplicates(Index.open(run)) if len(corpus) <= _MOST_SENTENCES else None,
        "groups": _GROUPS,
        "explanations": [
            explanation.top(5) for explanation in Scorer.open(run).explanations(pairs)
        ],
        "stages": status(run).stages,
        "settings": settings_text(run.settings).removeprefix(HEADER),
    }


def _searched(run: Run, queries: Sequence[str]) -> tuple[str, list[Hit]]:
    """Return the first query that has a hit of another text, and its hits."""
    search = Search.open(run)
    for query in filter(None, queries):
        hits = [hit for hit in search.search(query, top=_HITS + 1) if hit.text != query]
        if hits:
            return query, hits[:_HITS]
    return "", []


def page(report: Mapping[str, Any]) -> str:
    """Return the page."""
    from jinja2 import StrictUndefined
    from markupsafe import Markup

    text = resources.files("firth.pipeline").joinpath("page.html").read_text(encoding="utf-8")
    page: str = template(text, undefined=StrictUndefined, trim_blocks=True).render(
        **report, style=Markup(style()), article=lambda explanation: Markup(article(explanation))
    )
    return page
