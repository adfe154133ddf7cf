"""The report: one self-contained HTML page of what a run is, did, and is worth."""

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.curves import Curve
from firth.demo.beside import Beside
from firth.lexical.scorer import Explanation
from firth.origin.page import style
from firth.origin.reasons import article
from firth.run.errors import MissingExtraError
from firth.run.files import write_text
from firth.run.screen import escaped
from firth.search.search import Hit

try:
    import matplotlib as mpl
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup
    from matplotlib.figure import Figure
except ImportError as error:
    raise MissingExtraError("The report", "report") from error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#2a6f97", "#bc6c25", "#606c38", "#9d4edd")
# The size and the font belong to the page; colours of text and lines follow it, so that the plots
# can be read in light and in dark. Equal data give equal bytes.
_STYLE: Any = {"svg.hashsalt": "firth", "svg.fonttype": "none", "font.size": 10}


@dataclass(frozen=True)
class Searched:
    """A query, and hits by meaning that are not among the `depth` best by words."""

    query: str
    hits: Sequence[Hit]
    depth: int


@dataclass(frozen=True)
class DemoReport:
    """Everything the page shows.

    Attributes:
        facts: Name → figure of the corpus.
        curves: Title of a plot → (label of its axis, lines by name).
        scores: Kind of held-out pair → Origin's similarities.
        distilled: Origin similarities and Surrogate cosines of the held-out pairs.
        pairs: Examples: two sentences, and what Origin and Surrogate say of them.
        explanations: Of some of them.
        searches: What was searched for, and what word overlap would not have found.
        beside: Origin beside tf-idf, set by set.
        results: The table: model, task, split, metric, n; value, low and high × 100 or None.
        notes: What the figures mean, a paragraph each.
        settings: The run's configuration as YAML.
    """

    facts: Mapping[str, str]
    curves: Mapping[str, tuple[str, Mapping[str, Curve]]]
    scores: Mapping[str, Sequence[float]]
    distilled: tuple[Sequence[float], Sequence[float]]
    pairs: Sequence[tuple[str, str, float, float]]
    explanations: Sequence[Explanation]
    searches: Sequence[Searched]
    beside: Sequence[Beside]
    results: Sequence[Mapping[str, Any]]
    notes: Sequence[str]
    settings: str


def write_report(path: Path, report: DemoReport) -> None:
    """Write the page atomically. It needs no other file, no network and no script."""
    plots = {title: _curves(lines, label) for title, (label, lines) in report.curves.items()}
    plots["Origin similarities of held-out pairs"] = _histogram(report.scores)
    plots["Surrogate against Origin, held-out pairs"] = _scatter(*report.distilled)
    source = resources.files("firth.demo").joinpath("report.html").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, finalize=_visible
    )
    page = environment.from_string(source).render(
        report=report,
        plots=plots,
        style=Markup(style()),
        groups=_groups(report.results),
        article=lambda found: Markup(article(found)),
    )
    write_text(path, page)


def _groups(results: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Set and metric → a row a system, with where its interval stands on a track, in per cent."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in results:
        name = f"{row['task']} {row['split']}, {row['metric']}, {row['n']:,} pairs"
        groups.setdefault(name, []).append(dict(row))
    for rows in groups.values():
        known = [row[end] for row in rows for end in ("low", "value", "high")]
        known = [value for value in known if value is not None]
        if not known:
            continue
        low, high = min(known) - 1, max(known) + 1
        for row in rows:
            row["at"] = {
                end: None if row[end] is None else f"{100 * (row[end] - low) / (high - low):.1f}"
                for end in ("low", "value", "high")
            }
    return groups


def _visible(value: object) -> object:
    """Text without characters that change how the rest is read; what is markup stays."""
    return escaped(value) if type(value) is str else value


def _curves(curves: Mapping[str, Curve], ylabel: str) -> Markup:
    """Lines over training steps; their names in a legend."""
    figure, axes = _figure("step", ylabel)
    for colour, (name, points) in zip(_COLOURS, curves.items(), strict=False):
        steps, values = zip(*points, strict=True) if points else ((), ())
        axes.plot(steps, values, color=colour, label=name, linewidth=1.8)
    return _svg(figure, axes, legend=len(curves) > 1)


def _histogram(scores: Mapping[str, Sequence[float]]) -> Markup:
    """Overlaid histograms, one a kind of pair, on common bins."""
    figure, axes = _figure("Origin similarity", "pairs")
    together = [score for kind in scores.values() for score in kind]
    bins = np.linspace(min(together), max(together), 31).tolist()
    for colour, (name, values) in zip(_COLOURS, scores.items(), strict=False):
        axes.hist(values, bins=bins, alpha=0.55, color=colour, label=f"{name} ({len(values)})")
    return _svg(figure, axes, legend=True)


def _scatter(x: Sequence[float], y: Sequence[float]) -> Markup:
    """One dot a pair."""
    figure, axes = _figure("Origin similarity", "Surrogate cosine")
    axes.scatter(x, y, s=14, alpha=0.6, color=_COLOURS[0], edgecolors="none")
    return _svg(figure, axes, legend=False)


def _figure(xlabel: str, ylabel: str) -> "tuple[Figure, Axes]":
    figure = Figure(figsize=(5.2, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    return figure, axes


def _svg(figure: Figure, axes: "Axes", legend: bool) -> Markup:
    if legend:
        axes.legend(frameon=False, fontsize=9)
    buffer = io.StringIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    # Black is the page's own colour of text; fixed sizes give way to the width of the page.
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r"(stroke|fill): #(000000|b0b0b0)", r"\1: currentColor", svg)
    return Markup(escaped(svg.replace("<text ", '<text fill="currentColor" ')))
