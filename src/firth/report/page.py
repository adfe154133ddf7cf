"""The page: one self-contained HTML file; a part that the run lacks is left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from firth.lexical.scorer import Explanation
from firth.origin.page import style
from firth.origin.reasons import article
from firth.report.beside import Beside
from firth.report.recorded import Curve
from firth.run.files import write_text
from firth.run.screen import escaped
from firth.search.search import Hit


@dataclass(frozen=True)
class Searched:
    """A query, and what one way of searching has at the top and the other not at all.

    Attributes:
        query: What was looked for.
        hits: Of the `depth` best by meaning, the best that are not among the `depth` best by words.
        words: The other way round.
        depth: Hits of either way that were looked through.
    """

    query: str
    hits: Sequence[Hit]
    words: Sequence[Hit]
    depth: int


@dataclass(frozen=True)
class Level:
    """Where scores become rare.

    Attributes:
        scorer: Whose scores.
        rate: Share of random pairs that reach `score`.
        score: The threshold.
        neighbours: Share of neighbouring sentences that reach it; None where there are none.
    """

    scorer: str
    rate: float
    score: float
    neighbours: float | None


@dataclass(frozen=True)
class Report:
    """Everything the page shows; what is empty, or None, has no part of it.

    Attributes:
        title: Of the page.
        lead: What this is, in a sentence.
        verdicts: What the run is worth, a paragraph each.
        check: Rows (`name`, `value`, `low`, `high` in per cent) of the check without labels.
        facts: Name → figure of the corpus.
        left_out: Why records were skipped → how many.
        stages: What each stage did (`firth.report.recorded.stages_of`).
        levels: What scores mean here.
        labels: What the Surrogate's labels are worth (`firth.report.recorded.labels_of`).
        curves: Title of a plot → (label of its axis, lines by name).
        distilled: Of held-out pairs: the similarity by the Surrogate's teacher, which is Origin
            unless the run has another, and the Surrogate's cosine.
        pairs: Examples: two sentences, and what Origin and Surrogate, if there, say of them.
        explanations: Of some of them.
        searches: What one way of searching finds and the other does not.
        beside: Origin beside tf-idf, set by set.
        results: The table: model, task, split, metric, n; value, low and high × 100 or None.
        remarks: What is said of the table, a paragraph each.
        notes: What the figures mean, a paragraph each.
        lacking: A part that the run has not, and the command that adds it.
        settings: The run's configuration as YAML.
    """

    title: str
    lead: str
    verdicts: Sequence[str]
    check: Sequence[Mapping[str, Any]]
    facts: Mapping[str, str]
    left_out: Mapping[str, int]
    stages: Sequence[Mapping[str, Any]]
    levels: Sequence[Level]
    labels: Mapping[str, Any] | None
    curves: Mapping[str, tuple[str, Mapping[str, Curve]]]
    distilled: Sequence[tuple[float, float]]
    pairs: Sequence[tuple[str, str, float | None, float | None]]
    explanations: Sequence[Explanation]
    searches: Sequence[Searched]
    beside: Sequence[Beside]
    results: Sequence[Mapping[str, Any]]
    remarks: Sequence[str]
    notes: Sequence[str]
    lacking: Sequence[tuple[str, str]]
    settings: str


def write_page(path: Path, report: Report) -> None:
    """Write the page atomically. It needs no other file, no network and no script."""
    source = resources.files("firth.report").joinpath("page.html").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, finalize=_visible
    )
    page = environment.from_string(source).render(
        report=report,
        style=Markup(style()),
        check={"": _placed(report.check)},
        groups=_groups(report.results),
        article=lambda found: Markup(article(found)),
    )
    write_text(path, page)


def _groups(results: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Set and metric → a row a system."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in results:
        name = f"{row['task']} {row['split']}, {row['metric']}, {row['n']:,} pairs"
        groups.setdefault(name, []).append({"name": row["model"], **row})
    return {name: _placed(rows) for name, rows in groups.items()}


def _placed(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows with where their intervals stand on a track that they share, in per cent."""
    known = [row[end] for row in rows for end in ("low", "value", "high") if row[end] is not None]
    least, most = min(known, default=0.0), max(known, default=0.0)
    # Without intervals nothing says that a small difference is one: it is not drawn large.
    certain = any(row["low"] is not None for row in rows)
    margin = max(1.0 if certain else 10.0, (most - least) / 20)

    def at(value: float | None) -> str | None:
        return (
            None
            if value is None
            else f"{100 * (value - least + margin) / (most - least + 2 * margin):.1f}"
        )

    return [{**row, "at": {end: at(row[end]) for end in ("low", "value", "high")}} for row in rows]


def _visible(value: object) -> object:
    """Text without characters that change how the rest is read; what is markup stays."""
    return escaped(value) if type(value) is str else value
